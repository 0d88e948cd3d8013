//! Types of `scheduling.k8s.io/v1`: priority classes and groups of pods that are scheduled together.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::core::v1::PreemptionPolicy;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Named importance level that pods can refer to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "scheduling.k8s.io", plural = "priorityclasses", short_names("pc"), cluster))]
pub struct PriorityClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Priority number given to pods of this class; larger is more important.
    #[k8s(proto = 2, optional, always)]
    pub value: i32,
    /// Whether pods naming no class receive this one.
    #[k8s(proto = 3, optional)]
    pub global_default: bool,
    /// Free text explaining when to use the class.
    #[k8s(proto = 4, optional)]
    pub description: String,
    /// Whether pods of this class may displace less important pods.
    #[k8s(proto = 5, optional, default = "PreemptLowerPriority")]
    pub preemption_policy: Option<PreemptionPolicy>,
}

/// Collection of priority classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PriorityClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PriorityClass>,
}
