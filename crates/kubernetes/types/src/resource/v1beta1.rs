//! Types of `resource.k8s.io/v1beta1`: devices, classes of them and claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, RawExtension, Time, same_as};

use crate::core::v1::NodeSelector;
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        AllocatedDeviceStatus, AllocationConfigSource, AllocationResult, CELDeviceSelector, CapacityRequestPolicy,
        CapacityRequestPolicyRange, CapacityRequirements, Counter, CounterSet, DeviceAllocationConfiguration,
        DeviceAllocationMode, DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim,
        DeviceClaimConfiguration, DeviceClass, DeviceClassConfiguration, DeviceClassList, DeviceClassSpec,
        DeviceConfiguration, DeviceConstraint, DeviceCounterConsumption, DeviceSelector, DeviceTaint,
        DeviceTaintEffect, DeviceToleration, DeviceTolerationOperator, NetworkDeviceData,
        NodeAllocatableResourceMapping, OpaqueDeviceConfiguration, ResourceClaim, ResourceClaimConsumerReference,
        ResourceClaimList, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate, ResourceClaimTemplateList,
        ResourceClaimTemplateSpec, ResourcePool, ResourceSlice, ResourceSliceList
    }
}

/// One device received in answer to a request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceRequestAllocationResult {
    /// Request it answers, or request/alternative.
    #[k8s(proto = 1, published = required, always)]
    pub request: String,
    /// Driver responsible for the device.
    #[k8s(proto = 2, published = required, always)]
    pub driver: String,
    /// Pool the device comes from.
    #[k8s(proto = 3, published = required, always)]
    pub pool: String,
    /// Name of the device in that pool.
    #[k8s(proto = 4, published = required, always, format = "dns1123-label")]
    pub device: String,
    /// Whether it was received with administrative access.
    #[k8s(proto = 5, optional, gate = pintle_gates::DRA_ADMIN_ACCESS)]
    pub admin_access: Option<bool>,
    /// Tolerations copied from the request.
    #[k8s(proto = 6, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
    pub tolerations: Vec<DeviceToleration>,
    /// Binding conditions copied from the device.
    #[k8s(
        proto = 7,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_conditions: Vec<String>,
    /// Binding failure conditions copied from the device.
    #[k8s(
        proto = 8,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_failure_conditions: Vec<String>,
    /// Identifies this share of a device given to several claims.
    #[k8s(proto = 9, name = "shareID", optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub share_id: Option<String>,
    /// Amounts taken from a shared device.
    #[k8s(proto = 10, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub consumed_capacity: BTreeMap<String, Quantity>,
}

/// One request, either exact or as a list of alternatives.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceRequest {
    /// Name used to refer to the request, unique in the claim.
    #[k8s(proto = 1, always, format = "dns1123-label", published = required)]
    pub name: String,
    /// Device class the devices must belong to; excludes alternatives.
    #[k8s(proto = 2, optional, always, format = "dns1123-subdomain")]
    pub device_class_name: String,
    /// Conditions a device has to meet, all of them.
    #[k8s(proto = 3, optional, list_type = atomic, max_items = 32)]
    pub selectors: Vec<DeviceSelector>,
    /// Whether to take a fixed number or all; ExactCount when unset.
    #[k8s(proto = 4, optional, enum)]
    pub allocation_mode: DeviceAllocationMode,
    /// Number of devices wanted; 1 when unset.
    #[k8s(proto = 5, optional)]
    pub count: i64,
    /// Reaches devices already in use, for monitoring; needs a labelled namespace.
    #[k8s(proto = 6, optional, gate = pintle_gates::DRA_ADMIN_ACCESS)]
    pub admin_access: Option<bool>,
    /// Alternatives in order of preference; the first one possible is taken.
    #[k8s(proto = 7, list_type = atomic, gate = pintle_gates::DRA_PRIORITIZED_LIST, optional, max_items = 8)]
    pub first_available: Vec<DeviceSubRequest>,
    /// Device taints this request puts up with.
    #[k8s(proto = 8, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
    pub tolerations: Vec<DeviceToleration>,
    /// Amounts needed from each device.
    #[k8s(proto = 9, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub capacity: Option<CapacityRequirements>,
}

/// One alternative within a prioritised request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceSubRequest {
    /// Name of the alternative; referred to as request/alternative.
    #[k8s(proto = 1, always, format = "dns1123-label", published = required)]
    pub name: String,
    /// Device class the devices must belong to.
    #[k8s(proto = 2, always, required, format = "dns1123-subdomain")]
    pub device_class_name: String,
    /// Conditions a device has to meet, all of them.
    #[k8s(proto = 3, list_type = atomic, optional, max_items = 32)]
    pub selectors: Vec<DeviceSelector>,
    /// Whether to take a fixed number or all; ExactCount when unset.
    #[k8s(proto = 4, default = "ExactCount", optional, enum)]
    pub allocation_mode: DeviceAllocationMode,
    /// Number of devices wanted; 1 when unset.
    #[k8s(proto = 5, optional)]
    pub count: i64,
    /// Device taints this alternative puts up with.
    #[k8s(proto = 7, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
    pub tolerations: Vec<DeviceToleration>,
    /// Amounts needed from each device.
    #[k8s(proto = 8, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub capacity: Option<CapacityRequirements>,
}

/// Pool membership, reachability and content of a slice.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceSliceSpec {
    /// Driver that publishes the slice, as DNS name; cannot change later.
    #[k8s(proto = 1, published = required, always)]
    pub driver: String,
    /// Pool this slice is part of.
    #[k8s(proto = 2, published = required, always)]
    pub pool: ResourcePool,
    /// Only this node can use the devices; cannot change later.
    #[k8s(proto = 3, optional)]
    pub node_name: String,
    /// Nodes able to use the devices, given as one selector term.
    #[k8s(proto = 4, optional)]
    pub node_selector: Option<NodeSelector>,
    /// Whether every node can use the devices.
    #[k8s(proto = 5, optional)]
    pub all_nodes: bool,
    /// Devices offered; the permitted number depends on features used.
    #[k8s(proto = 6, optional, list_type = atomic)]
    pub devices: Vec<Device>,
    /// Whether each device states its own reachable nodes.
    #[k8s(proto = 7, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub per_device_node_selection: Option<bool>,
    /// Budgets that several devices of the pool draw from.
    #[k8s(proto = 8, optional, list_type = atomic, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES, max_items = 8)]
    pub shared_counters: Vec<CounterSet>,
}

/// One device offered for allocation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Name of the device, unique in its pool; a DNS label.
    #[k8s(proto = 1, published = required, always, format = "dns1123-label")]
    pub name: String,
    /// Body of the device in the older nested layout.
    #[k8s(proto = 2, optional)]
    pub basic: Option<BasicDevice>,
}

/// Body of a device in the older nested layout.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct BasicDevice {
    /// Properties to select by, such as model or driver version.
    #[k8s(proto = 1, optional)]
    pub attributes: BTreeMap<String, DeviceAttribute>,
    /// Amounts the device provides, such as memory.
    #[k8s(proto = 2, optional)]
    pub capacity: BTreeMap<String, DeviceCapacity>,
    /// What the device takes from shared budgets when allocated.
    #[k8s(proto = 3, optional, list_type = atomic, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES, max_items = 2)]
    pub consumes_counters: Vec<DeviceCounterConsumption>,
    /// Node able to use the device, when nodes differ by device.
    #[k8s(proto = 4, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub node_name: Option<String>,
    /// Nodes able to use the device, when nodes differ by device.
    #[k8s(proto = 5, optional)]
    pub node_selector: Option<NodeSelector>,
    /// Whether every node can use the device, when nodes differ by device.
    #[k8s(proto = 6, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub all_nodes: Option<bool>,
    /// Marks that keep claims without matching toleration away.
    #[k8s(proto = 7, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS, max_items = 16)]
    pub taints: Vec<DeviceTaint>,
    /// Whether allocating the device ties its claim to the chosen node.
    #[k8s(
        proto = 8,
        optional,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binds_to_node: Option<bool>,
    /// Condition types that must become true before the pod is bound.
    #[k8s(
        proto = 9,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_conditions: Vec<String>,
    /// Condition types which, once true, mean that preparing the device failed.
    #[k8s(
        proto = 10,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_failure_conditions: Vec<String>,
    /// Whether several claims may share the device at the same time.
    #[k8s(proto = 11, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub allow_multiple_allocations: Option<bool>,
    /// Node resources, like cpu or memory, that using the device also takes up.
    #[k8s(proto = 12, optional, gate = pintle_gates::DRA_NODE_ALLOCATABLE_RESOURCES)]
    pub node_allocatable_resource_mappings: BTreeMap<String, NodeAllocatableResourceMapping>,
}

/// Identifier with optional domain; without one the driver's domain is meant.
pub type QualifiedName = String;

/// Identifier that always includes its domain, as domain/name.
pub type FullyQualifiedName = String;
