//! Types of `apiserver.config.k8s.io/v1`: the configuration of the admission policy plugins.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::TypeMeta;

/// Settings for validating admission policies read from files.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicyConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Directory with policies and bindings loaded from disk.
    #[k8s(optional)]
    pub static_manifests_dir: String,
}

/// Settings for mutating admission policies read from files.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingAdmissionPolicyConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Directory with policies and bindings loaded from disk.
    #[k8s(optional)]
    pub static_manifests_dir: String,
}
