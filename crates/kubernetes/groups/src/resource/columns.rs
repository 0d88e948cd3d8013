//! Columns of the group `resource.k8s.io`.
//!
//! The versions differ only in fields that are not shown, so one type reads all of them.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, integer, printers, string};
use pintle_schema::{FieldName, Value, View};
use pintle_types::meta::v1::Condition;
use pintle_types::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate, ResourcePool, ResourceSlice,
    ResourceSliceSpec,
};
use pintle_types::resource::v1alpha3::{
    DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, PoolStatus, ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec, ResourcePoolStatusRequestStatus,
};

printers! {
    DEVICE_CLASS: DeviceClass |class, now| {
        NAME => name(class),
        AGE => age(class, now),
    }
    RESOURCE_CLAIM: ResourceClaim |claim, now| {
        NAME => name(claim),
        string("State", "Whether the claim is allocated and in use.") => state(claim),
        AGE => age(claim, now),
    }
    RESOURCE_CLAIM_TEMPLATE: ResourceClaimTemplate |template, now| {
        NAME => name(template),
        AGE => age(template, now),
    }
    RESOURCE_SLICE: ResourceSlice |slice, now| {
        NAME => name(slice),
        string("Node", "Node that has the devices.")
            => text(slice.to(ResourceSlice::SPEC).to(ResourceSliceSpec::NODE_NAME)),
        string("Driver", "Driver of the devices.") => text(slice.to(ResourceSlice::SPEC).to(ResourceSliceSpec::DRIVER)),
        string("Pool", "Pool that the devices are part of.")
            => text(slice.to(ResourceSlice::SPEC).to(ResourceSliceSpec::POOL).to(ResourcePool::NAME)),
        AGE => age(slice, now),
    }
    DEVICE_TAINT_RULE: DeviceTaintRule |rule, now| {
        NAME => name(rule),
        string("Key", "Key of the taint.") => text(taint(rule).to(DeviceTaint::KEY)),
        string("Value", "Value of the taint.") => text(taint(rule).to(DeviceTaint::VALUE)),
        string("Effect", "What the taint does to pods.") => text(taint(rule).to(DeviceTaint::EFFECT)),
        string("TimeAdded", "How long ago the taint was added.")
            => since_or(taint(rule).to(DeviceTaint::TIME_ADDED), now, "").into(),
        AGE => age(rule, now),
    }
    RESOURCE_POOL_STATUS_REQUEST: ResourcePoolStatusRequest |request, now| {
        NAME => name(request),
        string("Driver", "Driver whose pools are asked for.")
            => text(request.to(ResourcePoolStatusRequest::SPEC).to(ResourcePoolStatusRequestSpec::DRIVER)),
        string("Total", "How many devices there are.") => devices(request, PoolStatus::TOTAL_DEVICES),
        string("Available", "How many devices are free.") => devices(request, PoolStatus::AVAILABLE_DEVICES),
        string("Allocated", "How many devices are in use.") => devices(request, PoolStatus::ALLOCATED_DEVICES),
        string("Unavailable", "How many devices cannot be used.") => devices(request, PoolStatus::UNAVAILABLE_DEVICES),
        string("Errors", "How many pools are not valid.")
            => sum(request, |pool| i64::from(pool.to(PoolStatus::VALIDATION_ERROR).is_set())),
        integer("Pools", "How many pools there are.")
            => number(request.to(ResourcePoolStatusRequest::STATUS).to(ResourcePoolStatusRequestStatus::POOL_COUNT)),
        string("Status", "Whether the request is answered.") => outcome(request),
        string("Completed", "How long ago it was answered.") => match condition(request, "Complete") {
            Some(complete) => since(complete.to(Condition::LAST_TRANSITION_TIME), now).into(),
            None => NONE.into(),
        },
    }
}

fn state(claim: View<'_, ResourceClaim>) -> Value {
    let status = claim.to(ResourceClaim::STATUS);
    let (deleted, allocated) = (deleted(claim), status.to(ResourceClaimStatus::ALLOCATION).is_set());
    let reserved = allocated && len(status.to(ResourceClaimStatus::RESERVED_FOR)) > 0;
    let states =
        [(deleted, "deleted"), (!allocated && !deleted, "pending"), (allocated, "allocated"), (reserved, "reserved")];
    join(states.iter().filter(|(holds, _)| *holds).map(|(_, word)| word), ",").into()
}

fn taint(rule: View<'_, DeviceTaintRule>) -> View<'_, DeviceTaint> {
    rule.to(DeviceTaintRule::SPEC).to(DeviceTaintRuleSpec::TAINT)
}

/// The first condition of the type that is true.
fn condition<'a>(request: View<'a, ResourcePoolStatusRequest>, ty: &str) -> Option<View<'a, Condition>> {
    true_conditions(request).find(|condition| str_of(condition.to(Condition::TYPE)) == ty)
}

fn true_conditions(request: View<'_, ResourcePoolStatusRequest>) -> impl Iterator<Item = View<'_, Condition>> {
    let conditions = request.to(ResourcePoolStatusRequest::STATUS).to(ResourcePoolStatusRequestStatus::CONDITIONS);
    conditions.iter().filter(|condition| str_of(condition.to(Condition::STATUS)) == "True")
}

fn devices(request: View<'_, ResourcePoolStatusRequest>, field: FieldName<PoolStatus, Option<i32>>) -> Value {
    sum(request, |pool| int_of(pool.to(field)))
}

/// A sum over the pools as text, unless there is no answer.
fn sum(request: View<'_, ResourcePoolStatusRequest>, of: impl Fn(View<'_, PoolStatus>) -> i64) -> Value {
    match request.to(ResourcePoolStatusRequest::STATUS).some() {
        Some(status) if condition(request, "Failed").is_none() => {
            status.to(ResourcePoolStatusRequestStatus::POOLS).iter().map(of).sum::<i64>().to_string().into()
        }
        _ => "-".into(),
    }
}

fn outcome(request: View<'_, ResourcePoolStatusRequest>) -> Value {
    let mut types = true_conditions(request).map(|condition| str_of(condition.to(Condition::TYPE)));
    let Some(outcome) = types.find(|ty| ["Complete", "Failed"].contains(ty)) else {
        return "Pending".into();
    };
    let status = request.to(ResourcePoolStatusRequest::STATUS);
    let listed = len(status.to(ResourcePoolStatusRequestStatus::POOLS));
    let pools = int_of(status.to(ResourcePoolStatusRequestStatus::POOL_COUNT));
    if outcome == "Complete" && listed < pools {
        return format!("Complete ({listed}/{pools} pools)").into();
    }
    outcome.into()
}
