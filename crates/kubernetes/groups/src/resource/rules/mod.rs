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
use pintle_validation::{CustomRule, Group, KindRules, Step, ValidationContext, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules { update: &[Step::Metadata, Step::MetadataUpdate, Step::Rules], ..KindRules::of(DeviceClass::schema) },
    KindRules {
        create: &[Step::Metadata, Step::Rules, step!(ResourceClaim, admin::asks)],
        update: &[Step::Metadata, Step::MetadataUpdate, step!(ResourceClaim, claim::keeps_spec)],
        parts: &[(
            "status",
            &[
                Step::MetadataUpdate,
                Step::Field(ResourceClaim::STATUS.name()),
                step!(ResourceClaim, rights::of_status),
                step!(ResourceClaim, admin::is_given),
            ],
        )],
        ..KindRules::of(ResourceClaim::schema)
    },
    KindRules {
        create: &[Step::Metadata, Step::Rules, step!(ResourceClaimTemplate, admin::template_asks)],
        update: &[
            Step::Metadata,
            Step::Rules,
            Step::MetadataUpdate,
            step!(ResourceClaimTemplate, claim::keeps_template),
        ],
        ..KindRules::of(ResourceClaimTemplate::schema)
    },
    KindRules { update: &[Step::MetadataUpdate, Step::Rules], ..KindRules::of(ResourceSlice::schema) },
    KindRules {
        parts: &[(
            "status",
            &[
                Step::MetadataUpdate,
                step!(ResourcePoolStatusRequest, slice::status_stays),
                Step::Field(ResourcePoolStatusRequest::STATUS.name()),
            ],
        )],
        ..KindRules::of(ResourcePoolStatusRequest::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_field!(DeviceClaim::REQUESTS, claim::distinct_requests, AFTER),
    at_type!(DeviceRequest, claim::one_way_of_asking, AFTER),
    at_field!(DeviceRequest::FIRST_AVAILABLE, claim::distinct_subrequests, AFTER),
    at_type!(ExactDeviceRequest, claim::exact_count, AFTER),
    at_type!(DeviceSubRequest, claim::sub_count, AFTER),
    at_field!(CELDeviceSelector::EXPRESSION, selector::expression),
    at_field!(DeviceConstraint::REQUESTS, claim::request_references, ALWAYS),
    at_type!(DeviceConstraint, claim::constraint, AFTER),
    at_field!(DeviceClaimConfiguration::REQUESTS, claim::request_references, ALWAYS),
    at_field!(DeviceAllocationConfiguration::REQUESTS, claim::request_references),
    at_type!(OpaqueDeviceConfiguration, claim::opaque),
    at_type!(DeviceToleration, claim::toleration),
    at_field!(DeviceClassSpec::EXTENDED_RESOURCE_NAME, claim::extended_resource),
    at_field!(ResourceClaimTemplateSpec::METADATA, crate::core::rules::volume::claim::template_metadata),
    at_type!(DeviceRequestAllocationResult, status::allocated),
    at_type!(DeviceRequestAllocationResult, status::share, AFTER),
    at_field!(ResourceClaimStatus::ALLOCATION, status::allocation_stays),
    at_type!(ResourceClaimStatus, status::reservations, AFTER),
    at_type!(AllocatedDeviceStatus, status::device),
    at_field!(AllocatedDeviceStatus::CONDITIONS, crate::rules::condition::conditions),
    at_field!(ResourceClaimStatus::DEVICES, status::distinct_devices, AFTER),
    at_field!(NetworkDeviceData::IPS, status::addresses),
    at_field!(ResourcePool::NAME, slice::pool_name),
    at_field!(ResourceSliceSpec::DRIVER, slice::driver),
    at_field!(ResourceSliceSpec::POOL, slice::pool_stays, AFTER | ALWAYS | ON_UPDATE),
    at_field!(ResourceSliceSpec::NODE_NAME, slice::node_name),
    at_field!(ResourceSliceSpec::NODE_SELECTOR, slice::one_term, AFTER),
    at_field!(NodeSelector::NODE_SELECTOR_TERMS, scheduling::label_values, AFTER),
    at_field!(ResourceSliceSpec::ALL_NODES, slice::true_or_unset),
    at_field!(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION, slice::true_or_unset),
    at_field!(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION, slice::one_place, AFTER | ALWAYS),
    at_field!(ResourceSliceSpec::DEVICES, slice::devices),
    at_field!(ResourceSliceSpec::DEVICES, slice::distinct_devices, AFTER),
    at_field!(ResourceSliceSpec::SHARED_COUNTERS, slice::distinct_counters, AFTER),
    at_field!(Device::ATTRIBUTES, device::attribute_names),
    at_type!(DeviceAttribute, device::attribute),
    at_field!(Device::CAPACITY, device::capacity),
    at_type!(DeviceCapacity, quantities::capacity),
    at_field!(Device::NODE_NAME, device::node_name, ALWAYS),
    at_field!(Device::CONSUMES_COUNTERS, device::distinct_consumptions, AFTER),
    at_type!(DeviceTaintSelector, slice::tainted),
    at_field!(DeviceTaintRuleStatus::CONDITIONS, crate::rules::condition::conditions),
    at_field!(ResourcePoolStatusRequestSpec::POOL_NAME, slice::wanted_pool),
    at_field!(PoolStatus::POOL_NAME, slice::pool_in_segments),
    at_type!(Device, device::place_and_binding, AFTER | ALWAYS),
];

/// Moves the errors that a rule adds before all earlier ones.
fn first(cx: &mut ValidationContext<'_>, find: impl FnOnce(&mut ValidationContext<'_>)) {
    let before = cx.errors.0.len();
    find(cx);
    let found = cx.errors.0.len().saturating_sub(before);
    cx.errors.0.rotate_right(found);
}

#[cfg(test)]
mod tests;
