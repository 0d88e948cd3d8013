//! Types of `node.k8s.io/v1alpha1`: runtime classes.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, same_as};

use crate::core::v1::{ResourceList, Toleration};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{Overhead, RuntimeClassList, Scheduling} }

/// Names a container runtime setup that pods can request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "node.k8s.io", plural = "runtimeclasses", cluster))]
pub struct RuntimeClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Runtime, overhead and placement settings.
    #[k8s(proto = 2, published = required, always)]
    pub spec: RuntimeClassSpec,
}

/// Settings of a runtime class in the alpha layout.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RuntimeClassSpec {
    /// Runtime configuration on the node that runs such pods; immutable.
    #[k8s(proto = 1, published = required, always)]
    pub runtime_handler: String,
    /// Extra resources used by running a pod with this runtime.
    #[k8s(proto = 2, optional)]
    pub overhead: Option<Overhead>,
    /// Keeps pods on nodes that support this runtime.
    #[k8s(proto = 3, optional)]
    pub scheduling: Option<Scheduling>,
}
