//! Types of `rbac.authorization.k8s.io/v1alpha1`: roles and their bindings.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, same_as};

use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1beta1::{RoleRef} }

same_as! {
    super::v1::{
        AggregationRule, ClusterRole, ClusterRoleBinding, ClusterRoleBindingList, ClusterRoleList, Role, RoleBinding,
        RoleBindingList, RoleList
    }
}

/// A set of permitted actions on resources or URLs; rules only ever grant.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyRule {
    /// Actions permitted, such as get, list or create; `*` stands for all.
    #[k8s(proto = 1, published = required, always, list_type = atomic)]
    pub verbs: Vec<String>,
    /// API groups of the resources; an empty string is the core group, `*` any.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub api_groups: Vec<String>,
    /// Resources or subresources the rule applies to; `*` stands for all.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub resources: Vec<String>,
    /// Limits the rule to objects with these names; empty means any name.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub resource_names: Vec<String>,
    /// URL paths outside the resource API, such as /healthz; cluster roles only.
    #[k8s(proto = 6, name = "nonResourceURLs", optional, list_type = atomic)]
    pub non_resource_urls: Vec<String>,
}

/// User, group or service account that receives the permissions of a role.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// Type of subject: User, Group or ServiceAccount.
    #[k8s(proto = 1, published = required, always)]
    pub kind: String,
    /// API group and version of the subject, as written in this older version.
    #[k8s(proto = 2, optional)]
    pub api_version: String,
    /// Name of the user, group or service account.
    #[k8s(proto = 3, published = required, always)]
    pub name: String,
    /// Namespace of a service account; not allowed for users and groups.
    #[k8s(proto = 4, optional)]
    pub namespace: String,
}
