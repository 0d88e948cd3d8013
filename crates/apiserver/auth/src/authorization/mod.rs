//! Decides whether a user may do what a request asks for: a chain of modes, each of which may allow.
//! Guarantees that what no mode allows is forbidden, and that the refusal is worded as kube-apiserver words it.
//! Must never look at objects: only at who, which verb and on what.

pub mod abac;
mod forbidden;
mod node;
pub mod rbac;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::UserInfo;
use crate::user::groups;
use pintle_schema::field_selector::FieldSelector;

use abac::{Policies, Policy};
pub use forbidden::{Forbidden, escape, forbidden};
pub use node::{LEASE_NAMESPACE, NodeMode, NodeObject, NodeObjectKind, NodeObjects, node_of};
use rbac::{Grant, RbacSnapshot, RbacSource};

/// What a request wants to do. Empty text means that there is none of it.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a UserInfo,
    /// The verb of the API (`get`, `list`, `deletecollection`, ...), or the method in lower case for a path.
    pub verb: &'a str,
    /// Whether this is about a resource; otherwise only `path` counts.
    pub is_resource: bool,
    /// The API group of the resource, empty for the core group.
    pub api_group: &'a str,
    /// The version in the request, which no mode looks at.
    pub api_version: &'a str,
    /// The resource, in plural.
    pub resource: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// The namespace; empty for resources of the cluster and for requests across namespaces.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// Which objects of a collection are asked for, where that narrows it.
    pub field_selector: Option<&'a FieldSelector>,
    /// The path of a request that is not about a resource.
    pub path: &'a str,
}

impl<'a> Attributes<'a> {
    /// A request for a path that is not about a resource.
    pub fn non_resource(user: &'a UserInfo, verb: &'a str, path: &'a str) -> Attributes<'a> {
        Attributes { path, is_resource: false, ..Attributes::resource(user, verb, "", "") }
    }

    /// A request for a resource across the cluster; set the other fields as needed.
    pub fn resource(user: &'a UserInfo, verb: &'a str, api_group: &'a str, resource: &'a str) -> Attributes<'a> {
        Attributes {
            user,
            verb,
            is_resource: true,
            api_group,
            api_version: "",
            resource,
            subresource: "",
            namespace: "",
            name: "",
            field_selector: None,
            path: "",
        }
    }
}

/// A value of `--authorization-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What kubelets may do.
    Node,
    /// Roles and bindings.
    Rbac,
    /// Policies from a file.
    Abac,
    /// Everybody may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
}

impl Mode {
    /// The names as the flag takes them.
    pub const NAMES: [(&str, Mode); 5] = [
        ("ABAC", Mode::Abac),
        ("AlwaysAllow", Mode::AlwaysAllow),
        ("AlwaysDeny", Mode::AlwaysDeny),
        ("Node", Mode::Node),
        ("RBAC", Mode::Rbac),
    ];
}

/// The text is not the name of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMode;

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        let found = Mode::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, mode)| *mode).ok_or(UnknownMode)
    }
}

/// Whether a request may go on.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It may; [`Allowed`] says why, when somebody asks.
    Allow(Allowed),
    /// It may not. What the modes have to say about it, mostly nothing.
    Deny(String),
}

impl Decision {
    /// Whether the request may go on.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allow(_))
    }

    /// The reason as access reviews show it; empty when there is none to give.
    pub fn reason(&self) -> String {
        match self {
            Decision::Allow(allowed) => allowed.to_string(),
            Decision::Deny(reason) => reason.clone(),
        }
    }
}

/// Why a request was allowed. Costs nothing until it is displayed.
#[derive(Clone, Debug)]
pub enum Allowed {
    /// For being in the privileged group, whatever the modes say.
    Always,
    /// By a mode that gives no reason.
    By(Mode),
    /// By a role that a binding gives to the user.
    Rbac(Grant),
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Always | Allowed::By(_) => Ok(()),
            Allowed::Rbac(grant) => write!(f, "RBAC: allowed by {grant}"),
        }
    }
}

/// The modes of a server, asked in their order.
#[derive(Clone)]
pub struct Authorizer {
    modes: Vec<Mode>,
    rbac: Arc<dyn RbacSource>,
    nodes: Option<NodeMode>,
    policies: Arc<Policies>,
}

impl Authorizer {
    /// An authorizer of the given modes; `rbac` is asked only if they contain RBAC.
    pub fn new(modes: Vec<Mode>, rbac: Arc<dyn RbacSource>) -> Authorizer {
        Authorizer { modes, rbac, nodes: None, policies: Arc::default() }
    }

    /// The same, with what the mode Node goes by; without, it has no opinion.
    pub fn with_nodes(self, nodes: NodeMode) -> Authorizer {
        Authorizer { nodes: Some(nodes), ..self }
    }

    /// The same, with the policies of the mode ABAC.
    pub fn with_policies(self, policies: Policies) -> Authorizer {
        Authorizer { policies: Arc::new(policies), ..self }
    }

    /// The policies that are about a user, if ABAC is among the modes; and whether it is asked before RBAC.
    pub fn policies_of<'a>(&'a self, user: &'a UserInfo) -> (impl Iterator<Item = &'a Policy>, bool) {
        let position = |mode| self.modes.iter().position(|other| *other == mode);
        let (own, roles) = (position(Mode::Abac), position(Mode::Rbac));
        let is_first = own.is_some_and(|own| roles.is_none_or(|roles| own < roles));
        (self.policies.of(user).filter(move |_| own.is_some()), is_first)
    }

    /// Whether what a user may do can be told as a list of rules; otherwise why not.
    ///
    /// # Errors
    /// A mode decides about the user in another way.
    pub fn has_rules_for(&self, user: &UserInfo) -> Result<(), &'static str> {
        match self.modes.contains(&Mode::Node) && node_of(user).is_some() {
            true => Err("node authorizer does not support user rule resolution"),
            false => Ok(()),
        }
    }

    /// The roles and bindings as they are now, whether or not a mode asks for them.
    pub fn roles(&self) -> Arc<RbacSnapshot> {
        self.rbac.snapshot()
    }

    /// Whether the request may go on. Budget: a few hash lookups and rule comparisons, no allocation unless refused.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        // Stands above all modes, so that no configuration locks out the administrator.
        if attributes.user.in_group(groups::MASTERS) {
            return Decision::Allow(Allowed::Always);
        }
        let mut reasons = Vec::new();
        for mode in &self.modes {
            match mode {
                Mode::Node => match self.nodes.as_ref().map(|nodes| nodes.authorize(attributes)) {
                    Some(Ok(())) => return Decision::Allow(Allowed::By(Mode::Node)),
                    Some(Err(reason)) if !reason.is_empty() => reasons.push(reason),
                    _ => {}
                },
                Mode::Abac if self.policies.allow(attributes) => return Decision::Allow(Allowed::By(Mode::Abac)),
                Mode::Abac => reasons.push("No policy matched.".to_owned()),
                Mode::AlwaysAllow => return Decision::Allow(Allowed::By(Mode::AlwaysAllow)),
                Mode::AlwaysDeny => reasons.push("Everything is forbidden.".to_owned()),
                Mode::Rbac => match self.rbac.snapshot().authorize(attributes) {
                    Ok(grant) => return Decision::Allow(Allowed::Rbac(grant)),
                    Err(reason) if reason.is_empty() => {}
                    Err(reason) => reasons.push(reason),
                },
            }
        }
        Decision::Deny(reasons.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::rbac::Rbac;
    use super::*;

    #[test]
    fn modes_are_asked_in_order_and_masters_never_refused() {
        use Mode::{AlwaysAllow, AlwaysDeny, Node, Rbac as ByRoles};
        // (modes, allowed for bob, reason)
        let rows: [(&[Mode], bool, &str); 7] = [
            (&[], false, ""),
            (&[Node], false, ""),
            (&[Node, ByRoles], false, ""),
            (&[AlwaysAllow], true, ""),
            (&[AlwaysDeny], false, "Everything is forbidden."),
            (&[AlwaysDeny, AlwaysAllow], true, ""),
            (&[AlwaysDeny, ByRoles, AlwaysDeny], false, "Everything is forbidden.\nEverything is forbidden."),
        ];
        let user = |group: &str| UserInfo { name: "bob".into(), groups: vec![group.into()], ..UserInfo::default() };
        let (bob, admin) = (user("people"), user("system:masters"));
        for (modes, allowed, reason) in rows {
            let rbac = Rbac::new(RbacSnapshot::default());
            let authorizer = Authorizer::new(modes.to_vec(), Arc::new(rbac));
            let decision = authorizer.authorize(&Attributes::resource(&bob, "list", "", "pods"));
            assert_eq!(decision.is_allowed(), allowed, "{modes:?}");
            assert_eq!(decision.reason(), reason, "{modes:?}");
            let admins = authorizer.authorize(&Attributes::non_resource(&admin, "get", "/"));
            assert!(admins.is_allowed() && admins.reason().is_empty());
        }
    }

    #[test]
    fn mode_names() {
        for (name, mode) in Mode::NAMES {
            assert_eq!(name.parse(), Ok(mode));
        }
        for name in ["", "rbac", "abac", "Webhook"] {
            assert_eq!(name.parse::<Mode>(), Err(UnknownMode));
        }
    }
}
