//! Types of `resource.k8s.io/v1beta2`: devices, classes of them and claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, RawExtension, Time, same_as};

use crate::core::v1::NodeSelector;
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        AllocatedDeviceStatus, AllocationConfigSource, AllocationResult, CELDeviceSelector, CapacityRequestPolicy,
        CapacityRequestPolicyRange, CapacityRequirements, Counter, CounterSet, Device, DeviceAllocationConfiguration,
        DeviceAllocationMode, DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim,
        DeviceClaimConfiguration, DeviceClass, DeviceClassConfiguration, DeviceClassList, DeviceClassSpec,
        DeviceConfiguration, DeviceConstraint, DeviceCounterConsumption, DeviceRequest,
        DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest, DeviceTaint, DeviceTaintEffect,
        DeviceToleration, DeviceTolerationOperator, ExactDeviceRequest, NetworkDeviceData,
        NodeAllocatableResourceMapping, OpaqueDeviceConfiguration, ResourceClaim, ResourceClaimConsumerReference,
        ResourceClaimList, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate, ResourceClaimTemplateList,
        ResourceClaimTemplateSpec, ResourcePool, ResourceSlice, ResourceSliceList, ResourceSliceSpec
    }
}

/// Identifier with optional domain; without one the driver's domain is meant.
pub type QualifiedName = String;

/// Identifier that always includes its domain, as domain/name.
pub type FullyQualifiedName = String;

/// Adds a taint to all devices matching a selection.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "devicetaintrules", cluster))]
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
