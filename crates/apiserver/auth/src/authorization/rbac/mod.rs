//! Role-based access control: roles are lists of rules, bindings give them to users, groups and service accounts.
//! Guarantees that rules only ever add: there is no rule that takes away.
//! Must never find a user's bindings by walking all of them; that is what the index is for.

mod escalation;
mod index;
mod rule;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::user::users::SERVICE_ACCOUNT_PREFIX;
use crate::{Str, UserInfo};
use pintle_schema::names::quoted;

pub use index::{RbacSnapshot, UserRule};
pub use rule::PolicyRule;

/// A role, or a cluster role when it has no namespace.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// The namespace; empty for a cluster role.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// What it allows.
    pub rules: Vec<PolicyRule>,
}

/// A role binding, or a cluster role binding when it has no namespace.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The namespace in which it gives the role; empty: everywhere.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// Who gets the role.
    pub subjects: Vec<Subject>,
    /// The role.
    pub role_ref: RoleRef,
}

/// Which role a binding gives.
#[derive(Clone, Debug)]
pub struct RoleRef {
    /// Whether it is a role of the binding's namespace or one of the cluster.
    pub kind: RoleKind,
    /// Its name.
    pub name: Str,
}

/// The kinds of role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleKind {
    /// Of a namespace.
    Role,
    /// Of the cluster.
    ClusterRole,
}

impl RoleKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<RoleKind> {
        match name {
            "Role" => Some(RoleKind::Role),
            "ClusterRole" => Some(RoleKind::ClusterRole),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            RoleKind::Role => "Role",
            RoleKind::ClusterRole => "ClusterRole",
        }
    }

    /// As the resource is named in "not found".
    fn resource(self) -> &'static str {
        match self {
            RoleKind::Role => "role.rbac.authorization.k8s.io",
            RoleKind::ClusterRole => "clusterrole.rbac.authorization.k8s.io",
        }
    }
}

/// Who a binding gives a role to.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What the name is a name of.
    pub kind: SubjectKind,
    /// The name.
    pub name: Str,
    /// The namespace of a service account; empty: the binding's.
    pub namespace: Str,
}

/// The kinds of subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A user by name.
    User,
    /// Everybody in a group.
    Group,
    /// A service account.
    ServiceAccount,
}

impl SubjectKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<SubjectKind> {
        match name {
            "User" => Some(SubjectKind::User),
            "Group" => Some(SubjectKind::Group),
            "ServiceAccount" => Some(SubjectKind::ServiceAccount),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            SubjectKind::User => "User",
            SubjectKind::Group => "Group",
            SubjectKind::ServiceAccount => "ServiceAccount",
        }
    }
}

impl Subject {
    /// Whether the user is meant, by a binding in the given namespace.
    fn includes(&self, user: &UserInfo, binding_namespace: &str) -> bool {
        match self.kind {
            SubjectKind::User => user.name == self.name,
            SubjectKind::Group => user.in_group(&self.name),
            SubjectKind::ServiceAccount => {
                let namespace = self.account_namespace(binding_namespace);
                let rest = user.name.strip_prefix(SERVICE_ACCOUNT_PREFIX);
                let rest = rest.and_then(|rest| rest.strip_prefix(namespace));
                let name = rest.and_then(|rest| rest.strip_prefix(':'));
                !namespace.is_empty() && name == Some(&self.name)
            }
        }
    }

    /// The namespace of a service account; empty when neither it nor the binding has one.
    fn account_namespace<'a>(&'a self, binding_namespace: &'a str) -> &'a str {
        match self.namespace.is_empty() {
            true => binding_namespace,
            false => &self.namespace,
        }
    }
}

/// Which binding allowed something, and to which of its subjects.
#[derive(Clone, Debug)]
pub struct Grant {
    binding: Arc<Binding>,
    subject: usize,
}

impl Grant {
    /// What `binding` gives to the first of its subjects that includes the user.
    fn new(binding: &Arc<Binding>, user: &UserInfo) -> Grant {
        let mut subjects = binding.subjects.iter();
        let subject = subjects.position(|subject| subject.includes(user, &binding.namespace));
        Grant { binding: Arc::clone(binding), subject: subject.unwrap_or(usize::MAX) }
    }

    /// The binding.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = &self.binding;
        let role = &binding.role_ref;
        match binding.namespace.as_str() {
            "" => write!(f, "ClusterRoleBinding {}", quoted(&binding.name))?,
            namespace => {
                let name = format!("{}/{namespace}", binding.name);
                write!(f, "RoleBinding {}", quoted(&name))?;
            }
        }
        write!(f, " of {} {}", role.kind.name(), quoted(&role.name))?;
        let Some(subject) = binding.subjects.get(self.subject) else {
            return Ok(());
        };
        let name = match subject.kind {
            SubjectKind::User | SubjectKind::Group => subject.name.to_string(),
            SubjectKind::ServiceAccount => {
                let namespace = subject.account_namespace(&binding.namespace);
                format!("{}/{namespace}", subject.name)
            }
        };
        write!(f, " to {} {}", subject.kind.name(), quoted(&name))
    }
}

/// Where the authorizer finds the roles and bindings as they are now.
pub trait RbacSource: Send + Sync {
    /// The current snapshot. Called for every request, so it must be cheap.
    fn snapshot(&self) -> Arc<RbacSnapshot>;
}

/// A source whose snapshot is replaced whenever roles or bindings change.
pub struct Rbac {
    current: RwLock<Arc<RbacSnapshot>>,
}

impl Rbac {
    /// A source that begins with the given snapshot.
    pub fn new(snapshot: RbacSnapshot) -> Rbac {
        Rbac { current: RwLock::new(Arc::new(snapshot)) }
    }

    /// Makes the snapshot the current one.
    pub fn publish(&self, snapshot: RbacSnapshot) {
        let snapshot = Arc::new(snapshot);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl RbacSource for Rbac {
    fn snapshot(&self) -> Arc<RbacSnapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
