//! The authorizer Node: a kubelet reads the objects that its pods need, writes its own, and shares a few with all nodes.
//! Guarantees that a node without a name gets nothing, and that what belongs to one node is given to that node only.
//! Must never cache objects: [`NodeObjects`] finds for each request whether a node needs an object.

use pintle_gates as gates;
use pintle_schema::Gate;
use std::fmt;
use std::sync::Arc;

use crate::rbac::PolicyRule;
use pintle_auth::authorization::{Reason, UserRules};
use pintle_auth::{Attributes, Authorizer, Decision, UserInfo, groups, users};
use pintle_resource::MaybeReady;

/// The namespace in which every node keeps a lease of its name.
pub const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The kinds of object that only some nodes need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeObjectKind {
    ConfigMap,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodCertificateRequest,
    ResourceClaim,
    ResourceSlice,
    Secret,
    ServiceAccount,
    VolumeAttachment,
}

/// An object that a node asks for.
#[derive(Clone, Copy, Debug)]
pub struct NodeObject<'a> {
    pub kind: NodeObjectKind,
    /// Empty for objects of the cluster.
    pub namespace: &'a str,
    pub name: &'a str,
}

/// Knows which nodes need which objects.
pub trait NodeObjects: Send + Sync {
    /// Whether an object names the node, or a pod on the node needs it.
    fn needs(&self, node: &str, object: NodeObject<'_>) -> bool;

    /// Whether a feature gate is on.
    fn feature_enabled(&self, gate: &Gate) -> bool;
}

/// The name of the node that a user is: `None` for users that are no nodes, empty for a node without a name.
pub fn node_of(user: &UserInfo) -> Option<&str> {
    user.name.strip_prefix(users::NODE_PREFIX).filter(|_| user.in_group(groups::NODES))
}

/// The authorizer Node.
#[derive(Clone)]
pub struct NodeAuthorizer {
    rules: Arc<[PolicyRule]>,
    objects: Arc<dyn NodeObjects>,
}

/// Whether a request is allowed; the reason why not is mostly empty.
type Opinion = Result<(), String>;

fn no(reason: impl fmt::Display) -> Opinion {
    Err(reason.to_string())
}

fn when(condition: bool, otherwise: impl fmt::Display) -> Opinion {
    if condition { Ok(()) } else { no(otherwise) }
}

impl NodeAuthorizer {
    /// `rules` allow all nodes what does not depend on single objects.
    pub fn new(rules: impl Into<Arc<[PolicyRule]>>, objects: Arc<dyn NodeObjects>) -> NodeAuthorizer {
        NodeAuthorizer { rules: rules.into(), objects }
    }

    /// Whether the node may make the request.
    fn check(&self, asked: &Attributes<'_>) -> Opinion {
        use NodeObjectKind as Kind;
        let Some(node) = node_of(asked.user) else { return no("") };
        if node.is_empty() {
            return no(format_args!("unknown node for user {:?}", asked.user.name.as_str()));
        }
        if asked.is_resource {
            match (asked.api_group, asked.resource) {
                ("", "configmaps") => return self.read(node, Kind::ConfigMap, asked),
                ("", "nodes") => return own_node(node, asked),
                ("", "persistentvolumeclaims") if asked.subresource == "status" => {
                    return self.claim_status(node, asked);
                }
                ("", "persistentvolumeclaims") => return self.get(node, Kind::PersistentVolumeClaim, asked),
                ("", "persistentvolumes") => return self.get(node, Kind::PersistentVolume, asked),
                ("", "pods") => return self.pods(node, asked),
                ("", "secrets") => return self.read(node, Kind::Secret, asked),
                ("", "serviceaccounts") => return self.service_accounts(node, asked),
                ("certificates.k8s.io", "podcertificaterequests") => return self.certificate_requests(node, asked),
                ("coordination.k8s.io", "leases") => return own_lease(node, asked),
                ("resource.k8s.io", "resourceclaims") => return self.get(node, Kind::ResourceClaim, asked),
                ("resource.k8s.io", "resourceslices") => return self.slices(node, asked),
                ("storage.k8s.io", "csinodes") => return own_csi_node(node, asked),
                ("storage.k8s.io", "volumeattachments") => return self.get(node, Kind::VolumeAttachment, asked),
                _ => {}
            }
        }
        when(self.rules.iter().any(|rule| rule.allows(asked)), "")
    }

    /// One object that the node needs.
    fn related(&self, node: &str, kind: NodeObjectKind, asked: &Attributes<'_>) -> Opinion {
        if asked.name.is_empty() {
            return no("No Object name found");
        }
        let object = NodeObject { kind, namespace: asked.namespace, name: asked.name };
        when(
            self.objects.needs(node, object),
            format_args!("no relationship found between node '{node}' and this object"),
        )
    }

    fn get(&self, node: &str, kind: NodeObjectKind, asked: &Attributes<'_>) -> Opinion {
        when(asked.verb == "get", "can only get individual resources of this type")?;
        when(asked.subresource.is_empty(), "cannot get subresource")?;
        self.related(node, kind, asked)
    }

    /// One object that the node needs, which it may also list and watch.
    fn read(&self, node: &str, kind: NodeObjectKind, asked: &Attributes<'_>) -> Opinion {
        when(matches!(asked.verb, "get" | "list" | "watch"), "can only read resources of this type")?;
        when(asked.subresource.is_empty(), "cannot read subresource")?;
        when(!asked.namespace.is_empty(), "can only read namespaced object of this type")?;
        self.related(node, kind, asked)
    }

    fn claim_status(&self, node: &str, asked: &Attributes<'_>) -> Opinion {
        when(matches!(asked.verb, "update" | "patch"), "can only get/update/patch this type")?;
        self.related(node, NodeObjectKind::PersistentVolumeClaim, asked)
    }

    fn service_accounts(&self, node: &str, asked: &Attributes<'_>) -> Opinion {
        if asked.verb == "get" && asked.subresource.is_empty() {
            let gates =
                [&gates::KUBELET_SERVICE_ACCOUNT_TOKEN_FOR_CREDENTIAL_PROVIDERS, &gates::POD_CERTIFICATE_REQUEST];
            let may = gates.iter().any(|gate| self.objects.feature_enabled(gate));
            when(may, "not allowed to get service accounts")?;
            return self.related(node, NodeObjectKind::ServiceAccount, asked);
        }
        let is_one = asked.verb == "create" && !asked.name.is_empty();
        when(is_one, "can only create tokens for individual service accounts")?;
        when(asked.subresource == "token", "can only create token subresource of serviceaccount")?;
        self.related(node, NodeObjectKind::ServiceAccount, asked)
    }

    /// Admission, which sees the pods, limits what a node writes.
    fn pods(&self, node: &str, asked: &Attributes<'_>) -> Opinion {
        match (asked.subresource, asked.verb) {
            ("", "get") => self.related(node, NodeObjectKind::Pod, asked),
            ("", "list" | "watch") if is_selected(asked, "spec.nodeName", node) => Ok(()),
            ("", "list" | "watch") if asked.name.is_empty() => {
                no("can only list/watch pods with spec.nodeName field selector")
            }
            ("", "list" | "watch") => self.related(node, NodeObjectKind::Pod, asked),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => no(""),
        }
    }

    /// Admission checks that a new slice is the node's own.
    fn slices(&self, node: &str, asked: &Attributes<'_>) -> Opinion {
        when(asked.subresource.is_empty(), "cannot authorize ResourceSlice subresources")?;
        match asked.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.related(node, NodeObjectKind::ResourceSlice, asked),
            "watch" | "list" | "deletecollection" => when(
                is_selected(asked, "spec.nodeName", node),
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => no(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn certificate_requests(&self, node: &str, asked: &Attributes<'_>) -> Opinion {
        if !self.objects.feature_enabled(&gates::POD_CERTIFICATE_REQUEST) {
            return no("");
        }
        when(asked.subresource.is_empty(), "nodes may not access the status subresource of PodCertificateRequests")?;
        match asked.verb {
            "create" => Ok(()),
            "get" => self.related(node, NodeObjectKind::PodCertificateRequest, asked),
            "list" | "watch" => when(
                is_selected(asked, "spec.nodeName", node),
                "can only list/watch podcertificaterequests with nodeName field selector",
            ),
            _ => no(""),
        }
    }
}

impl Authorizer for NodeAuthorizer {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        MaybeReady::Ready(match self.check(attributes) {
            Ok(()) => Decision::Allow(Reason::None),
            Err(reason) => Decision::no_opinion(reason),
        })
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(match node_of(user) {
            Some(_) => UserRules::incomplete("node authorizer does not support user rule resolution"),
            None => UserRules::default(),
        })
    }
}

/// Whether the request selects only objects with this value in a field.
fn is_selected(asked: &Attributes<'_>, field: &str, value: &str) -> bool {
    asked.field_selector.is_some_and(|selector| {
        selector.terms().iter().any(|term| !term.negated && term.field == field && term.value == value)
    })
}

/// A node may read its own object before it exists.
fn own_node(node: &str, asked: &Attributes<'_>) -> Opinion {
    match (asked.subresource, asked.verb) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
        ("", "get" | "list" | "watch") => match asked.name {
            name if name == node => Ok(()),
            "" => no(format_args!("node '{node}' cannot read all nodes, only its own Node object")),
            other => no(format_args!("node '{node}' cannot read '{other}', only its own Node object")),
        },
        _ => no(""),
    }
}

fn own_lease(node: &str, asked: &Attributes<'_>) -> Opinion {
    when(maintains(asked.verb), "can only get, create, update, patch, or delete a node lease")?;
    let elsewhere = format_args!("can only access leases in the {LEASE_NAMESPACE:?} system namespace");
    when(asked.namespace == LEASE_NAMESPACE, elsewhere)?;
    let is_own = asked.verb == "create" || asked.name == node;
    when(is_own, "can only access node lease with the same name as the requesting node")
}

fn own_csi_node(node: &str, asked: &Attributes<'_>) -> Opinion {
    when(maintains(asked.verb), "can only get, create, update, patch, or delete a CSINode")?;
    when(asked.subresource.is_empty(), "cannot authorize CSINode subresources")?;
    let is_own = asked.verb == "create" || asked.name == node;
    when(is_own, "can only access CSINode with the same name as the requesting node")
}

/// The verbs by which a node maintains its own object.
fn maintains(verb: &str) -> bool {
    matches!(verb, "get" | "create" | "update" | "patch" | "delete")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::field_selector::FieldSelector;

    /// Node `n` needs what is called `own`.
    struct Own;

    impl NodeObjects for Own {
        fn needs(&self, node: &str, object: NodeObject<'_>) -> bool {
            node == "n" && object.name == "own"
        }

        fn feature_enabled(&self, gate: &Gate) -> bool {
            *gate == gates::KUBELET_SERVICE_ACCOUNT_TOKEN_FOR_CREDENTIAL_PROVIDERS
        }
    }

    fn authorizer() -> NodeAuthorizer {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
        let rule = PolicyRule {
            verbs: list(&["get"]),
            api_groups: list(&[""]),
            resources: list(&["services"]),
            ..PolicyRule::default()
        };
        NodeAuthorizer::new([rule], Arc::new(Own))
    }

    fn node(name: &str) -> UserInfo {
        UserInfo { name: name.into(), groups: vec![groups::NODES.into()], ..UserInfo::default() }
    }

    #[test]
    fn users_that_are_nodes() {
        let rows = [
            ("system:node:n", groups::NODES, Some("n")),
            ("system:node:", groups::NODES, Some("")),
            ("system:node:n", "others", None),
            ("n", groups::NODES, None),
        ];
        for (name, group, expected) in rows {
            let user = UserInfo { name: name.into(), groups: vec![group.into()], ..UserInfo::default() };
            assert_eq!(node_of(&user), expected, "{name} {group}");
        }
        let nameless = node("system:node:");
        let asked = Attributes::resource(&nameless, "get", "", "services");
        assert_eq!(authorizer().check(&asked), Err("unknown node for user \"system:node:\"".to_owned()));
    }

    #[test]
    fn permissions_of_nodes() {
        const UNRELATED: Option<&str> = Some("no relationship found between node 'n' and this object");
        const NOT_LISTED: Option<&str> = Some("No Object name found");
        // (verb, group, resource/subresource, namespace, name, field selector, refusal)
        type Row =
            (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, Option<&'static str>);
        let slices = "can only list/watch/deletecollection resourceslices with nodeName field selector";
        let leases = "can only access leases in the \"kube-node-lease\" system namespace";
        let own_lease = "can only access node lease with the same name as the requesting node";
        let rows: &[Row] = &[
            ("get", "", "services", "a", "s", "", None),
            ("list", "", "services", "a", "", "", Some("")),
            ("get", "", "secrets", "a", "own", "", None),
            ("list", "", "secrets", "a", "own", "", None),
            ("get", "", "secrets", "a", "other", "", UNRELATED),
            ("list", "", "secrets", "a", "", "", NOT_LISTED),
            ("list", "", "secrets", "", "own", "", Some("can only read namespaced object of this type")),
            ("create", "", "secrets", "a", "own", "", Some("can only read resources of this type")),
            ("get", "", "configmaps/x", "a", "own", "", Some("cannot read subresource")),
            ("get", "", "persistentvolumes", "", "own", "", None),
            ("list", "", "persistentvolumes", "", "", "", Some("can only get individual resources of this type")),
            ("get", "", "persistentvolumeclaims", "a", "other", "", UNRELATED),
            ("patch", "", "persistentvolumeclaims/status", "a", "own", "", None),
            ("get", "", "persistentvolumeclaims/status", "a", "own", "", Some("can only get/update/patch this type")),
            ("get", "", "persistentvolumes/status", "", "own", "", Some("cannot get subresource")),
            ("create", "", "serviceaccounts/token", "a", "own", "", None),
            ("create", "", "serviceaccounts/token", "a", "other", "", UNRELATED),
            ("get", "", "serviceaccounts", "a", "own", "", None),
            (
                "list",
                "",
                "serviceaccounts",
                "a",
                "",
                "",
                Some("can only create tokens for individual service accounts"),
            ),
            ("create", "", "nodes", "", "", "", None),
            ("get", "", "nodes", "", "n", "", None),
            ("get", "", "nodes", "", "m", "", Some("node 'n' cannot read 'm', only its own Node object")),
            ("watch", "", "nodes", "", "", "", Some("node 'n' cannot read all nodes, only its own Node object")),
            ("delete", "", "nodes", "", "n", "", Some("")),
            ("patch", "", "nodes/status", "", "m", "", None),
            ("list", "", "pods", "", "", "spec.nodeName=n", None),
            (
                "list",
                "",
                "pods",
                "",
                "",
                "spec.nodeName=m",
                Some("can only list/watch pods with spec.nodeName field selector"),
            ),
            (
                "watch",
                "",
                "pods",
                "",
                "",
                "spec.nodeName!=n",
                Some("can only list/watch pods with spec.nodeName field selector"),
            ),
            ("get", "", "pods", "a", "own", "", None),
            ("update", "", "pods", "a", "own", "", Some("")),
            ("create", "", "pods/eviction", "a", "p", "", None),
            ("create", "", "pods/binding", "a", "p", "", Some("")),
            ("create", "coordination.k8s.io", "leases", "kube-node-lease", "", "", None),
            ("update", "coordination.k8s.io", "leases", "kube-node-lease", "n", "", None),
            ("update", "coordination.k8s.io", "leases", "kube-node-lease", "m", "", Some(own_lease)),
            ("create", "coordination.k8s.io", "leases", "a", "", "", Some(leases)),
            (
                "list",
                "coordination.k8s.io",
                "leases",
                "a",
                "",
                "",
                Some("can only get, create, update, patch, or delete a node lease"),
            ),
            ("delete", "storage.k8s.io", "csinodes", "", "n", "", None),
            (
                "get",
                "storage.k8s.io",
                "csinodes",
                "",
                "m",
                "",
                Some("can only access CSINode with the same name as the requesting node"),
            ),
            ("create", "resource.k8s.io", "resourceslices", "", "", "", None),
            ("update", "resource.k8s.io", "resourceslices", "", "other", "", UNRELATED),
            ("deletecollection", "resource.k8s.io", "resourceslices", "", "", "spec.nodeName=n", None),
            ("list", "resource.k8s.io", "resourceslices", "", "", "", Some(slices)),
            ("create", "certificates.k8s.io", "podcertificaterequests", "a", "", "", Some("")),
        ];
        let user = node("system:node:n");
        for (verb, group, resource, namespace, name, selector, refusal) in rows {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let selector = FieldSelector::parse(selector).expect("a selector");
            let asked = Attributes {
                subresource,
                namespace,
                name,
                field_selector: Some(&selector),
                ..Attributes::resource(&user, verb, group, resource)
            };
            let opinion = authorizer().check(&asked).err();
            assert_eq!(
                opinion.as_deref(),
                *refusal,
                "{verb} {group}/{resource}/{subresource} {namespace}/{name} {selector}"
            );
        }
    }
}
