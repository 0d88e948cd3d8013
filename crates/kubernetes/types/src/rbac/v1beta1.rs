//! Types of `rbac.authorization.k8s.io/v1beta1`: roles and their bindings.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, same_as};

use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        AggregationRule, ClusterRole, ClusterRoleBinding, ClusterRoleBindingList, ClusterRoleList, PolicyRule, Role,
        RoleBinding, RoleBindingList, RoleList
    }
}

/// User, group or service account that receives the permissions of a role.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// Type of subject: User, Group or ServiceAccount.
    #[k8s(proto = 1, published = required, always)]
    pub kind: String,
    /// API group of the subject; empty for service accounts, rbac.authorization.k8s.io otherwise.
    #[k8s(proto = 2, optional)]
    pub api_group: String,
    /// Name of the user, group or service account.
    #[k8s(proto = 3, published = required, always)]
    pub name: String,
    /// Namespace of a service account; not allowed for users and groups.
    #[k8s(proto = 4, optional)]
    pub namespace: String,
}

/// Points at the role a binding grants.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RoleRef {
    /// API group of the role, rbac.authorization.k8s.io.
    #[k8s(proto = 1, optional, always, default = "rbac.authorization.k8s.io")]
    pub api_group: String,
    /// Role or ClusterRole.
    #[k8s(proto = 2, published = required, always)]
    pub kind: String,
    /// Name of the role being granted.
    #[k8s(proto = 3, published = required, always)]
    pub name: String,
}
