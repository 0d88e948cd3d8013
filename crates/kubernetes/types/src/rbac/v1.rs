//! Types of `rbac.authorization.k8s.io/v1`: roles and their bindings.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// A set of permitted actions on resources or URLs; rules only ever grant.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyRule {
    /// Actions permitted, such as get, list or create; `*` stands for all.
    #[k8s(proto = 1, always, list_type = atomic, required = "verbs must contain at least one value")]
    pub verbs: Vec<String>,
    /// API groups of the resources; an empty string is the core group, `*` any.
    #[k8s(
        proto = 2,
        published = optional,
        list_type = atomic,
        when_unset(nonResourceURLs)(required = "resource rules must supply at least one api group")
    )]
    pub api_groups: Vec<String>,
    /// Resources or subresources the rule applies to; `*` stands for all.
    #[k8s(
        proto = 3,
        published = optional,
        list_type = atomic,
        when_unset(nonResourceURLs)(required = "resource rules must supply at least one resource")
    )]
    pub resources: Vec<String>,
    /// Limits the rule to objects with these names; empty means any name.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub resource_names: Vec<String>,
    /// URL paths outside the resource API, such as /healthz; cluster roles only.
    #[k8s(proto = 5, name = "nonResourceURLs", optional, list_type = atomic)]
    pub non_resource_urls: Vec<String>,
}

/// User, group or service account that receives the permissions of a role.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct Subject {
    /// Type of subject: User, Group or ServiceAccount.
    #[k8s(proto = 1, published = required, always, enum("ServiceAccount", "User", "Group"))]
    pub kind: String,
    /// API group of the subject; empty for service accounts, rbac.authorization.k8s.io otherwise.
    #[k8s(
        proto = 2,
        published = optional,
        when(kind = "ServiceAccount")(optional, enum("")),
        when(kind = "User|Group")(enum("rbac.authorization.k8s.io"))
    )]
    pub api_group: String,
    /// Name of the user, group or service account.
    #[k8s(proto = 3, always, required, when(kind = "ServiceAccount")(format = "dns1123-subdomain"))]
    pub name: String,
    /// Namespace of a service account; not allowed for users and groups.
    #[k8s(proto = 4, published = optional)]
    pub namespace: String,
}

/// Points at the role a binding grants.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct RoleRef {
    /// API group of the role, rbac.authorization.k8s.io.
    #[k8s(proto = 1, optional, always, default = "rbac.authorization.k8s.io", enum("rbac.authorization.k8s.io"))]
    pub api_group: String,
    /// Role or ClusterRole.
    #[k8s(proto = 2, published = required, always)]
    pub kind: String,
    /// Name of the role being granted.
    #[k8s(proto = 3, always, required, format = "k8s-path-segment-name")]
    pub name: String,
}

/// Named set of permissions within a single namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "rbac.authorization.k8s.io", plural = "roles", namespaced))]
pub struct Role {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Everything the role permits.
    #[k8s(proto = 2, optional, always, list_type = atomic)]
    pub rules: Vec<PolicyRule>,
}

/// Grants a role's permissions to subjects within one namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "rbac.authorization.k8s.io", plural = "rolebindings", namespaced))]
pub struct RoleBinding {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Who receives the permissions.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub subjects: Vec<Subject>,
    /// Role from this namespace, or cluster role, being granted; cannot change later.
    #[k8s(proto = 3, published = required, always)]
    pub role_ref: RoleRef,
}

/// Collection of role bindings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RoleBindingList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The RoleBinding objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<RoleBinding>,
}

/// Collection of roles.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RoleList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Role objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Role>,
}

/// Named set of permissions usable cluster-wide or through bindings in namespaces.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "rbac.authorization.k8s.io", plural = "clusterroles", cluster))]
pub struct ClusterRole {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Everything the role permits; managed by a controller when aggregation is set.
    #[k8s(proto = 2, optional, always, list_type = atomic)]
    pub rules: Vec<PolicyRule>,
    /// Fills the rules automatically from other cluster roles picked by label.
    #[k8s(proto = 3, optional)]
    pub aggregation_rule: Option<AggregationRule>,
}

/// Describes which cluster roles are merged into this one.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AggregationRule {
    /// Label selectors; a cluster role matching any of them contributes its rules.
    #[k8s(
        proto = 1,
        required = "at least one clusterRoleSelector required if aggregationRule is non-nil",
        published = optional,
        list_type = atomic
    )]
    pub cluster_role_selectors: Vec<LabelSelector>,
}

/// Grants a cluster role to subjects across the entire cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "rbac.authorization.k8s.io", plural = "clusterrolebindings", cluster))]
pub struct ClusterRoleBinding {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Who receives the permissions.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub subjects: Vec<Subject>,
    /// Cluster role being granted; cannot change later.
    #[k8s(proto = 3, published = required, always)]
    pub role_ref: RoleRef,
}

/// Collection of cluster role bindings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterRoleBindingList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ClusterRoleBinding objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ClusterRoleBinding>,
}

/// Collection of cluster roles.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterRoleList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ClusterRole objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ClusterRole>,
}
