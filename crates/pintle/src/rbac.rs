//! Roles and bindings from the cache to the authorizer: read once at the start, and again whenever one changes.

use futures_util::future::select_all;
use pintle_admission::policy_rule;
use pintle_auth::authorization::rbac::{Binding, Rbac, RbacSnapshot, Role, RoleKind, RoleRef, Subject, SubjectKind};
use pintle_cache::Object;
use pintle_registry::{Registry, Target};
use pintle_schema::ApiValue;
use pintle_types::rbac::v1;
use std::sync::Arc;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Everything that roles and bindings say now.
pub fn snapshot(registry: &Registry) -> RbacSnapshot {
    let roles =
        ["clusterroles", "roles"].iter().flat_map(|plural| objects(registry, plural)).filter_map(|(target, object)| {
            // Role and ClusterRole have their rules in common.
            let value = registry.decode(&target, &object).ok()?;
            let rules = Vec::<v1::PolicyRule>::from_value(value.get(v1::Role::RULES.name())?).ok()?;
            Some(Role {
                namespace: object.namespace().into(),
                name: object.name().into(),
                rules: rules.iter().map(policy_rule).collect(),
            })
        });
    let bindings = ["clusterrolebindings", "rolebindings"].iter().flat_map(|plural| objects(registry, plural));
    let bindings = bindings.filter_map(|(target, object)| {
        let value = registry.decode(&target, &object).ok()?;
        let binding = v1::RoleBinding::from_value(&value).ok()?;
        Some(Binding {
            namespace: object.namespace().into(),
            name: object.name().into(),
            subjects: binding.subjects.iter().filter_map(subject).collect(),
            role_ref: RoleRef {
                kind: RoleKind::from_name(&binding.role_ref.kind)?,
                name: binding.role_ref.name.as_str().into(),
            },
        })
    });
    RbacSnapshot::build(roles.collect::<Vec<_>>(), bindings.collect::<Vec<_>>())
}

/// Publishes a new snapshot after each change, until the server ends.
pub async fn follow(api: Arc<pintle_endpoints::Api>, rbac: Arc<Rbac>) {
    let mut cursors: Vec<_> = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"]
        .iter()
        .filter_map(|plural| target(&api.registry, plural))
        .map(|target| target.cache.cursor(api.registry.revision()))
        .collect();
    if cursors.is_empty() {
        return;
    }
    // What was written before the cursors were there, no cursor will tell.
    rbac.publish(snapshot(&api.registry));
    loop {
        select_all(cursors.iter_mut().map(|cursor| Box::pin(cursor.changed()))).await;
        for cursor in &mut cursors {
            // An expired cursor has missed events, not the state that is read next.
            let _ = cursor.take(usize::MAX);
        }
        rbac.publish(snapshot(&api.registry));
    }
}

fn target(registry: &Registry, plural: &str) -> Option<Target> {
    registry.target(pintle_kinds::find(GROUP, "v1", plural)?, "", "")
}

fn objects(registry: &Registry, plural: &str) -> Vec<(Target, Arc<Object>)> {
    let Some(target) = target(registry, plural) else { return Vec::new() };
    let state = target.cache.state();
    state.objects.values().map(|object| (target.clone(), object.clone())).collect()
}

fn subject(subject: &v1::Subject) -> Option<Subject> {
    Some(Subject {
        kind: SubjectKind::from_name(&subject.kind)?,
        name: subject.name.as_str().into(),
        namespace: subject.namespace.as_str().into(),
    })
}
