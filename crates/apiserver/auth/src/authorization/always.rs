//! The authorizers AlwaysAllow and AlwaysDeny. Guarantees that they list the same rules as in kube-apiserver. AlwaysDeny has no
//! opinion, so that a later authorizer may still allow.

use pintle_resource::MaybeReady;

use super::{Attributes, Authorizer, Decision, NonResourceRule, Reason, ResourceRule, UserRules};
use crate::{Str, UserInfo};

/// Allows every request.
pub struct AlwaysAllow;

impl Authorizer for AlwaysAllow {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::Ready(Decision::Allow(Reason::None))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        let all = || vec![Str::new_static("*")];
        MaybeReady::Ready(UserRules {
            resource_rules: vec![ResourceRule {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                resource_names: Vec::new(),
            }],
            non_resource_rules: vec![NonResourceRule { verbs: all(), non_resource_urls: all() }],
            ..UserRules::default()
        })
    }
}

/// Allows no request.
pub struct AlwaysDeny;

impl Authorizer for AlwaysDeny {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::Ready(Decision::no_opinion("Everything is forbidden."))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::default())
    }
}
