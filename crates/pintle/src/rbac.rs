//! Publishes roles and bindings from the cache to the authorizer: all at the start, and those of a scope again when one
//! of them changes. Guarantees that a snapshot reflects the cache at some moment after the change. Must never read the
//! roles of unchanged namespaces.

use futures_util::future::select_all;
use pintle_cache::{Expired, Object, Watcher};
use pintle_kubernetes_auth::rbac::{
    Binding, Rbac, RbacSnapshot, RbacSource, Role, RoleKind, RoleRef, Subject, SubjectKind,
};
use pintle_plugins::policy_rule;
use pintle_registry::{Registry, Target};
use pintle_schema::ApiValue;
use pintle_server::Opened;
use pintle_types::rbac::v1;
use std::collections::BTreeSet;
use std::sync::Arc;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The resources that hold the roles and the bindings of a kind of scope.
struct ScopeResources {
    roles: &'static str,
    bindings: &'static str,
}

const OF_CLUSTER: ScopeResources = ScopeResources { roles: "clusterroles", bindings: "clusterrolebindings" };
const OF_NAMESPACES: ScopeResources = ScopeResources { roles: "roles", bindings: "rolebindings" };

/// Publishes the roles and bindings, and follows them.
pub(crate) fn install(opened: &mut Opened, roles: Arc<Rbac>) {
    let registry = opened.registry().clone();
    roles.publish(snapshot(&registry));
    opened.spawn("the watch of roles and bindings", follow(registry, roles));
}

/// The current roles and bindings.
fn snapshot(registry: &Registry) -> RbacSnapshot {
    let scopes = [OF_CLUSTER, OF_NAMESPACES];
    let all = scopes.iter().map(|plurals| (roles(registry, plurals, ""), bindings(registry, plurals, "")));
    let (roles, bindings): (Vec<_>, Vec<_>) = all.unzip();
    RbacSnapshot::build(roles.into_iter().flatten(), bindings.into_iter().flatten())
}

/// The same with one scope updated: a namespace, or the cluster if the name is empty.
fn with_scope(before: &RbacSnapshot, registry: &Registry, namespace: &str) -> RbacSnapshot {
    let plurals = if namespace.is_empty() { OF_CLUSTER } else { OF_NAMESPACES };
    before.with_scope(namespace, roles(registry, &plurals, namespace), bindings(registry, &plurals, namespace))
}

fn roles(registry: &Registry, plurals: &ScopeResources, namespace: &str) -> Vec<Role> {
    let role = |(target, object): (Target, Arc<Object>)| {
        // Role and ClusterRole have their rules in common.
        let value = registry.decode(&target, &object).ok()?;
        let rules = Vec::<v1::PolicyRule>::from_value(value.get(v1::Role::RULES.name())?).ok()?;
        Some(Role {
            namespace: object.namespace().into(),
            name: object.name().into(),
            rules: rules.iter().map(policy_rule).collect(),
        })
    };
    objects(registry, plurals.roles, namespace).into_iter().filter_map(role).collect()
}

fn bindings(registry: &Registry, plurals: &ScopeResources, namespace: &str) -> Vec<Binding> {
    let binding = |(target, object): (Target, Arc<Object>)| {
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
    };
    objects(registry, plurals.bindings, namespace).into_iter().filter_map(binding).collect()
}

/// Publishes a new snapshot after each change, until the server ends.
async fn follow(registry: Arc<Registry>, rbac: Arc<Rbac>) {
    let registry = &*registry;
    loop {
        let plurals = [OF_CLUSTER, OF_NAMESPACES].map(|ScopeResources { roles, bindings }| [roles, bindings]);
        let targets = plurals.into_iter().flatten().filter_map(|plural| target(registry, plural));
        let mut cursors: Vec<_> = targets.map(|target| target.cache.cursor(target.cache.current())).collect();
        if cursors.is_empty() {
            return;
        }
        // The watches do not report writes from before they began.
        rbac.publish(snapshot(registry));
        while let Ok(namespaces) = changed(&mut cursors).await {
            let scopes = namespaces.iter();
            let next = scopes.fold((*rbac.snapshot()).clone(), |next, scope| with_scope(&next, registry, scope));
            rbac.publish(next);
        }
    }
}

/// Waits for changes and returns their namespaces; "" for cluster-scoped objects.
async fn changed(cursors: &mut [Watcher]) -> Result<BTreeSet<String>, Expired> {
    select_all(cursors.iter_mut().map(|cursor| Box::pin(cursor.changed()))).await;
    let mut namespaces = BTreeSet::new();
    for cursor in cursors {
        cursor.visit(usize::MAX, |event| _ = namespaces.insert(event.object.namespace().to_owned()))?;
    }
    Ok(namespaces)
}

fn target(registry: &Registry, plural: &str) -> Option<Target> {
    registry.target(pintle_groups::find(GROUP, "v1", plural)?, "", "")
}

/// The objects of a resource in a namespace, or all if that is empty.
fn objects(registry: &Registry, plural: &str, namespace: &str) -> Vec<(Target, Arc<Object>)> {
    let Some(target) = target(registry, plural) else { return Vec::new() };
    let state = target.cache.state();
    let mut first = target.storage().prefix.to_string();
    if !namespace.is_empty() {
        first.extend([namespace, "/"]);
    }
    state.objects.under(&first).map(|entry| (target.clone(), entry.object.clone())).collect()
}

fn subject(subject: &v1::Subject) -> Option<Subject> {
    Some(Subject {
        kind: SubjectKind::from_name(&subject.kind)?,
        name: subject.name.as_str().into(),
        namespace: subject.namespace.as_str().into(),
    })
}
