//! Conversion between `resource.k8s.io/v1beta1` and the storage version, in which claims and slices have other shapes.
//!
//! The fields of a v1beta1 request are under `exactly`, and those of a device are not under `basic`. Guarantees that
//! nothing is lost in either direction.

use crate::views::{clear, take_entries, unwrap_into};
use pintle_schema::{Value, ViewMut};
use pintle_types::resource::{v1, v1beta1};
use v1beta1::{
    BasicDevice, Device, DeviceClaim, DeviceRequest, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate,
    ResourceClaimTemplateSpec, ResourceSlice, ResourceSliceSpec,
};

/// The fields of a v1beta1 request that are under `exactly` in the storage version.
const EXACTLY: [&str; 7] = [
    DeviceRequest::DEVICE_CLASS_NAME.name(),
    DeviceRequest::SELECTORS.name(),
    DeviceRequest::ALLOCATION_MODE.name(),
    DeviceRequest::COUNT.name(),
    DeviceRequest::ADMIN_ACCESS.name(),
    DeviceRequest::TOLERATIONS.name(),
    DeviceRequest::CAPACITY.name(),
];

/// The fields of a v1beta1 device that are under `basic` and on the device in the storage version.
const BASIC: [&str; 12] = [
    BasicDevice::ATTRIBUTES.name(),
    BasicDevice::CAPACITY.name(),
    BasicDevice::CONSUMES_COUNTERS.name(),
    BasicDevice::NODE_NAME.name(),
    BasicDevice::NODE_SELECTOR.name(),
    BasicDevice::ALL_NODES.name(),
    BasicDevice::TAINTS.name(),
    BasicDevice::BINDS_TO_NODE.name(),
    BasicDevice::BINDING_CONDITIONS.name(),
    BasicDevice::BINDING_FAILURE_CONDITIONS.name(),
    BasicDevice::ALLOW_MULTIPLE_ALLOCATIONS.name(),
    BasicDevice::NODE_ALLOCATABLE_RESOURCE_MAPPINGS.name(),
];

pub(super) fn claim_to_v1(object: &mut Value) {
    each_request(claim_spec(object), nest_exactly);
}

pub(super) fn claim_from_v1(object: &mut Value) {
    each_request(claim_spec(object), flatten_exactly);
}

pub(super) fn template_to_v1(object: &mut Value) {
    each_request(template_spec(object), nest_exactly);
}

pub(super) fn template_from_v1(object: &mut Value) {
    each_request(template_spec(object), flatten_exactly);
}

pub(super) fn slice_to_v1(object: &mut Value) {
    let mut spec = ViewMut::<ResourceSlice>::new(object).field(ResourceSlice::SPEC);
    // Zero here is absence there.
    if spec.view().field(ResourceSliceSpec::NODE_NAME).as_str().is_empty() {
        clear(&mut spec, ResourceSliceSpec::NODE_NAME);
    }
    if !spec.view().field(ResourceSliceSpec::ALL_NODES).get() {
        clear(&mut spec, ResourceSliceSpec::ALL_NODES);
    }
    for device in spec.field(ResourceSliceSpec::DEVICES).iter_mut() {
        unwrap_into(device.raw(), Device::BASIC.name());
    }
}

pub(super) fn slice_from_v1(object: &mut Value) {
    let spec = ViewMut::<ResourceSlice>::new(object).field(ResourceSlice::SPEC);
    for device in spec.field(ResourceSliceSpec::DEVICES).iter_mut() {
        let device = device.raw();
        let basic = take_entries(device, &BASIC);
        device.make_map().set(Device::BASIC.name(), basic);
    }
}

fn claim_spec(object: &mut Value) -> ViewMut<'_, ResourceClaimSpec> {
    ViewMut::<ResourceClaim>::new(object).field(ResourceClaim::SPEC)
}

fn template_spec(object: &mut Value) -> ViewMut<'_, ResourceClaimSpec> {
    let spec = ViewMut::<ResourceClaimTemplate>::new(object).field(ResourceClaimTemplate::SPEC);
    spec.field(ResourceClaimTemplateSpec::SPEC)
}

fn each_request(spec: ViewMut<'_, ResourceClaimSpec>, convert: fn(&mut Value)) {
    let devices = spec.field(ResourceClaimSpec::DEVICES);
    devices.field(DeviceClaim::REQUESTS).iter_mut().for_each(|request| convert(request.raw()));
}

/// There is an `exactly` if any field of it is set.
fn nest_exactly(request: &mut Value) {
    let mut exactly = take_entries(request, &EXACTLY);
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Int(number) => *number != 0,
        _ => true,
    };
    if exactly.as_map().is_some_and(|fields| fields.values().any(is_set)) {
        // For tolerations, unlike selectors, an absent list equals an empty one.
        let tolerations = DeviceRequest::TOLERATIONS.name();
        if exactly.get(tolerations).is_some_and(Value::is_zero) {
            exactly.remove_at(&[tolerations]);
        }
        request.make_map().set(v1::DeviceRequest::EXACTLY.name(), exactly);
    }
}

fn flatten_exactly(request: &mut Value) {
    unwrap_into(request, v1::DeviceRequest::EXACTLY.name());
}

#[cfg(test)]
mod tests {
    use super::super::{resource_claim_templates_v1beta1, resource_claims_v1beta1, resource_slices_v1beta1};
    use crate::tests::round_trip;
    use pintle_schema::value;

    #[test]
    fn requests_are_nested() {
        let flat = || {
            value!({"devices": {"requests": [
                {"name": "r0", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2,
                    "selectors": [{"cel": {"expression": "true"}}]},
                {"name": "r1", "firstAvailable": [{"name": "s0", "deviceClassName": "gpu", "allocationMode": "All"}]}
            ]}})
        };
        let nested = || {
            value!({"devices": {"requests": [
                {"name": "r0", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2,
                    "selectors": [{"cel": {"expression": "true"}}]}},
                {"name": "r1", "firstAvailable": [{"name": "s0", "deviceClassName": "gpu", "allocationMode": "All"}]}
            ]}})
        };
        round_trip(&resource_claims_v1beta1(), value!({"spec": (flat())}), value!({"spec": (nested())}));
        round_trip(
            &resource_claim_templates_v1beta1(),
            value!({"spec": {"spec": (flat())}}),
            value!({"spec": {"spec": (nested())}}),
        );
    }

    #[test]
    fn devices_are_unwrapped() {
        let beta = value!({"spec": {"driver": "d", "nodeName": "", "devices": [
            {"name": "dev0", "basic": {"attributes": {"ok": {"bool": true}}, "allNodes": true}},
            {"name": "dev1", "basic": {}}
        ]}});
        let stored = value!({"spec": {"driver": "d", "devices": [
            {"name": "dev0", "attributes": {"ok": {"bool": true}}, "allNodes": true},
            {"name": "dev1"}
        ]}});
        round_trip(&resource_slices_v1beta1(), beta, stored);
    }
}
