//! RBAC: roles are lists of rules, bindings give them to users, groups and service accounts.
//! Guarantees that rules only allow: no rule forbids anything.
//! Must never search all bindings for those of a user: the index finds them.

mod escalation;
mod index;
mod missing;
mod rule;

use std::sync::{Arc, PoisonError, RwLock};

use pintle_auth::authorization::{Explain, NonResourceRule, Reason, ResourceRule, UserRules};
use pintle_auth::users::SERVICE_ACCOUNT_PREFIX;
use pintle_auth::{Attributes, Authorizer, Decision, Str, UserInfo};
use pintle_resource::MaybeReady;
use pintle_schema::names::quoted;

pub use index::{RbacSnapshot, UserRule};
pub use rule::PolicyRule;

/// Bytes of the rules of a user that are listed in a review: hundreds of times those of an administrator.
const MAX_LISTED_BYTES: usize = 8 * 1024 * 1024;

/// Why rules are missing in a review.
const TOO_MANY: &str = "RBAC: the rules are too many to be listed";

/// A role, or a cluster role when it has no namespace.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// The namespace; empty for a cluster role.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// What it allows.
    pub rules: Vec<PolicyRule>,
}

/// A role binding, or a cluster role binding when it has no namespace.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The namespace in which it gives the role; empty: everywhere.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// The users, groups and service accounts that get the role.
    pub subjects: Vec<Subject>,
    /// The role.
    pub role_ref: RoleRef,
}

/// Which role a binding gives.
#[derive(Clone, Debug)]
pub struct RoleRef {
    /// Whether it is a role of the binding's namespace or one of the cluster.
    pub kind: RoleKind,
    /// Its name.
    pub name: Str,
}

/// The kinds of role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleKind {
    /// Of a namespace.
    Role,
    /// Of the cluster.
    ClusterRole,
}

impl RoleKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<RoleKind> {
        match name {
            "Role" => Some(RoleKind::Role),
            "ClusterRole" => Some(RoleKind::ClusterRole),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            RoleKind::Role => "Role",
            RoleKind::ClusterRole => "ClusterRole",
        }
    }

    /// As the resource is named in "not found".
    fn resource(self) -> &'static str {
        match self {
            RoleKind::Role => "role.rbac.authorization.k8s.io",
            RoleKind::ClusterRole => "clusterrole.rbac.authorization.k8s.io",
        }
    }
}

/// A user, group or service account that a binding gives its role to.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What the name belongs to.
    pub kind: SubjectKind,
    /// The name.
    pub name: Str,
    /// The namespace of a service account; empty: the binding's.
    pub namespace: Str,
}

/// The kinds of subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A user by name.
    User,
    /// All users in a group.
    Group,
    /// A service account.
    ServiceAccount,
}

impl SubjectKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<SubjectKind> {
        match name {
            "User" => Some(SubjectKind::User),
            "Group" => Some(SubjectKind::Group),
            "ServiceAccount" => Some(SubjectKind::ServiceAccount),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            SubjectKind::User => "User",
            SubjectKind::Group => "Group",
            SubjectKind::ServiceAccount => "ServiceAccount",
        }
    }
}

impl Subject {
    /// Whether the subject of a binding in the given namespace includes the user.
    fn includes(&self, user: &UserInfo, binding_namespace: &str) -> bool {
        match self.kind {
            SubjectKind::User => user.name == self.name,
            SubjectKind::Group => user.in_group(&self.name),
            SubjectKind::ServiceAccount => {
                let namespace = self.account_namespace(binding_namespace);
                let rest = user.name.strip_prefix(SERVICE_ACCOUNT_PREFIX);
                let rest = rest.and_then(|rest| rest.strip_prefix(namespace));
                let name = rest.and_then(|rest| rest.strip_prefix(':'));
                !namespace.is_empty() && name == Some(&self.name)
            }
        }
    }

    /// The namespace of a service account; empty when neither it nor the binding has one.
    fn account_namespace<'a>(&'a self, binding_namespace: &'a str) -> &'a str {
        match self.namespace.is_empty() {
            true => binding_namespace,
            false => &self.namespace,
        }
    }
}

impl Binding {
    /// What the binding gives to the user, with the first of its subjects that includes the user.
    fn describe(&self, user: &UserInfo) -> String {
        let role = &self.role_ref;
        let mut text = match self.namespace.as_str() {
            "" => format!("ClusterRoleBinding {}", quoted(&self.name)),
            namespace => format!("RoleBinding {}", quoted(&format!("{}/{namespace}", self.name))),
        };
        text.push_str(&format!(" of {} {}", role.kind.name(), quoted(&role.name)));
        if let Some(subject) = self.subjects.iter().find(|subject| subject.includes(user, &self.namespace)) {
            let name = match subject.kind {
                SubjectKind::User | SubjectKind::Group => subject.name.to_string(),
                SubjectKind::ServiceAccount => {
                    format!("{}/{}", subject.name, subject.account_namespace(&self.namespace))
                }
            };
            text.push_str(&format!(" to {} {}", subject.kind.name(), quoted(&name)));
        }
        text
    }
}

impl Explain for Binding {
    fn explain(&self, user: &UserInfo) -> String {
        format!("RBAC: allowed by {}", self.describe(user))
    }
}

/// The authorizer RBAC.
pub struct RbacAuthorizer(pub Arc<dyn RbacSource>);

impl Authorizer for RbacAuthorizer {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::Ready(match self.0.snapshot().authorize(attributes) {
            Ok(binding) => Decision::Allow(Reason::Explained(binding)),
            Err(reason) => Decision::no_opinion(reason),
        })
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules> {
        let snapshot = self.0.snapshot();
        let (found, errors) = snapshot.rules_of(user, namespace);
        // The list is complete even then: a missing role grants nothing.
        let mut rules = UserRules { errors, ..UserRules::default() };
        let mut bytes = 0;
        for rule in found.iter().map(|found| found.rule) {
            bytes += rule.heap_bytes();
            if bytes > MAX_LISTED_BYTES {
                rules.incomplete = true;
                rules.errors.push(TOO_MANY.to_owned());
                break;
            }
            if !rule.resources.is_empty() {
                rules.resource_rules.push(ResourceRule {
                    verbs: rule.verbs.clone(),
                    api_groups: rule.api_groups.clone(),
                    resources: rule.resources.clone(),
                    resource_names: rule.resource_names.clone(),
                });
            }
            if !rule.non_resource_urls.is_empty() {
                rules.non_resource_rules.push(NonResourceRule {
                    verbs: rule.verbs.clone(),
                    non_resource_urls: rule.non_resource_urls.clone(),
                });
            }
        }
        MaybeReady::Ready(rules)
    }
}

/// Gives the current roles and bindings.
pub trait RbacSource: Send + Sync {
    /// The current snapshot. Called for every request, so it must be cheap.
    fn snapshot(&self) -> Arc<RbacSnapshot>;
}

/// A source whose snapshot is replaced whenever roles or bindings change.
pub struct Rbac {
    current: RwLock<Arc<RbacSnapshot>>,
}

impl Rbac {
    /// A source with its first snapshot.
    pub fn new(snapshot: RbacSnapshot) -> Rbac {
        Rbac { current: RwLock::new(Arc::new(snapshot)) }
    }

    /// Makes the snapshot the current one.
    pub fn publish(&self, snapshot: RbacSnapshot) {
        let snapshot = Arc::new(snapshot);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl RbacSource for Rbac {
    fn snapshot(&self) -> Arc<RbacSnapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
