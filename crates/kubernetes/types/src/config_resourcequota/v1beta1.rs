//! Types of `resourcequota.admission.k8s.io/v1beta1`: the configuration of the resource quota admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::core::v1::ScopedResourceSelectorRequirement;
use crate::meta::v1::TypeMeta;

/// Resources that may only be consumed under a quota.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Resources limited in this way.
    #[k8s(optional, always)]
    pub limited_resources: Vec<LimitedResource>,
}

/// Resource refused unless some quota covers it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitedResource {
    /// API group of the resource.
    #[k8s(optional)]
    pub api_group: String,
    /// Resource in plural, such as pods.
    #[k8s(always)]
    pub resource: String,
    /// Limits consumption whose tracked resource name contains one of these texts.
    pub match_contains: Vec<String>,
    /// Limits consumption by objects within these scopes.
    #[k8s(optional)]
    pub match_scopes: Vec<ScopedResourceSelectorRequirement>,
}
