//! The permissions of a user as a list: the content of a SelfSubjectRulesReview. Guarantees that an incomplete list is marked
//! as such. Must never be used to authorize a request: some authorizers cannot list their rules.

use crate::Str;

/// The rules of a user in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRules {
    pub resource_rules: Vec<ResourceRule>,
    pub non_resource_rules: Vec<NonResourceRule>,
    /// Whether the user may have more rules than are listed.
    pub incomplete: bool,
    /// Why rules may be missing.
    pub errors: Vec<String>,
}

/// Permissions on resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    pub verbs: Vec<Str>,
    pub api_groups: Vec<Str>,
    pub resources: Vec<Str>,
    /// The names of objects; empty for all.
    pub resource_names: Vec<Str>,
}

/// Permissions on non-resource paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NonResourceRule {
    pub verbs: Vec<Str>,
    pub non_resource_urls: Vec<Str>,
}

impl UserRules {
    /// No rules, as they cannot be listed.
    pub fn incomplete(error: impl Into<String>) -> UserRules {
        UserRules { incomplete: true, errors: vec![error.into()], ..UserRules::default() }
    }

    /// Adds the rules of the next authorizer.
    pub(super) fn extend(&mut self, other: UserRules) {
        self.resource_rules.extend(other.resource_rules);
        self.non_resource_rules.extend(other.non_resource_rules);
        self.incomplete |= other.incomplete;
        self.errors.extend(other.errors);
    }
}
