//! Rights that a write needs besides its own, for the rules that ask for them.
//! Guarantees that the authorizer alone decides, as it would a request with that verb.
//! Must never say more of a refusal than the 403 of such a request would.

use pintle_auth::authorization::forbidden;
use pintle_auth::{Attributes, Authorizer, NODE_NAME_KEY, UserInfo, users};
use pintle_registry::Requester;
use pintle_resource::Resource;
use pintle_schema::names::dns1123_subdomain;
use pintle_validation::{Refusal, Right};

/// Begins the verbs of those who are bound to the node that a right is about.
const ON_THE_NODE: &str = "associated-node:";

/// Begins the verbs of those who need not be.
const ON_ANY_NODE: &str = "arbitrary-node:";

/// Why a requester has no right besides a write; `None` when they have it.
pub fn refusal(
    authorizer: &Authorizer,
    resource: &Resource,
    requester: &Requester,
    right: &Right<'_>,
) -> Option<Refusal> {
    let user = user(requester);
    let verb = |prefix: &str| format!("{prefix}{}", requester.verb);
    let verbs = match right.node {
        None => vec![verb("")],
        Some(node) if is_bound_to(&user, node) => vec![verb(ON_THE_NODE), verb(ON_ANY_NODE)],
        Some(_) => vec![verb(ON_ANY_NODE)],
    };
    let mut why = None;
    for verb in &verbs {
        let asked = Attributes {
            api_version: &resource.version,
            subresource: right.subresource,
            namespace: right.namespace,
            name: right.name,
            ..Attributes::resource(&user, verb, &resource.group, &resource.plural)
        };
        let decision = authorizer.authorize(&asked);
        if decision.is_allowed() {
            return None;
        }
        why.get_or_insert_with(|| forbidden(&asked, &decision.reason()).message);
    }
    why.map(|why| Refusal { verbs, why })
}

/// A requester as the authorizer knows users.
pub fn user(requester: &Requester) -> UserInfo {
    let all = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect();
    UserInfo {
        name: requester.name.as_str().into(),
        uid: requester.uid.as_str().into(),
        groups: all(&requester.groups),
        extra: requester.extra.iter().map(|(key, values)| (key.as_str().into(), all(values))).collect(),
    }
}

/// Whether a user is the service account of a pod on this node.
fn is_bound_to(user: &UserInfo, node: &str) -> bool {
    let nodes = user.extra.iter().find(|(key, _)| key == NODE_NAME_KEY).map_or(&[][..], |(_, nodes)| nodes);
    users::as_service_account(&user.name).is_some()
        && matches!(nodes, [own] if own == node)
        && dns1123_subdomain(node).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_auth::Mode;
    use pintle_auth::authorization::rbac::{Rbac, RbacSnapshot};
    use std::sync::Arc;

    #[test]
    fn the_verb_says_whether_a_writer_is_bound_to_the_node() {
        let authorizer = Authorizer::new(vec![Mode::Rbac], Arc::new(Rbac::new(RbacSnapshot::default())));
        let claims = pintle_kinds::find("resource.k8s.io", "v1", "resourceclaims").expect("a known resource");
        let verbs = |name: &str, nodes: &[&str], right: Right<'_>| {
            let nodes = nodes.iter().map(ToString::to_string).collect();
            let extra = vec![(NODE_NAME_KEY.to_owned(), nodes)];
            let requester = Requester { verb: "patch", name: name.to_owned(), extra, ..Requester::default() };
            refusal(&authorizer, claims, &requester, &right).expect("nobody has rights")
        };
        let right = Right { subresource: "driver", namespace: "a", name: "d", node: Some("n") };
        let driver = "system:serviceaccount:kube-system:driver";
        let both = ["associated-node:patch", "arbitrary-node:patch"];
        assert_eq!(verbs(driver, &["n"], right).verbs, both);
        for (name, nodes, node) in
            [("bob", &["n"][..], "n"), (driver, &["m"], "n"), (driver, &["n", "n"], "n"), (driver, &[], "")]
        {
            assert_eq!(verbs(name, nodes, Right { node: Some(node), ..right }).verbs, both[1..], "{name} {nodes:?}");
        }
        assert_eq!(
            verbs("bob", &[], Right { subresource: "binding", ..Right::default() }),
            Refusal {
                verbs: vec!["patch".to_owned()],
                why: "resourceclaims.resource.k8s.io is forbidden: User \"bob\" cannot patch resource \
                      \"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope"
                    .to_owned()
            }
        );
    }
}
