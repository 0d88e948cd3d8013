//! Permissions for changes of a claim's status, beside the permission to update it: schedulers allocate and reserve
//! devices, and drivers report the status of theirs.
//!
//! Unchanged fields need no permission. Permissions are checked before all else but admin access.

use pintle_gates as gates;
use pintle_schema::View;
use pintle_types::core::v1::NodeSelectorOperator;
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::resource::v1::{AllocatedDeviceStatus, AllocationResult, ResourceClaim, ResourceClaimStatus};
use pintle_validation::{At, Right, ValidationContext};
use std::collections::{BTreeSet, HashMap};

/// A change of a claim's status.
pub fn of_status(claim: At<'_, ResourceClaim>, cx: &mut ValidationContext<'_>) {
    if !cx.enabled(&gates::DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION) {
        return;
    }
    let namespace = claim.new.field(ResourceClaim::METADATA).field(ObjectMeta::NAMESPACE).as_str();
    claim.field(ResourceClaim::STATUS, |status| {
        binding(status, cx);
        drivers(status, namespace, cx);
    });
}

fn binding(status: At<'_, ResourceClaimStatus>, cx: &mut ValidationContext<'_>) {
    type Status = ResourceClaimStatus;
    let Some(old) = status.old else { return };
    let is_same = cx.same(status.new.field(Status::ALLOCATION).value(), old.field(Status::ALLOCATION).value())
        && cx.same(status.new.field(Status::RESERVED_FOR).value(), old.field(Status::RESERVED_FOR).value());
    if is_same {
        return;
    }
    if let Some(refusal) = cx.request.environment.refusal(&Right { subresource: "binding", ..Right::default() }) {
        let detail = format!(
            "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
             verb=\"{}\" permission: {}",
            refusal.verbs.concat(),
            refusal.why
        );
        cx.errors.forbidden(status.path.to(Status::ALLOCATION), detail);
    }
}

fn drivers(status: At<'_, ResourceClaimStatus>, namespace: &str, cx: &mut ValidationContext<'_>) {
    type Status = ResourceClaimStatus;
    let Some(old) = status.old else { return };
    let Some(allocation) = status.new.field(Status::ALLOCATION).some() else { return };
    if !cx.enabled(&gates::DRA_RESOURCE_CLAIM_DEVICE_STATUS) {
        return;
    }
    let node = node_of(allocation).unwrap_or_default();
    for driver in told_of(status.new, old) {
        let right = Right { subresource: "driver", namespace, name: driver, node: Some(&node) };
        if let Some(refusal) = cx.request.environment.refusal(&right) {
            let detail = format!(
                "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {}",
                refusal.verbs.join(" "),
                refusal.why
            );
            cx.errors.forbidden(status.path.to(Status::DEVICES), detail);
        }
    }
}

/// The drivers of devices of which something else is reported than before.
fn told_of<'a>(new: View<'a, ResourceClaimStatus>, old: View<'a, ResourceClaimStatus>) -> BTreeSet<&'a str> {
    type Device<'a> = View<'a, AllocatedDeviceStatus>;
    type Status = AllocatedDeviceStatus;
    let identity = |device: Device<'a>| {
        let fields = [Status::DRIVER.name(), Status::POOL.name(), Status::DEVICE.name(), Status::SHARE_ID.name()];
        fields.map(|field| device.value().str_at(&[field]))
    };
    let driver = |device: Device<'a>| device.value().str_at(&[Status::DRIVER.name()]);
    let devices = |status: View<'a, ResourceClaimStatus>| status.field(ResourceClaimStatus::DEVICES).iter();
    let mut before: HashMap<_, _> = devices(old).map(|device| (identity(device), device)).collect();
    let mut is_new = |device: &Device<'a>| {
        before.remove(&identity(*device)).is_none_or(|old| !pintle_validation::same(device.value(), old.value()))
    };
    let mut drivers: BTreeSet<_> = devices(new).filter(|device| is_new(device)).map(driver).collect();
    drivers.extend(before.into_values().map(driver));
    drivers
}

/// The node of an allocation, if the allocation selects one by name.
fn node_of(allocation: View<'_, AllocationResult>) -> Option<String> {
    let selector = allocation.field(AllocationResult::NODE_SELECTOR).get()?;
    let [term] = &selector.node_selector_terms[..] else { return None };
    let ([], [field]) = (&term.match_expressions[..], &term.match_fields[..]) else { return None };
    match &field.values[..] {
        [node] if field.key == "metadata.name" && field.operator == NodeSelectorOperator::IN => Some(node.clone()),
        _ => None,
    }
}
