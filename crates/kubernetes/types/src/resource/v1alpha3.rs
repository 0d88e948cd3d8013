//! Types of `resource.k8s.io/v1alpha3`: devices, classes of them and claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

/// Condition for choosing devices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceSelector {
    /// Condition given as CEL expression.
    #[k8s(proto = 1, optional)]
    pub cel: Option<CELDeviceSelector>,
}

/// Device condition in CEL.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CELDeviceSelector {
    /// CEL expression over `device`, yielding true for suitable devices.
    #[k8s(proto = 1, published = required, always)]
    pub expression: String,
}

/// Mark on a device that repels claims without a matching toleration.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceTaint {
    /// Label key of the taint.
    #[k8s(proto = 1, published = required, always, format = "k8s-label-key")]
    pub key: String,
    /// Label value of the taint.
    #[k8s(proto = 2, optional, format = "k8s-label-value")]
    pub value: String,
    /// What happens to claims that do not tolerate it.
    #[k8s(proto = 3, always, required, enum)]
    pub effect: DeviceTaintEffect,
    /// When the taint appeared; filled in when missing.
    #[k8s(proto = 4, optional)]
    pub time_added: Option<Time>,
}

string_type! {
    /// Consequence of a device taint for claims without toleration.
    #[closed]
    pub DeviceTaintEffect {
        /// Informational only.
        NONE = "None",
        /// The device gets no new allocations.
        NO_SCHEDULE = "NoSchedule",
        /// As above, and pods using the device are evicted.
        NO_EXECUTE = "NoExecute",
    }
}

/// Adds a taint to all devices matching a selection.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceTaintRule {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Devices chosen and taint to add.
    #[k8s(proto = 2, published = required, always)]
    pub spec: DeviceTaintRuleSpec,
    /// What the rule has brought about.
    #[k8s(proto = 3, optional)]
    pub status: DeviceTaintRuleStatus,
}

/// Devices chosen and taint to add.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceTaintRuleSpec {
    /// Devices to taint; all fields given must match, none match when unset.
    #[k8s(proto = 1, optional)]
    pub device_selector: Option<DeviceTaintSelector>,
    /// Taint that is added.
    #[k8s(proto = 2, published = required)]
    pub taint: DeviceTaint,
}

/// Chooses devices by driver, pool and name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 1, name = "deviceClassName"))]
#[k8s(reserved(proto = 5, name = "selectors"))]
pub struct DeviceTaintSelector {
    /// Only devices of this driver.
    #[k8s(proto = 2, optional)]
    pub driver: Option<String>,
    /// Only devices from this pool.
    #[k8s(proto = 3, optional)]
    pub pool: Option<String>,
    /// Only devices with this name.
    #[k8s(proto = 4, optional, format = "dns1123-label")]
    pub device: Option<String>,
}

/// Observed state of a taint rule.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceTaintRuleStatus {
    /// Latest observations, such as progress of evictions.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type",
        last(max_items = 8)
    )]
    pub conditions: Vec<Condition>,
}

/// Collection of device taint rules.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceTaintRuleList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The DeviceTaintRule objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<DeviceTaintRule>,
}

/// Asks once for an overview of the device pools of a driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
