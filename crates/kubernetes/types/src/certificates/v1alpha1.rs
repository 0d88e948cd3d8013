//! Types of `certificates.k8s.io/v1alpha1`: certificate signing requests and trust bundles.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Cluster-wide collection of trusted root certificates.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundle {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Certificates and the signer they belong to.
    #[k8s(proto = 2, always)]
    pub spec: ClusterTrustBundleSpec,
}

/// Trust anchors, optionally tied to a signer.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundleSpec {
    /// Signer these roots belong to; the object name must then start with it.
    #[k8s(proto = 1, optional)]
    pub signer_name: String,
    /// PEM blocks with the trusted X.509 certificates.
    #[k8s(proto = 2, always)]
    pub trust_bundle: String,
}

/// Collection of cluster trust bundles.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundleList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ClusterTrustBundle objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ClusterTrustBundle>,
}
