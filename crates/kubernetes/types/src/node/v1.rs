//! Types of `node.k8s.io/v1`: runtime classes.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::ApiType;

use crate::core::v1::{ResourceList, Toleration};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

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
    /// Runtime configuration on the node that runs such pods; immutable.
    #[k8s(proto = 2, required, always, format = "dns1123-label")]
    pub handler: String,
    /// Extra resources used by running a pod with this runtime.
    #[k8s(proto = 3, optional)]
    pub overhead: Option<Overhead>,
    /// Keeps pods on nodes that support this runtime.
    #[k8s(proto = 4, optional)]
    pub scheduling: Option<Scheduling>,
}

/// Resource cost added by running a pod, on top of its containers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Constant amount of each resource added per pod.
    #[k8s(proto = 1, optional)]
    pub pod_fixed: ResourceList,
}

/// Placement constraints for pods using a runtime class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Scheduling {
    /// Labels of supporting nodes; merged into the selector of the pod.
    #[k8s(proto = 1, optional, map_type = atomic)]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations added to pods of the class at admission.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub tolerations: Vec<Toleration>,
}

/// Collection of runtime classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RuntimeClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The RuntimeClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<RuntimeClass>,
}
