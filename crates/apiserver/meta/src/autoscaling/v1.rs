//! The part of `autoscaling/v1` that any resource can have: the scale subresource.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::{ObjectMeta, TypeMeta};

/// Replica count of a workload, read and set through its scale subresource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted replica count.
    #[k8s(proto = 2, optional)]
    pub spec: ScaleSpec,
    /// Present replica count.
    #[k8s(proto = 3, optional)]
    pub status: ScaleStatus,
}

/// Replica count wanted.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleSpec {
    /// Number of instances wanted.
    #[k8s(proto = 1, optional, default = 0, published = default, minimum = 0)]
    pub replicas: i32,
}

/// Replica count found.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleStatus {
    /// Number of instances existing now.
    #[k8s(proto = 1, always)]
    pub replicas: i32,
    /// Label query, as text, matching the pods that are counted.
    #[k8s(proto = 2, optional)]
    pub selector: String,
}
