//! Additional permissions for a write, for validation rules that need them. Guarantees that the authorizer alone decides, as
//! for a request with that verb. Must never reveal more than the 403 of such a request.

use pintle_auth::authorization::forbidden;
use pintle_auth::{Attributes, Authorizer, AuthorizerUnion, NODE_NAME_KEY, UserInfo, users};
use pintle_registry::{RequestContext, Rights, Target};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::names::dns1123_subdomain;
use pintle_validation::{Refusal, Right};

/// The prefix of verbs for users bound to the object's node.
const ON_THE_NODE: &str = "associated-node:";

/// The prefix of verbs for other users.
const ON_ANY_NODE: &str = "arbitrary-node:";

/// Checks permissions with the authorizer.
pub struct AuthorizerRights(pub AuthorizerUnion);

impl Rights for AuthorizerRights {
    fn refusal<'a>(
        &'a self,
        target: &'a Target,
        context: &'a RequestContext,
        right: &Right<'a>,
    ) -> MaybeReady<'a, Option<Refusal>> {
        // Boxed: few rules need it.
        MaybeReady::wait(refusal(&self.0, &target.resource, context, *right))
    }
}

/// Why a requester lacks a permission; `None` when they have it.
async fn refusal(
    authorizer: &AuthorizerUnion,
    resource: &Resource,
    context: &RequestContext,
    right: Right<'_>,
) -> Option<Refusal> {
    let user = context.user();
    let verb = |prefix: &str| format!("{prefix}{}", context.verb);
    let verbs = match right.node {
        None => vec![verb("")],
        Some(node) if is_bound_to(user, node) => vec![verb(ON_THE_NODE), verb(ON_ANY_NODE)],
        Some(_) => vec![verb(ON_ANY_NODE)],
    };
    let mut why = None;
    for verb in &verbs {
        let asked = Attributes {
            api_version: &resource.version,
            subresource: right.subresource,
            namespace: right.namespace,
            name: right.name,
            ..Attributes::resource(user, verb, &resource.group, &resource.plural)
        };
        let decision = authorizer.authorize(&asked).get().await;
        if decision.is_allowed() {
            return None;
        }
        why.get_or_insert_with(|| forbidden(&asked, &decision.reason(user)).message);
    }
    why.map(|why| Refusal { verbs, why })
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
    use crate::testing::rbac;
    use futures_util::FutureExt;
    use pintle_kubernetes_auth::rbac::RbacSnapshot;
    use std::sync::Arc;

    #[test]
    fn the_verb_says_whether_a_writer_is_bound_to_the_node() {
        let (authorizer, _) = rbac(RbacSnapshot::default());
        let claims = pintle_groups::find("resource.k8s.io", "v1", "resourceclaims").expect("a known resource");
        let verbs = |name: &str, nodes: &[&str], right: Right<'_>| {
            let nodes = nodes.iter().map(|node| (*node).into()).collect();
            let extra = vec![(NODE_NAME_KEY.into(), nodes)];
            let user = UserInfo { name: name.into(), extra, ..UserInfo::default() };
            let context = RequestContext::new("patch", String::new()).acting_as(Arc::new(user));
            let refusal = refusal(&authorizer, claims, &context, right).now_or_never();
            refusal.expect("RBAC never waits").expect("nobody has rights")
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
