//! Rules of the status of a claim: allocated devices, reservations, and what drivers report.

use super::claim::{object, request_reference};
use super::names as own;
use crate::rules::internal_form::in_full;
use pintle_schema::names::ip;
use pintle_schema::{Value, View, value};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::resource::v1::{
    AllocatedDeviceStatus, AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult, ResourceClaim,
    ResourceClaimConsumerReference, ResourceClaimStatus,
};
use pintle_validation::{At, ValidationContext};
use std::collections::HashSet;

/// A device that was given for a request.
pub fn allocated(result: At<'_, DeviceRequestAllocationResult>, cx: &mut ValidationContext<'_>) {
    type Result = DeviceRequestAllocationResult;
    request_reference(result.new.field(Result::REQUEST).as_str(), &result.path.to(Result::REQUEST), cx);
    own::driver(result.new.field(Result::DRIVER).as_str(), &result.path.to(Result::DRIVER), cx);
    own::pool(result.new.field(Result::POOL).as_str(), &result.path.to(Result::POOL), cx);
}

/// The share of a device that was given, validated after the device.
pub fn share(result: At<'_, DeviceRequestAllocationResult>, cx: &mut ValidationContext<'_>) {
    type Result = DeviceRequestAllocationResult;
    if let Some(share) = result.new.field(Result::SHARE_ID).some() {
        own::share(share.as_str(), &result.path.to(Result::SHARE_ID), cx);
    }
}

/// An allocation is immutable until it is removed. No other error is reported for a changed one.
pub fn allocation_stays(allocation: At<'_, Option<AllocationResult>>, cx: &mut ValidationContext<'_>) {
    if let (Some(new), Some(old)) = (allocation.new.some(), allocation.old.and_then(View::some))
        && !pintle_validation::same(new.value(), old.value())
    {
        cx.errors.immutable(allocation.path, in_full(new));
    }
}

/// Whether the claim was allocated: then nothing is validated in an allocation but that it is the same.
pub fn had_allocation(status: At<'_, ResourceClaimStatus>, _: &ValidationContext<'_>) -> bool {
    status.old.is_some_and(|old| old.field(ResourceClaimStatus::ALLOCATION).is_set())
}

/// The consumers that a claim is reserved for.
fn users(status: View<'_, ResourceClaimStatus>) -> Vec<&str> {
    let users = status.field(ResourceClaimStatus::RESERVED_FOR).iter();
    users.map(|user| user.field(ResourceClaimConsumerReference::UID).as_str()).collect()
}

/// Consumers are distinct.
pub fn distinct_reservations(status: At<'_, ResourceClaimStatus>, cx: &mut ValidationContext<'_>) {
    let path = status.path.to(ResourceClaimStatus::RESERVED_FOR);
    let mut seen = HashSet::new();
    for (at, uid) in users(status.new).into_iter().enumerate() {
        if !seen.insert(uid) {
            cx.errors.duplicate(path.index(at), uid);
        }
    }
}

/// Only an allocated claim is reserved, and no consumer is added while the claim is being deleted.
pub fn reservations(status: At<'_, ResourceClaimStatus>, cx: &mut ValidationContext<'_>) {
    type Status = ResourceClaimStatus;
    let (now, path) = (users(status.new), status.path.to(Status::RESERVED_FOR));
    if !now.is_empty() && !status.new.field(Status::ALLOCATION).is_set() {
        cx.errors.forbidden(path, "may not be specified when `allocated` is not set");
    } else if !now.is_empty() {
        let metadata = cx.root::<ResourceClaim>().field(ResourceClaim::METADATA);
        let before: HashSet<&str> = status.old.map(users).unwrap_or_default().into_iter().collect();
        if metadata.field(ObjectMeta::DELETION_TIMESTAMP).is_set() && now.iter().any(|uid| !before.contains(uid)) {
            let detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            cx.errors.forbidden(path, detail);
        }
    }
}

/// The identity of a device: driver, pool, name and share. Both types of entries have it in the same fields.
type Identity<'a> = [&'a str; 4];

fn identity(entry: &Value) -> Identity<'_> {
    type Status = AllocatedDeviceStatus;
    let fields = [Status::DRIVER.name(), Status::POOL.name(), Status::DEVICE.name(), Status::SHARE_ID.name()];
    fields.map(|field| entry.str_at(&[field]))
}

/// The same as kube-apiserver shows it.
fn shown([driver, pool, device, share]: Identity<'_>) -> Value {
    value!({"Driver": driver, "Pool": pool, "Device": device, "ShareID": share})
}

/// A driver reports devices that the claim was given.
pub fn device(device: At<'_, AllocatedDeviceStatus>, cx: &mut ValidationContext<'_>) {
    type Status = AllocatedDeviceStatus;
    own::driver(device.new.field(Status::DRIVER).as_str(), &device.path.to(Status::DRIVER), cx);
    own::pool(device.new.field(Status::POOL).as_str(), &device.path.to(Status::POOL), cx);
    let name = device.new.field(Status::DEVICE).as_str();
    let path = device.path.to(Status::DEVICE);
    crate::rules::invalid_each(name, pintle_schema::names::dns1123_label(name), &path, cx);
    if let Some(share) = device.new.field(Status::SHARE_ID).some() {
        own::share(share.as_str(), &device.path.to(Status::SHARE_ID), cx);
    }
    let claim = cx.root::<ResourceClaim>().field(ResourceClaim::STATUS);
    let given = claim.field(ResourceClaimStatus::ALLOCATION).or_zero().field(AllocationResult::DEVICES);
    let own = identity(device.new.value());
    if !given.field(DeviceAllocationResult::RESULTS).iter().any(|result| identity(result.value()) == own) {
        cx.errors.invalid(device.path, shown(own), "must be an allocated device in the claim");
    }
    if let Some(data) = device.new.field(Status::DATA).some() {
        object(data.value(), &device.path.to(Status::DATA), cx);
    }
}

/// Devices are distinct.
pub fn distinct_devices(devices: At<'_, Vec<AllocatedDeviceStatus>>, cx: &mut ValidationContext<'_>) {
    let mut seen = HashSet::new();
    for (at, device) in devices.new.iter().enumerate() {
        let own = identity(device.value());
        if !seen.insert(own) {
            cx.errors.duplicate(devices.path.index(at), shown(own));
        }
    }
}

/// Addresses with the length of their network, each once.
pub fn addresses(addresses: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let mut seen = HashSet::new();
    for (at, address) in addresses.new.iter().enumerate() {
        let (text, path) = (address.as_str(), addresses.path.index(at));
        crate::rules::invalid_each(text, ip::interface_address(text), &path, cx);
        if !seen.insert(text) {
            cx.errors.duplicate(path, text);
        }
    }
}
