//! Privilege escalation: the author of a role or a binding must have the permissions that it grants, or the permission
//! to `escalate` or `bind`. Guarantees that no sequence of writes gives its author more permissions, in every
//! authorization mode. Must never change an object. It cannot be disabled.

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_auth::{Str, groups};
use pintle_kubernetes_auth::rbac::PolicyRule;
use pintle_registry::status::{Result, Status};
use pintle_registry::{Phase, metadata};
use pintle_resource::MaybeReady;
use pintle_schema::names::{self, quoted};
use pintle_schema::{ApiValue, Value, View};
use pintle_types::rbac::v1::{self, ClusterRole, Role, RoleBinding};

const GROUP: &str = "rbac.authorization.k8s.io";
static ROLES: Kind<Role> = Kind::new(GROUP, "roles");
static CLUSTER_ROLES: Kind<ClusterRole> = Kind::new(GROUP, "clusterroles");

/// The writes that grant permissions.
const REQUESTS: [Requests; 4] = [
    Requests::write(GROUP, "roles"),
    Requests::write(GROUP, "clusterroles"),
    Requests::write(GROUP, "rolebindings"),
    Requests::write(GROUP, "clusterrolebindings"),
];

/// Checks every write of a role or a binding, after all plugins.
pub static PLUGIN: Plugin = Plugin::on(&REQUESTS)
    .authorizing(Phase::Mutate, |request, object| MaybeReady::wait(async move { confirm(&request, object).await }));

/// # Errors
/// The object grants permissions that its author does not have.
async fn confirm(request: &Request<'_>, object: &Value) -> Result<()> {
    if request.requester().in_group(groups::MASTERS) || request.old().is_some_and(|old| waits_for_less(object, old)) {
        return Ok(());
    }
    match request.resource() {
        "roles" | "clusterroles" => confirm_role(request, object).await,
        _ => confirm_binding(request, object).await,
    }
}

async fn confirm_role(request: &Request<'_>, object: &Value) -> Result<()> {
    if request.permits("escalate", GROUP, request.resource(), request.namespace(), request.name()).await {
        return Ok(());
    }
    // Role and ClusterRole have their rules in common.
    let rules = View::<ClusterRole>::new(object).field(ClusterRole::RULES).get();
    held(request, object, &rules)?;
    // A rule without selectors, which is invalid, gathers nothing.
    let aggregates = |role: &Value| {
        let selectors = role.at(&["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_list);
        selectors.is_some_and(|selectors| !selectors.is_empty())
    };
    let is_cluster_role = request.resource() == "clusterroles";
    if is_cluster_role && (aggregates(object) || request.old().is_some_and(aggregates)) {
        let why = |_| request.forbidden(object, "must have cluster-admin privileges to use the aggregationRule");
        confirm_held(request, &everything()).map_err(why)?;
    }
    Ok(())
}

async fn confirm_binding(request: &Request<'_>, object: &Value) -> Result<()> {
    let role = RoleBinding::from_value(object).map_err(Status::internal)?.role_ref;
    // The reference is validated later: until then it may name any kind, or have a name that no object has.
    let (of_cluster, plural) = match role.kind.as_str() {
        "ClusterRole" => (true, "clusterroles"),
        "Role" => (false, "roles"),
        kind => return Err(Status::unexplained(format!("unsupported role reference kind: {}", quoted(kind)))),
    };
    if request.permits("bind", &role.api_group, plural, request.namespace(), &role.name).await {
        return Ok(());
    }
    check_key(of_cluster, request.namespace(), &role.name)?;
    let rules = match of_cluster {
        true => request.find(&CLUSTER_ROLES, "", &role.name)?.map(|role| role.rules),
        false => request.find(&ROLES, request.namespace(), &role.name)?.map(|role| role.rules),
    };
    held(request, object, &rules.ok_or_else(|| request.not_found(&role.name))?)
}

/// # Errors
/// No role can have such a namespace or name.
fn check_key(of_cluster: bool, namespace: &str, name: &str) -> Result<()> {
    if !of_cluster && namespace.is_empty() {
        return Err(Status::bad_request("Namespace parameter required."));
    }
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let faults = names::path_segment_name(name);
    if !faults.is_empty() {
        let message = format!("Name parameter invalid: {}: {}", quoted(name), faults.join(";"));
        return Err(Status::bad_request(message));
    }
    Ok(())
}

fn held(request: &Request<'_>, object: &Value, rules: &[v1::PolicyRule]) -> Result<()> {
    let rules: Vec<PolicyRule> = rules.iter().map(policy_rule).collect();
    confirm_held(request, &rules).map_err(|why| request.forbidden(object, why))
}

fn confirm_held(request: &Request<'_>, rules: &[PolicyRule]) -> std::result::Result<(), String> {
    request.roles().confirm_held(request.requester(), request.namespace(), rules)
}

/// An aggregated role may come to grant any permission.
fn everything() -> [PolicyRule; 2] {
    let all = || vec![Str::new_static("*")];
    let verbs = PolicyRule { verbs: all(), ..PolicyRule::default() };
    [
        PolicyRule { api_groups: all(), resources: all(), ..verbs.clone() },
        PolicyRule { non_resource_urls: all(), ..verbs },
    ]
}

/// Whether an update only removes finalizers or changes managedFields.
pub fn waits_for_less(object: &Value, old: &Value) -> bool {
    const LESS: [&[&str]; 4] = [
        &["metadata", "ownerReferences"],
        &["metadata", "finalizers"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ];
    let mut object = object.clone();
    LESS.iter().for_each(|path| metadata::keep_path(&mut object, old, path));
    object == *old
}

/// A rule as authorization knows it.
pub fn policy_rule(rule: &v1::PolicyRule) -> PolicyRule {
    let texts = |items: &[String]| items.iter().map(|item| Str::from(item.as_str())).collect();
    PolicyRule {
        verbs: texts(&rule.verbs),
        api_groups: texts(&rule.api_groups),
        resources: texts(&rule.resources),
        resource_names: texts(&rule.resource_names),
        non_resource_urls: texts(&rule.non_resource_urls),
    }
}

#[cfg(test)]
mod tests {
    use super::check_key;

    #[test]
    fn a_role_is_looked_up_only_if_one_can_be_of_that_name() {
        // (of the cluster, namespace, name, error)
        let rows = [
            (true, "", "view", ""),
            (false, "ns", "own", ""),
            (false, "", "own", "Namespace parameter required."),
            (true, "", "", "Name parameter required."),
            (false, "ns", "a/b", "Name parameter invalid: \"a/b\": may not contain '/'"),
        ];
        for (of_cluster, namespace, name, expected) in rows {
            let error = check_key(of_cluster, namespace, name).err();
            assert_eq!(error.map(|error| error.message).unwrap_or_default(), expected, "{namespace:?} {name:?}");
        }
    }
}
