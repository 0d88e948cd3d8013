//! Roles and bindings arranged so that a request finds those of its user with one lookup per name and group.
//! Guarantees that a snapshot never changes and that its answers do not depend on the order it was built in.
//! Must never be rebuilt whole for a change in one namespace: namespaces are shared between snapshots.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Binding, PolicyRule, Role, RoleKind, Subject, SubjectKind};
use pintle_auth::users::SERVICE_ACCOUNT_PREFIX;
use pintle_auth::{Attributes, Str, UserInfo};
use pintle_schema::names::quoted;

/// All roles and bindings at one moment. Cheap to clone.
#[derive(Clone, Default)]
pub struct RbacSnapshot {
    cluster: Arc<Scope>,
    namespaces: HashMap<Str, Arc<Scope>>,
}

/// The roles and bindings of one namespace, or of the cluster.
#[derive(Default)]
struct Scope {
    roles: HashMap<Str, Arc<[PolicyRule]>>,
    /// Sorted by name, so that the first one that allows is always the same.
    bindings: Vec<Arc<Binding>>,
    /// Positions in `bindings` by user name (service accounts under the name of their user), ascending.
    by_user: HashMap<Str, Vec<u32>>,
    /// Positions in `bindings` by group, ascending.
    by_group: HashMap<Str, Vec<u32>>,
}

impl Scope {
    fn new(roles: impl IntoIterator<Item = Role>, mut bindings: Vec<Binding>) -> Scope {
        bindings.sort_by(|a, b| a.name.cmp(&b.name));
        let mut scope = Scope::default();
        for role in roles {
            scope.roles.insert(role.name, role.rules.into());
        }
        for (at, binding) in (0..).zip(bindings) {
            for subject in &binding.subjects {
                scope.index(subject, &binding.namespace, at);
            }
            scope.bindings.push(Arc::new(binding));
        }
        scope
    }

    fn index(&mut self, subject: &Subject, binding_namespace: &str, at: u32) {
        let positions = match subject.kind {
            SubjectKind::User => self.by_user.entry(subject.name.clone()).or_default(),
            SubjectKind::Group => self.by_group.entry(subject.name.clone()).or_default(),
            SubjectKind::ServiceAccount => {
                let namespace = subject.account_namespace(binding_namespace);
                if namespace.is_empty() {
                    return;
                }
                let user = format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{}", subject.name);
                self.by_user.entry(user.into()).or_default()
            }
        };
        if positions.last() != Some(&at) {
            positions.push(at);
        }
    }

    /// The bindings that a user has here. One that applies for several reasons comes several times.
    fn bindings_of<'a>(&'a self, user: &'a UserInfo) -> impl Iterator<Item = &'a Arc<Binding>> {
        let by_group = user.groups.iter().filter_map(|group| self.by_group.get(group));
        let positions = self.by_user.get(&user.name).into_iter().chain(by_group);
        positions.flatten().filter_map(|at| self.bindings.get(usize::try_from(*at).ok()?))
    }
}

/// A rule that a user has, and the binding that gives it.
pub struct UserRule<'a> {
    /// The rule.
    pub rule: &'a PolicyRule,
    /// The binding that gives it to the user.
    pub binding: &'a Arc<Binding>,
}

impl RbacSnapshot {
    /// Arranges all roles and bindings of a cluster, in whatever order.
    pub fn build(roles: impl IntoIterator<Item = Role>, bindings: impl IntoIterator<Item = Binding>) -> RbacSnapshot {
        let mut scopes: HashMap<Str, (Vec<Role>, Vec<Binding>)> = HashMap::new();
        for role in roles {
            scopes.entry(role.namespace.clone()).or_default().0.push(role);
        }
        for binding in bindings {
            let scope = scopes.entry(binding.namespace.clone()).or_default();
            scope.1.push(binding);
        }
        let (roles, bindings) = scopes.remove("").unwrap_or_default();
        RbacSnapshot {
            cluster: Arc::new(Scope::new(roles, bindings)),
            namespaces: scopes
                .into_iter()
                .map(|(name, (roles, bindings))| (name, Arc::new(Scope::new(roles, bindings))))
                .collect(),
        }
    }

    /// The snapshot with one namespace replaced, or the cluster's own roles and bindings if it is empty. Costs what
    /// that scope holds and a pointer for every other. Roles and bindings of other namespaces are left out.
    pub fn with_scope(
        &self,
        namespace: &str,
        roles: impl IntoIterator<Item = Role>,
        bindings: impl IntoIterator<Item = Binding>,
    ) -> RbacSnapshot {
        let roles = roles.into_iter().filter(|role| role.namespace == namespace);
        let bindings = bindings.into_iter().filter(|binding| binding.namespace == namespace);
        let scope = Arc::new(Scope::new(roles, bindings.collect()));
        let mut next = self.clone();
        if namespace.is_empty() {
            next.cluster = scope;
        } else if scope.roles.is_empty() && scope.bindings.is_empty() {
            next.namespaces.remove(namespace);
        } else {
            next.namespaces.insert(namespace.into(), scope);
        }
        next
    }

    /// The binding that allows the request.
    ///
    /// # Errors
    /// No binding does; with the roles that the user's bindings name and that do not exist (mostly none: an empty text).
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Result<Arc<Binding>, String> {
        let user = attributes.user;
        let mut errors: Vec<String> = Vec::new();
        for (scope, namespace) in self.scopes(attributes.namespace) {
            // Group lookups repeat bindings and are not sorted between groups; the decision is the same.
            for binding in scope.bindings_of(user) {
                match self.rules(binding, namespace) {
                    Some(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                        return Ok(Arc::clone(binding));
                    }
                    Some(_) => {}
                    None => {
                        let error = role_not_found(binding);
                        if !errors.contains(&error) {
                            errors.push(error);
                        }
                    }
                }
            }
        }
        Err(match errors.as_slice() {
            [] => String::new(),
            [error] => format!("RBAC: {error}"),
            errors => format!("RBAC: [{}]", errors.join(", ")),
        })
    }

    /// All rules that a user has in a namespace (empty: cluster-wide only), and as error texts the roles that the user's
    /// bindings name and that do not exist.
    pub fn rules_of<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> (Vec<UserRule<'a>>, Vec<String>) {
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for (scope, namespace) in self.scopes(namespace) {
            let mut bindings: Vec<_> = scope.bindings_of(user).collect();
            bindings.sort_by(|a, b| a.name.cmp(&b.name));
            bindings.dedup_by(|a, b| Arc::ptr_eq(a, b));
            for binding in bindings {
                match self.rules(binding, namespace) {
                    Some(rules) => {
                        found.extend(rules.iter().map(|rule| UserRule { rule, binding }));
                    }
                    None => errors.push(role_not_found(binding)),
                }
            }
        }
        (found, errors)
    }

    /// The rules of a role; `None` if there is no such role.
    pub fn role(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<&[PolicyRule]> {
        let scope = match kind {
            RoleKind::ClusterRole => &self.cluster,
            RoleKind::Role => self.namespaces.get(namespace)?,
        };
        scope.roles.get(name).map(|rules| &**rules)
    }

    /// The scopes that count in a namespace: the cluster's, then its own.
    fn scopes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a Scope, &'a str)> {
        let own = self.namespaces.get(namespace).filter(|_| !namespace.is_empty());
        std::iter::once((&*self.cluster, "")).chain(own.map(|scope| (&**scope, namespace)))
    }

    fn rules(&self, binding: &Binding, namespace: &str) -> Option<&[PolicyRule]> {
        self.role(binding.role_ref.kind, namespace, &binding.role_ref.name)
    }
}

fn role_not_found(binding: &Binding) -> String {
    let role = &binding.role_ref;
    format!("{} {} not found", role.kind.resource(), quoted(&role.name))
}
