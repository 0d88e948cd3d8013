//! The order of authorizers: the chain of built-in ones and webhooks. Guarantees that a chain can be replaced while a
//! server runs. Must never read a file.

use crate::hooks::BOOTSTRAP_ROLES;
use crate::node_objects;
use pintle_auth::authorization::abac::CurrentPolicies;
use pintle_auth::authorization::{AlwaysAllow, AlwaysDeny};
use pintle_auth::{Authorizer, AuthorizerUnion, NamedAuthorizer};
use pintle_kubernetes_auth::Mode;
use pintle_kubernetes_auth::node::NodeAuthorizer;
use pintle_kubernetes_auth::rbac::{Rbac, RbacAuthorizer};
use pintle_plugins::policy_rule;
use pintle_reviews::AccessReviews;
use pintle_server::Builder;
use std::io;
use std::sync::Arc;

/// The type of authorizers that are webhooks, in metrics.
const WEBHOOK: &str = "Webhook";

/// A member of the authorizer chain.
#[derive(Clone)]
pub enum ChainMember {
    /// A built-in authorizer, with its name in metrics.
    BuiltIn(Mode, String),
    /// A webhook, with its name.
    Webhook(String, Arc<AccessReviews>),
}

impl ChainMember {
    /// A built-in authorizer under its usual name.
    #[must_use]
    pub fn built_in(mode: Mode) -> ChainMember {
        ChainMember::BuiltIn(mode, mode.name().to_ascii_lowercase())
    }

    fn is_rbac(&self) -> bool {
        matches!(self, ChainMember::BuiltIn(Mode::Rbac, _))
    }
}

/// Replaces the members of the union whenever their order changes.
pub type ReloadAuthorizers = Box<dyn FnOnce(&AuthorizerUnion, BuiltInAuthorizers) -> io::Result<()> + Send>;

/// The authorizers of a server, and their order.
pub(crate) struct Authorization {
    pub(crate) chain: Vec<ChainMember>,
    pub(crate) reload: Option<ReloadAuthorizers>,
    /// The policies of the ABAC mode.
    pub(crate) policies: Arc<CurrentPolicies>,
}

impl Default for Authorization {
    /// Allows every request.
    fn default() -> Self {
        Authorization { chain: vec![ChainMember::built_in(Mode::AlwaysAllow)], reload: None, policies: Arc::default() }
    }
}

impl Authorization {
    /// Adds the authorizers before those that there are, and the hook of RBAC. What is returned starts to follow their
    /// order.
    pub(crate) fn prepare(
        self,
        generic: &mut Builder,
        roles: &Arc<Rbac>,
        nodes: &Arc<node_objects::Objects>,
        hooks: &mut Vec<&'static str>,
    ) -> Option<impl FnOnce(&AuthorizerUnion) -> io::Result<()> + Send + use<>> {
        let node_rules: Vec<_> = pintle_bootstrap::node_rules().iter().map(policy_rule).collect();
        let nodes = NodeAuthorizer::new(node_rules, nodes.clone());
        let built_in = BuiltInAuthorizers { nodes, roles: roles.clone(), policies: self.policies };
        generic.prepend_authorizers(built_in.chain(&self.chain));
        hooks.extend(self.chain.iter().any(ChainMember::is_rbac).then_some(BOOTSTRAP_ROLES));
        self.reload.map(|reload| move |union: &AuthorizerUnion| reload(union, built_in))
    }
}

/// The built-in authorizers of a server.
#[derive(Clone)]
pub struct BuiltInAuthorizers {
    pub(crate) nodes: NodeAuthorizer,
    pub(crate) roles: Arc<Rbac>,
    pub(crate) policies: Arc<CurrentPolicies>,
}

impl BuiltInAuthorizers {
    /// The authorizers of a chain.
    #[must_use]
    pub fn chain(&self, members: &[ChainMember]) -> Vec<NamedAuthorizer> {
        let named = |member: &ChainMember| match member {
            ChainMember::BuiltIn(mode, name) => NamedAuthorizer::new(mode.name(), name, self.of(*mode)),
            ChainMember::Webhook(name, webhook) => {
                NamedAuthorizer::new(WEBHOOK, name, webhook.clone() as Arc<dyn Authorizer>)
            }
        };
        members.iter().map(named).collect()
    }

    fn of(&self, mode: Mode) -> Arc<dyn Authorizer> {
        match mode {
            Mode::Node => Arc::new(self.nodes.clone()),
            Mode::Rbac => Arc::new(RbacAuthorizer(self.roles.clone())),
            Mode::Abac => self.policies.clone(),
            Mode::AlwaysAllow => Arc::new(AlwaysAllow),
            Mode::AlwaysDeny => Arc::new(AlwaysDeny),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_auth::UserInfo;
    use pintle_auth::authorization::{Attributes, Decision};
    use pintle_kubernetes_auth::rbac::RbacSnapshot;

    #[test]
    fn a_union_is_replaced() {
        let built_in = |mode: Mode| ChainMember::BuiltIn(mode, mode.name().to_ascii_lowercase());
        let all = BuiltInAuthorizers {
            nodes: NodeAuthorizer::new(Vec::new(), Arc::new(node_objects::Objects::default())),
            roles: Arc::new(Rbac::new(RbacSnapshot::default())),
            policies: Arc::default(),
        };
        let union = AuthorizerUnion::new(all.chain(&[built_in(Mode::AlwaysAllow)]));
        let clone = union.clone();
        let user = UserInfo::default();
        let decide = || {
            let attributes = Attributes::resource(&user, "get", "", "pods");
            clone.authorize(&attributes).now().is_ok_and(|decision| matches!(decision, Decision::Allow(_)))
        };
        assert!(decide());
        union.replace(all.chain(&[built_in(Mode::AlwaysDeny)]));
        assert!(!decide());
        union.replace(all.chain(&[built_in(Mode::AlwaysDeny), built_in(Mode::AlwaysAllow)]));
        assert!(decide());
        // The counters of an authorizer that was removed and added again start at zero; those of one that stayed
        // continue.
        union.replace(all.chain(&[built_in(Mode::AlwaysAllow)]));
        assert!(decide());
        assert_eq!(clone.members()[0].allowed.get(), 2);
    }
}
