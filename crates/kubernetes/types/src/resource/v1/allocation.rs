//! Types of `resource.k8s.io/v1`: devices given to a claim.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, RawExtension, Time, string_type};

use super::{DeviceConfiguration, DeviceToleration};
use crate::core::v1::NodeSelector;
use crate::meta::v1::Condition;

/// Outcome of a claim and its users.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 3, name = "deallocationRequested"))]
pub struct ResourceClaimStatus {
    /// Devices given to the claim; unset until allocated.
    #[k8s(proto = 1, optional)]
    pub allocation: Option<AllocationResult>,
    /// Pods or other objects allowed to use the claim now; up to 256.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("uid"),
        patch_strategy = "merge",
        patch_merge_key = "uid",
        max_items = 256
    )]
    pub reserved_for: Vec<ResourceClaimConsumerReference>,
    /// State of the devices as reported by their drivers.
    #[k8s(
        proto = 4,
        optional,
        list_type = map,
        list_map_keys("driver", "device", "pool", "shareID"),
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub devices: Vec<AllocatedDeviceStatus>,
}

/// Points at an object using a claim.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceClaimConsumerReference {
    /// API group of the user; empty for the core group.
    #[k8s(proto = 1, optional)]
    pub api_group: String,
    /// Resource (plural) of the user, such as pods.
    #[k8s(proto = 3, always, required)]
    pub resource: String,
    /// Name of the user.
    #[k8s(proto = 4, always, required)]
    pub name: String,
    /// UID of the user.
    #[k8s(proto = 5, always, required)]
    pub uid: String,
}

/// Devices a claim received and where they are usable.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 4, name = "controller"))]
pub struct AllocationResult {
    /// Devices received, with their settings.
    #[k8s(proto = 1, optional)]
    pub devices: DeviceAllocationResult,
    /// Nodes on which they are usable; all nodes when unset.
    #[k8s(proto = 3, optional)]
    pub node_selector: Option<NodeSelector>,
    /// When the devices were handed out.
    #[k8s(
        proto = 5,
        optional,
        gate = pintle_gates::DRA_DEVICE_BINDING_CONDITIONS,
        gate = pintle_gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS
    )]
    pub allocation_timestamp: Option<Time>,
}

/// Devices received and settings in force.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceAllocationResult {
    /// One entry for each device received.
    #[k8s(proto = 1, optional, list_type = atomic, max_items = 32)]
    pub results: Vec<DeviceRequestAllocationResult>,
    /// Settings from class and claim; later entries win.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 64)]
    pub config: Vec<DeviceAllocationConfiguration>,
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
    #[k8s(proto = 6, optional, opaque_type, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
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

/// Settings in force for allocated devices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceAllocationConfiguration {
    /// Whether the settings come from the class or the claim.
    #[k8s(proto = 1, always, required, enum)]
    pub source: AllocationConfigSource,
    /// Requests the settings are for; empty means all in the claim.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 32)]
    pub requests: Vec<String>,
    /// Settings for allocated devices.
    #[k8s(inline, proto = 3)]
    pub device_configuration: DeviceConfiguration,
}

string_type! {
    /// Where settings of an allocation come from.
    #[closed]
    pub AllocationConfigSource {
        /// The device class.
        CLASS = "FromClass",
        /// The claim itself.
        CLAIM = "FromClaim",
    }
}

/// What a driver reports about one allocated device.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AllocatedDeviceStatus {
    /// Driver responsible for the device.
    #[k8s(proto = 1, published = required, always)]
    pub driver: String,
    /// Pool the device comes from.
    #[k8s(proto = 2, published = required, always)]
    pub pool: String,
    /// Name of the device in that pool.
    #[k8s(proto = 3, published = required, always)]
    pub device: String,
    /// Identifies the share when the device is given to several claims.
    #[k8s(proto = 7, name = "shareID", optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub share_id: Option<String>,
    /// Latest observations on the device; up to eight.
    #[k8s(proto = 4, optional, always, list_type = map, list_map_keys("type"), max_items = 8)]
    pub conditions: Vec<Condition>,
    /// Driver-specific data about the device, up to 10 KiB.
    #[k8s(proto = 5, optional)]
    pub data: Option<RawExtension>,
    /// Network details, for devices that are network interfaces.
    #[k8s(proto = 6, optional)]
    pub network_data: Option<NetworkDeviceData>,
}

/// Network details of a device.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkDeviceData {
    /// Name of the interface as seen inside the pod.
    #[k8s(proto = 1, optional, max_bytes = 256)]
    pub interface_name: String,
    /// Addresses of the interface, in CIDR form.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 16)]
    pub ips: Vec<String>,
    /// MAC or similar address of the interface.
    #[k8s(proto = 3, optional, max_bytes = 128)]
    pub hardware_address: String,
}
