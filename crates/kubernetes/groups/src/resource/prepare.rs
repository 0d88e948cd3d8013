//! Preparation of updates of device taint rules and of the status of claims, beside the general strategy.
//!
//! Both get objects in the storage version.

use pintle_resource::Context;
use pintle_schema::{Time, Value, View, ViewMut};
use pintle_types::resource::v1::{
    AllocatedDeviceStatus, AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult, ResourceClaim,
    ResourceClaimStatus,
};
use pintle_types::resource::v1alpha3::{DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec};
use std::collections::BTreeSet;

/// A taint with another effect is a new one, unless the writer dates it.
pub(super) fn update_taint_rule(new: &mut Value, old: &Value, context: &mut Context) {
    let old = View::<DeviceTaintRule>::new(old).field(DeviceTaintRule::SPEC).field(DeviceTaintRuleSpec::TAINT).get();
    let new = ViewMut::<DeviceTaintRule>::new(new).field(DeviceTaintRule::SPEC).field(DeviceTaintRuleSpec::TAINT);
    let asked = new.view().get();
    if asked.effect != old.effect && asked.time_added == old.time_added {
        new.field(DeviceTaint::TIME_ADDED).set(Time::from_seconds(context.now_unix));
    }
}

/// Driver, pool, device, and share of it.
type DeviceId = (String, String, String, Option<String>);

/// Removes the status of devices that this update deallocates.
pub(super) fn update_claim_status(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<ResourceClaim>::new(old).field(ResourceClaim::STATUS);
    let new = ViewMut::<ResourceClaim>::new(new).field(ResourceClaim::STATUS);
    let still = allocated(new.view());
    let given_back: BTreeSet<DeviceId> = allocated(old).difference(&still).cloned().collect();
    if given_back.is_empty() || !new.view().field(ResourceClaimStatus::DEVICES).is_set() {
        return;
    }
    let mut devices = new.view().field(ResourceClaimStatus::DEVICES).get();
    devices.retain(|AllocatedDeviceStatus { driver, pool, device, share_id, .. }| {
        !given_back.contains(&(driver.clone(), pool.clone(), device.clone(), share_id.clone()))
    });
    let field = new.field(ResourceClaimStatus::DEVICES);
    if devices.is_empty() { field.clear() } else { field.set(devices) }
}

fn allocated(status: View<'_, ResourceClaimStatus>) -> BTreeSet<DeviceId> {
    let allocation = status.field(ResourceClaimStatus::ALLOCATION).or_zero().field(AllocationResult::DEVICES);
    let results = allocation.field(DeviceAllocationResult::RESULTS).iter();
    let id = |result: View<'_, DeviceRequestAllocationResult>| {
        let DeviceRequestAllocationResult { driver, pool, device, share_id, .. } = result.get();
        (driver, pool, device, share_id)
    };
    results.map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{pruned, with_context};
    use pintle_schema::value;

    #[test]
    fn another_effect_is_dated() {
        let before = "2001-01-01T00:00:00Z";
        let rule = |effect: &str, time: &str| value!({"spec": {"taint": {"effect": effect, "timeAdded": time}}});
        let old = rule("NoSchedule", before);
        for (new, expected) in [
            (rule("NoSchedule", before), before),
            (rule("NoExecute", before), "2001-09-09T01:46:40Z"),
            (rule("NoExecute", "2002-01-01T00:00:00Z"), "2002-01-01T00:00:00Z"),
        ] {
            let mut new = new;
            with_context(|context| update_taint_rule(&mut new, &old, context));
            assert_eq!(new.str_at(&["spec", "taint", "timeAdded"]), expected);
        }
    }

    #[test]
    fn devices_given_back_are_forgotten() {
        let device = |name: &str| value!({"driver": "d", "pool": "p", "device": name});
        let result = |name: &str| value!({"request": "r", "driver": "d", "pool": "p", "device": name});
        let old = value!({"status": {"allocation": {"devices": {"results": [(result("a")), (result("b"))]}},
            "devices": [(device("a")), (device("b"))]}});
        let mut new = value!({"status": {"allocation": {"devices": {"results": [(result("b"))]}},
            "devices": [(device("a")), (device("b")), (device("c"))]}});
        with_context(|context| update_claim_status(&mut new, &old, context));
        let left = new.at(&["status", "devices"]).and_then(Value::as_list).unwrap_or_default();
        let left: Vec<&str> = left.iter().map(|device| device.str_at(&["device"])).collect();
        assert_eq!(left, ["b", "c"]);
        let mut none = value!({"status": {"devices": [(device("a"))]}});
        with_context(|context| update_claim_status(&mut none, &old, context));
        assert_eq!(pruned(none).at(&["status", "devices"]), None);
    }
}
