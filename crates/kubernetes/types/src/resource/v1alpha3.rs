//! Types of `resource.k8s.io/v1alpha3`: devices, classes of them and claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, same_as};

use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{CELDeviceSelector, DeviceSelector, DeviceTaint, DeviceTaintEffect} }

same_as! {
    super::v1beta2::{
        DeviceTaintRule, DeviceTaintRuleList, DeviceTaintRuleSpec, DeviceTaintRuleStatus, DeviceTaintSelector
    }
}

/// Asks once for an overview of the device pools of a driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "resourcepoolstatusrequests", cluster))]
pub struct ResourcePoolStatusRequest {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, published = required)]
    pub metadata: ObjectMeta,
    /// Driver and pools in question; immutable.
    #[k8s(proto = 2, published = required, always, immutable)]
    pub spec: ResourcePoolStatusRequestSpec,
    /// Overview, filled in by a controller.
    #[k8s(proto = 3, optional)]
    pub status: Option<ResourcePoolStatusRequestStatus>,
}

/// Driver and pools in question.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePoolStatusRequestSpec {
    /// Driver whose pools are examined.
    #[k8s(proto = 1, always, required, format = "k8s-long-name-caseless")]
    pub driver: String,
    /// Only the pool with this name; all pools when unset.
    #[k8s(proto = 2, optional)]
    pub pool_name: Option<String>,
    /// Most pools to include in the answer, 1 to 1000; 100 when unset.
    #[k8s(proto = 3, optional, default = 100, published = default, minimum = 1, maximum = 1000)]
    pub limit: Option<i32>,
}

/// Overview of device pools.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePoolStatusRequestStatus {
    /// Pools matching the request, including those cut off by the limit.
    #[k8s(proto = 6, required, minimum = 0)]
    pub pool_count: Option<i32>,
    /// One entry for each pool.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 1000)]
    pub pools: Vec<PoolStatus>,
    /// Whether the overview was completed or has failed.
    #[k8s(
        proto = 3,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type",
        max_items = 10, unique
    )]
    pub conditions: Vec<Condition>,
}

/// Usage of one device pool.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PoolStatus {
    /// Driver the pool belongs to.
    #[k8s(proto = 1, required, format = "k8s-long-name-caseless")]
    pub driver: String,
    /// Name of the pool.
    #[k8s(proto = 2, required)]
    pub pool_name: String,
    /// Newest generation of the pool seen.
    #[k8s(proto = 9, always, required, minimum = 0)]
    pub generation: i64,
    /// Slices that make up the pool.
    #[k8s(proto = 8, optional, minimum = 1)]
    pub resource_slice_count: Option<i32>,
    /// Devices in the pool altogether.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub total_devices: Option<i32>,
    /// Devices currently given to claims.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub allocated_devices: Option<i32>,
    /// Devices that could still be allocated.
    #[k8s(proto = 6, optional, minimum = 0)]
    pub available_devices: Option<i32>,
    /// Devices neither in use nor usable, for instance because of taints.
    #[k8s(proto = 7, optional, minimum = 0)]
    pub unavailable_devices: Option<i32>,
    /// Node the pool is tied to, if any.
    #[k8s(proto = 3, optional, format = "k8s-long-name")]
    pub node_name: Option<String>,
    /// Why the pool's figures cannot be trusted, such as missing slices.
    #[k8s(proto = 10, optional, max_bytes = 256)]
    pub validation_error: Option<String>,
}

/// Collection of pool status requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePoolStatusRequestList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ResourcePoolStatusRequest objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ResourcePoolStatusRequest>,
}
