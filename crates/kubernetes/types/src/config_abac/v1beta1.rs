//! Types of `abac.authorization.kubernetes.io/v1beta1`: lines of an attribute-based authorization file.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::TypeMeta;

/// One line of an attribute-based authorization file.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Who may do what.
    #[k8s(always)]
    pub spec: PolicySpec,
}

/// Who may do what; every property given must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicySpec {
    /// User granted access; `*` for everyone logged in.
    #[k8s(optional)]
    pub user: String,
    /// Group granted access; `*` for everyone logged in.
    #[k8s(optional)]
    pub group: String,
    /// Whether only get, list and watch are permitted.
    #[k8s(optional)]
    pub readonly: bool,
    /// API group covered; `*` for all.
    #[k8s(optional)]
    pub api_group: String,
    /// Resource covered; `*` for all.
    #[k8s(optional)]
    pub resource: String,
    /// Namespace covered; `*` for all.
    #[k8s(optional)]
    pub namespace: String,
    /// Plain URL path covered; a trailing `*` includes everything below.
    #[k8s(optional)]
    pub non_resource_path: String,
}
