//! Types of `resource.k8s.io/v1`: claims, their templates and device classes.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, RawExtension, string_type};

use super::{CapacityRequirements, DeviceTaintEffect, FullyQualifiedName, ResourceClaimStatus};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Request for devices that pods can use, and what it was given.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "resourceclaims", namespaced))]
pub struct ResourceClaim {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Devices wanted; immutable.
    #[k8s(proto = 2, always)]
    pub spec: ResourceClaimSpec,
    /// Devices given and who uses them.
    #[k8s(proto = 3, optional)]
    pub status: ResourceClaimStatus,
}

/// What a claim asks for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 2, name = "controller"))]
pub struct ResourceClaimSpec {
    /// Requests for devices with constraints and settings.
    #[k8s(proto = 1, optional, always)]
    pub devices: DeviceClaim,
}

/// Device requests together with constraints and settings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceClaim {
    /// Individual requests, all of which must be met.
    #[k8s(proto = 1, optional, always, list_type = atomic, max_items = 32)]
    pub requests: Vec<DeviceRequest>,
    /// Conditions spanning the devices of several requests.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 32)]
    pub constraints: Vec<DeviceConstraint>,
    /// Driver settings for requested devices; ignored while allocating.
    #[k8s(proto = 3, optional, list_type = atomic, max_items = 32)]
    pub config: Vec<DeviceClaimConfiguration>,
}

/// One request, either exact or as a list of alternatives.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceRequest {
    /// Name used to refer to the request, unique in the claim.
    #[k8s(proto = 1, published = required, always, format = "dns1123-label")]
    pub name: String,
    /// The one way in which this request can be met.
    #[k8s(proto = 2, optional)]
    pub exactly: Option<ExactDeviceRequest>,
    /// Alternatives in order of preference; the first one possible is taken.
    #[k8s(proto = 3, optional, list_type = atomic, gate = pintle_gates::DRA_PRIORITIZED_LIST, max_items = 8)]
    pub first_available: Vec<DeviceSubRequest>,
}

/// Precise description of the devices wanted.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExactDeviceRequest {
    /// Device class the devices must belong to.
    #[k8s(proto = 1, always, required, format = "dns1123-subdomain")]
    pub device_class_name: String,
    /// Conditions a device has to meet, all of them.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 32)]
    pub selectors: Vec<DeviceSelector>,
    /// Whether to take a fixed number or all; ExactCount when unset.
    #[k8s(proto = 3, optional, default = "ExactCount", enum)]
    pub allocation_mode: DeviceAllocationMode,
    /// Number of devices wanted; 1 when unset.
    #[k8s(proto = 4, optional)]
    pub count: i64,
    /// Reaches devices already in use, for monitoring; needs a labelled namespace.
    #[k8s(proto = 5, optional, gate = pintle_gates::DRA_ADMIN_ACCESS)]
    pub admin_access: Option<bool>,
    /// Device taints this request puts up with.
    #[k8s(proto = 6, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
    pub tolerations: Vec<DeviceToleration>,
    /// Amounts needed from each device.
    #[k8s(proto = 7, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub capacity: Option<CapacityRequirements>,
}

/// One alternative within a prioritised request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceSubRequest {
    /// Name of the alternative; referred to as request/alternative.
    #[k8s(proto = 1, published = required, always, format = "dns1123-label")]
    pub name: String,
    /// Device class the devices must belong to.
    #[k8s(proto = 2, always, required, format = "dns1123-subdomain")]
    pub device_class_name: String,
    /// Conditions a device has to meet, all of them.
    #[k8s(proto = 3, optional, list_type = atomic, max_items = 32)]
    pub selectors: Vec<DeviceSelector>,
    /// Whether to take a fixed number or all; ExactCount when unset.
    #[k8s(proto = 4, optional, default = "ExactCount", enum)]
    pub allocation_mode: DeviceAllocationMode,
    /// Number of devices wanted; 1 when unset.
    #[k8s(proto = 5, optional)]
    pub count: i64,
    /// Device taints this alternative puts up with.
    #[k8s(proto = 6, optional, list_type = atomic, gate = pintle_gates::DRA_DEVICE_TAINTS)]
    pub tolerations: Vec<DeviceToleration>,
    /// Amounts needed from each device.
    #[k8s(proto = 7, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub capacity: Option<CapacityRequirements>,
}

string_type! {
    /// How many devices a request takes.
    #[closed]
    pub DeviceAllocationMode {
        /// A given number of devices.
        EXACT_COUNT = "ExactCount",
        /// Every matching device of a pool.
        ALL = "All",
    }
}

/// Condition for choosing devices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceSelector {
    /// Condition given as CEL expression.
    #[k8s(proto = 1, published = optional, required)]
    pub cel: Option<CELDeviceSelector>,
}

/// Device condition in CEL.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CELDeviceSelector {
    /// CEL expression over `device`, yielding true for suitable devices.
    #[k8s(proto = 1, published = required, always, max_bytes = 10240)]
    pub expression: String,
}

/// Condition relating several allocated devices to each other.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceConstraint {
    /// Requests concerned; empty means all in the claim.
    #[k8s(proto = 1, optional, list_type = atomic, max_items = 32)]
    pub requests: Vec<String>,
    /// Attribute whose value must be equal on all devices.
    #[k8s(proto = 2, optional)]
    pub match_attribute: Option<FullyQualifiedName>,
    /// Attribute whose value must differ between all devices.
    #[k8s(proto = 3, optional, gate = pintle_gates::DRA_CONSUMABLE_CAPACITY)]
    pub distinct_attribute: Option<FullyQualifiedName>,
}

/// Driver settings given in a claim.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceClaimConfiguration {
    /// Requests the settings are for; empty means all in the claim.
    #[k8s(proto = 1, optional, list_type = atomic, max_items = 32)]
    pub requests: Vec<String>,
    /// Settings for allocated devices.
    #[k8s(inline, proto = 2)]
    pub device_configuration: DeviceConfiguration,
}

/// Settings for allocated devices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceConfiguration {
    /// Settings only the driver understands.
    #[k8s(proto = 1, published = optional, required)]
    pub opaque: Option<OpaqueDeviceConfiguration>,
}

/// Settings addressed to one driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct OpaqueDeviceConfiguration {
    /// Driver the settings are meant for.
    #[k8s(proto = 1, published = required, always)]
    pub driver: String,
    /// Driver-defined data, usually carrying its own apiVersion and kind; up to 10 KiB.
    #[k8s(proto = 2, published = required, always)]
    pub parameters: RawExtension,
}

/// Lets a request use devices in spite of a taint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceToleration {
    /// Taint key tolerated; empty with Exists means all keys.
    #[k8s(proto = 1, optional, format = "k8s-label-key")]
    pub key: String,
    /// Exists ignores the value, Equal compares it; Equal when unset.
    #[k8s(proto = 2, published = optional, default = "Equal", published = default, required, enum)]
    pub operator: DeviceTolerationOperator,
    /// Taint value tolerated; must be empty with Exists.
    #[k8s(proto = 3, optional)]
    pub value: String,
    /// Taint effect tolerated; empty means all.
    #[k8s(proto = 4, optional, enum)]
    pub effect: DeviceTaintEffect,
    /// How long a NoExecute taint is put up with; forever when unset.
    #[k8s(proto = 5, optional)]
    pub toleration_seconds: Option<i64>,
}

string_type! {
    /// How a toleration compares with a taint.
    #[closed]
    pub DeviceTolerationOperator {
        /// Any value of the key.
        EXISTS = "Exists",
        /// Exactly the given value.
        EQUAL = "Equal",
    }
}

/// Collection of resource claims.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceClaimList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ResourceClaim objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ResourceClaim>,
}

/// Named category of devices, with selection and default settings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "deviceclasses", cluster))]
pub struct DeviceClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Selection rules and settings of the class.
    #[k8s(proto = 2, always)]
    pub spec: DeviceClassSpec,
}

/// Which devices belong to the class and how they get configured.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 3, name = "suitableNodes"))]
pub struct DeviceClassSpec {
    /// Conditions a device of the class has to meet, all of them.
    #[k8s(proto = 1, optional, list_type = atomic, max_items = 32)]
    pub selectors: Vec<DeviceSelector>,
    /// Settings applied to every device obtained through the class.
    #[k8s(proto = 2, optional, list_type = atomic, max_items = 32)]
    pub config: Vec<DeviceClassConfiguration>,
    /// Lets pods request these devices as an extended resource of this name.
    #[k8s(proto = 4, optional, gate = pintle_gates::DRA_EXTENDED_RESOURCE)]
    pub extended_resource_name: Option<String>,
}

/// Settings that come with a class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceClassConfiguration {
    /// Settings for allocated devices.
    #[k8s(inline, proto = 1)]
    pub device_configuration: DeviceConfiguration,
}

/// Collection of device classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeviceClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The DeviceClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<DeviceClass>,
}

/// Pattern from which a claim is made for each pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "resource.k8s.io", plural = "resourceclaimtemplates", namespaced))]
pub struct ResourceClaimTemplate {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Claim to create; immutable.
    #[k8s(proto = 2, always)]
    pub spec: ResourceClaimTemplateSpec,
}

/// Labels, annotations and content of the claims created.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceClaimTemplateSpec {
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Copied unchanged into every claim.
    #[k8s(proto = 2, always)]
    pub spec: ResourceClaimSpec,
}

/// Collection of claim templates.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceClaimTemplateList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ResourceClaimTemplate objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ResourceClaimTemplate>,
}
