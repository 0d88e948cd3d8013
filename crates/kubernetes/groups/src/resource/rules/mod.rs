//! Handwritten rules of the group `resource.k8s.io`. Objects of all versions are validated in the storage version.
//!
//! Files for claims, for the status of claims, for slices and for their devices; this one is the table.

mod admin;
mod claim;
mod device;
mod names;
mod quantities;
mod rights;
mod selector;
pub mod slice;
mod status;

use crate::core::rules::pod::scheduling;
use pintle_schema::ApiType;
use pintle_types::core::v1::NodeSelector;
use pintle_types::resource::v1::{
    AllocatedDeviceStatus, CELDeviceSelector, Device, DeviceAllocationConfiguration, DeviceAttribute, DeviceCapacity,
    DeviceClaim, DeviceClaimConfiguration, DeviceClass, DeviceClassSpec, DeviceConstraint, DeviceRequest,
    DeviceRequestAllocationResult, DeviceSubRequest, DeviceToleration, ExactDeviceRequest, NetworkDeviceData,
    OpaqueDeviceConfiguration, ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate, ResourceClaimTemplateSpec,
    ResourcePool, ResourceSlice, ResourceSliceSpec,
};
use pintle_types::resource::v1alpha3::{
    DeviceTaintRuleStatus, DeviceTaintSelector, PoolStatus, ResourcePoolStatusRequest, ResourcePoolStatusRequestSpec,
};
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Skip, at_field, at_type, field_order, pass, skip, skip_inside,
};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules { update: &[Pass::Metadata, Pass::MetadataUpdate, Pass::Rules], ..KindRules::of(DeviceClass::schema) },
    KindRules {
        create: &[pass!(ResourceClaim, admin::asks), Pass::Metadata, Pass::Rules],
        update: &[Pass::Metadata, Pass::MetadataUpdate, pass!(ResourceClaim, claim::keeps_spec)],
        parts: &[(
            "status",
            &[
                pass!(ResourceClaim, admin::is_given),
                pass!(ResourceClaim, rights::of_status),
                Pass::MetadataUpdate,
                Pass::Field(ResourceClaim::STATUS.name()),
            ],
        )],
        ..KindRules::of(ResourceClaim::schema)
    },
    KindRules {
        create: &[pass!(ResourceClaimTemplate, admin::template_asks), Pass::Metadata, Pass::Rules],
        update: &[
            Pass::Metadata,
            Pass::Rules,
            Pass::MetadataUpdate,
            pass!(ResourceClaimTemplate, claim::keeps_template),
        ],
        ..KindRules::of(ResourceClaimTemplate::schema)
    },
    KindRules { update: &[Pass::MetadataUpdate, Pass::Rules], ..KindRules::of(ResourceSlice::schema) },
    KindRules {
        parts: &[(
            "status",
            &[
                Pass::MetadataUpdate,
                pass!(ResourcePoolStatusRequest, slice::status_stays),
                Pass::Field(ResourcePoolStatusRequest::STATUS.name()),
            ],
        )],
        ..KindRules::of(ResourcePoolStatusRequest::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(ResourceSliceSpec: [
        DRIVER, POOL, NODE_NAME, NODE_SELECTOR, ALL_NODES, PER_DEVICE_NODE_SELECTION
    ]),
    field_order!(ResourcePool: [NAME, RESOURCE_SLICE_COUNT]),
    field_order!(Device: [NAME, ATTRIBUTES, CAPACITY, TAINTS, CONSUMES_COUNTERS, NODE_NAME]),
    field_order!(ResourceClaimStatus: [RESERVED_FOR, DEVICES, ALLOCATION]),
    field_order!(NetworkDeviceData: [INTERFACE_NAME, HARDWARE_ADDRESS]),
];

static RULES: &[CustomRule] = &[
    at_field!(DeviceClaim::REQUESTS, claim::distinct_requests, phase = After),
    at_type!(DeviceRequest, claim::one_way_of_asking, phase = After),
    at_field!(DeviceRequest::FIRST_AVAILABLE, claim::distinct_subrequests, phase = After),
    at_type!(ExactDeviceRequest, claim::exact_count, phase = After),
    at_type!(DeviceSubRequest, claim::sub_count, phase = After),
    at_field!(CELDeviceSelector::EXPRESSION, selector::expression),
    at_field!(DeviceConstraint::REQUESTS, claim::request_references, ALWAYS),
    at_type!(DeviceConstraint, claim::constraint, phase = After),
    at_field!(DeviceClaimConfiguration::REQUESTS, claim::request_references, ALWAYS),
    at_field!(DeviceAllocationConfiguration::REQUESTS, claim::request_references),
    at_type!(OpaqueDeviceConfiguration, claim::opaque),
    at_type!(DeviceToleration, claim::toleration),
    at_field!(DeviceClassSpec::EXTENDED_RESOURCE_NAME, claim::extended_resource),
    at_field!(ResourceClaimTemplateSpec::METADATA, crate::core::rules::volume::claim::template_metadata),
    at_type!(DeviceRequestAllocationResult, status::allocated),
    at_type!(DeviceRequestAllocationResult, status::share, phase = After),
    at_field!(ResourceClaimStatus::ALLOCATION, status::allocation_stays),
    at_type!(
        ResourceClaimStatus,
        status::distinct_reservations,
        phase = BeforeField(&[ResourceClaimStatus::DEVICES.name()])
    ),
    // The reservations as a whole are validated after the devices.
    at_type!(ResourceClaimStatus, status::reservations, phase = BeforeField(&[ResourceClaimStatus::ALLOCATION.name()])),
    at_type!(AllocatedDeviceStatus, status::device),
    at_field!(AllocatedDeviceStatus::CONDITIONS, crate::rules::condition::conditions),
    at_field!(ResourceClaimStatus::DEVICES, status::distinct_devices, phase = After),
    at_field!(NetworkDeviceData::IPS, status::addresses),
    at_field!(ResourcePool::NAME, slice::pool_name),
    at_field!(ResourceSliceSpec::DRIVER, slice::driver),
    at_field!(ResourceSliceSpec::POOL, slice::pool_stays, phase = After, ALWAYS | ON_UPDATE),
    at_field!(ResourceSliceSpec::NODE_NAME, slice::node_name),
    at_field!(ResourceSliceSpec::NODE_SELECTOR, slice::one_term, phase = After),
    at_field!(NodeSelector::NODE_SELECTOR_TERMS, scheduling::label_values, phase = After),
    at_field!(ResourceSliceSpec::ALL_NODES, slice::true_or_unset),
    at_field!(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION, slice::true_or_unset),
    at_field!(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION, slice::one_place, phase = After, ALWAYS),
    at_field!(ResourceSliceSpec::DEVICES, slice::devices),
    at_field!(ResourceSliceSpec::DEVICES, slice::distinct_devices, phase = After),
    at_field!(ResourceSliceSpec::SHARED_COUNTERS, slice::distinct_counters, phase = After),
    at_field!(Device::ATTRIBUTES, device::attribute_names),
    at_type!(DeviceAttribute, device::attribute),
    at_field!(Device::CAPACITY, device::capacity),
    at_type!(DeviceCapacity, quantities::capacity),
    at_field!(Device::NODE_NAME, device::node_name, ALWAYS),
    at_field!(Device::CONSUMES_COUNTERS, device::distinct_consumptions, phase = After),
    at_type!(DeviceTaintSelector, slice::tainted),
    at_field!(DeviceTaintRuleStatus::CONDITIONS, crate::rules::condition::conditions),
    at_field!(ResourcePoolStatusRequestSpec::POOL_NAME, slice::wanted_pool),
    at_field!(PoolStatus::POOL_NAME, slice::pool_in_segments),
    at_type!(Device, device::place_and_binding, phase = After, ALWAYS),
];

static SKIPS: &[Skip] = &[
    // Of the two, nothing else is reported.
    skip!(DeviceRequest::EXACTLY, claim::asks_in_both_ways),
    skip!(DeviceRequest::FIRST_AVAILABLE, claim::asks_in_both_ways),
    skip_inside!(ResourceClaimStatus::ALLOCATION, status::had_allocation),
    skip_inside!(Device::NODE_SELECTOR, device::has_no_place),
];

#[cfg(test)]
mod tests;
