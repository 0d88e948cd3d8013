//! Types of `resource.k8s.io/v1`: the devices that drivers publish.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time, string_type};

use crate::core::v1::NodeSelector;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Devices that a driver offers, published as part of a pool.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "resourceslices", cluster))]
pub struct ResourceSlice {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Pool, reachable nodes and devices.
    #[k8s(proto = 2, published = required, always)]
    pub spec: ResourceSliceSpec,
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
    pub node_name: Option<String>,
    /// Nodes able to use the devices, given as one selector term.
    #[k8s(proto = 4, optional)]
    pub node_selector: Option<NodeSelector>,
    /// Whether every node can use the devices.
    #[k8s(proto = 5, optional)]
    pub all_nodes: Option<bool>,
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

/// Named set of budgets, such as the memory of one physical card.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CounterSet {
    /// Name of the set, unique within its pool.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub name: String,
    /// Budgets by name; up to 32.
    #[k8s(proto = 2, required, max_items = 32, each_key(format = "dns1123-label"))]
    pub counters: BTreeMap<String, Counter>,
}

/// Pool to which a slice belongs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePool {
    /// Name of the pool, often that of a node.
    #[k8s(proto = 1, published = required, always)]
    pub name: String,
    /// Rises with every change of the pool; older slices are ignored.
    #[k8s(
        proto = 2,
        published = required,
        always,
        message(invalid = "must be greater than or equal to zero")(minimum = 0)
    )]
    pub generation: i64,
    /// How many slices make the pool complete in this generation.
    #[k8s(proto = 3, published = required, always, message(invalid = "must be greater than zero")(minimum = 1))]
    pub resource_slice_count: i64,
}

/// One device offered for allocation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Name of the device, unique in its pool; a DNS label.
    #[k8s(proto = 1, published = required, always, format = "dns1123-label")]
    pub name: String,
    /// Properties to select by, such as model or driver version.
    #[k8s(proto = 2, optional)]
    pub attributes: BTreeMap<String, DeviceAttribute>,
    /// Amounts the device provides, such as memory.
    #[k8s(proto = 3, optional)]
    pub capacity: BTreeMap<String, DeviceCapacity>,
    /// What the device takes from shared budgets when allocated.
    #[k8s(proto = 4, optional, list_type = atomic, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES, max_items = 2)]
    pub consumes_counters: Vec<DeviceCounterConsumption>,
    /// Node able to use the device, when nodes differ by device.
    #[k8s(proto = 5, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub node_name: Option<String>,
    /// Nodes able to use the device, when nodes differ by device.
    #[k8s(proto = 6, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub node_selector: Option<NodeSelector>,
    /// Whether every node can use the device, when nodes differ by device.
    #[k8s(proto = 7, optional, gate = pintle_gates::DRA_PARTITIONABLE_DEVICES)]
    pub all_nodes: Option<bool>,
    /// Marks that keep claims without matching toleration away; up to 16.
    #[k8s(proto = 8, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS, max_items = 16)]
    pub taints: Vec<DeviceTaint>,
    /// Whether allocating the device ties its claim to the chosen node.
    #[k8s(
        proto = 9,
        optional,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binds_to_node: Option<bool>,
    /// Condition types that must become true before the pod is bound; up to four.
    #[k8s(
        proto = 10,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_conditions: Vec<String>,
    /// Condition types which, once true, mean that preparing the device failed.
    #[k8s(
        proto = 11,
        optional,
        list_type = atomic,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub binding_failure_conditions: Vec<String>,
    /// Whether several claims may share the device at the same time.
    #[k8s(proto = 12, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub allow_multiple_allocations: Option<bool>,
    /// Node resources, like cpu or memory, that using the device also takes up.
    #[k8s(proto = 13, optional, gate = pintle_gates::DRA_NODE_ALLOCATABLE_RESOURCES)]
    pub node_allocatable_resource_mappings: BTreeMap<String, NodeAllocatableResourceMapping>,
}

/// How a device's use converts into a node resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeAllocatableResourceMapping {
    /// Capacity of the device whose consumed amount is converted.
    #[k8s(proto = 1, optional)]
    pub capacity_key: Option<QualifiedName>,
    /// Factor applied to the capacity, or plain amount per device without one; 1 when unset.
    #[k8s(proto = 2, optional, default = "1")]
    pub allocation_multiplier: Option<Quantity>,
}

/// What a device takes from one counter set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceCounterConsumption {
    /// Name of the set drawn from.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub counter_set: String,
    /// Amounts taken, by counter name.
    #[k8s(proto = 2, required, max_items = 32, each_key(format = "dns1123-label"))]
    pub counters: BTreeMap<String, Counter>,
}

/// An amount provided by a device and rules for sharing it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceCapacity {
    /// Total amount available.
    #[k8s(proto = 1, published = required, always)]
    pub value: Quantity,
    /// Which portions may be requested; only for devices that can be shared.
    #[k8s(proto = 2, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub request_policy: Option<CapacityRequestPolicy>,
}

/// Amount of one budget.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// How much there is or is taken.
    #[k8s(proto = 1, published = required, always)]
    pub value: Quantity,
}

/// Portions of a shared capacity that may be requested.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CapacityRequestPolicy {
    /// Portion taken when the claim names none.
    #[k8s(proto = 1, optional, always)]
    pub default: Option<Quantity>,
    /// Permitted portions, ascending; requests round up to the next one.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub valid_values: Vec<Quantity>,
    /// Permitted portions as a range; excludes a list of values.
    #[k8s(proto = 4, optional)]
    pub valid_range: Option<CapacityRequestPolicyRange>,
}

/// Range of permitted portions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CapacityRequestPolicyRange {
    /// Smallest portion.
    #[k8s(proto = 1, published = required)]
    pub min: Option<Quantity>,
    /// Largest portion; no limit but the capacity when unset.
    #[k8s(proto = 2, optional)]
    pub max: Option<Quantity>,
    /// Increment between permitted portions, counted from the smallest.
    #[k8s(proto = 3, optional)]
    pub step: Option<Quantity>,
}

/// Identifier with optional domain; without one the driver's domain is meant.
pub type QualifiedName = String;

/// Identifier that always includes its domain, as domain/name.
pub type FullyQualifiedName = String;

/// Value of a device property; exactly one field is filled.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceAttribute {
    /// Whole number value.
    #[k8s(proto = 2, optional)]
    pub int: Option<i64>,
    /// True or false value.
    #[k8s(proto = 3, optional)]
    pub bool: Option<bool>,
    /// Text value of at most 64 characters.
    #[k8s(proto = 4, optional)]
    pub string: Option<String>,
    /// Semantic version value of at most 64 characters.
    #[k8s(proto = 5, optional)]
    pub version: Option<String>,
    /// List of whole numbers.
    #[k8s(proto = 6, optional, list_type = atomic, gate = pintle_gates::DRA_LIST_TYPE_ATTRIBUTES)]
    pub ints: Vec<i64>,
    /// List of true or false values.
    #[k8s(proto = 7, optional, list_type = atomic, gate = pintle_gates::DRA_LIST_TYPE_ATTRIBUTES)]
    pub bools: Vec<bool>,
    /// List of texts.
    #[k8s(proto = 8, optional, list_type = atomic, gate = pintle_gates::DRA_LIST_TYPE_ATTRIBUTES)]
    pub strings: Vec<String>,
    /// List of semantic versions.
    #[k8s(proto = 9, optional, list_type = atomic, gate = pintle_gates::DRA_LIST_TYPE_ATTRIBUTES)]
    pub versions: Vec<String>,
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

/// Collection of resource slices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceSliceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ResourceSlice objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ResourceSlice>,
}

/// Amounts needed from a device.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CapacityRequirements {
    /// Amount by capacity name; devices offering less do not qualify.
    #[k8s(proto = 1, optional)]
    pub requests: BTreeMap<String, Quantity>,
}
