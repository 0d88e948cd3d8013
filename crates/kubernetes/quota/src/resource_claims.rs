//! The usage of resource claims: their number and their devices, by device class and by the extended resource of a class.
//! Guarantees the worst case where a claim has alternatives. Must never count the usage of the claim's own pod.

use crate::pods;
use crate::profile::{Profile, one};
use pintle_gates as gates;
use pintle_registry::{Registry, Target};
use pintle_schema::{ApiValue, Quantity, Value, View};
use pintle_types::core::v1::{Pod, ResourceList};
use pintle_types::resource::v1::{DeviceAllocationMode, DeviceClass, DeviceClassSpec, DeviceRequest, ResourceClaim};
use std::collections::BTreeMap;

/// The prefix of a class name in the implicit extended resource of every device class.
pub(crate) const IMPLICIT_PREFIX: &str = "requests.deviceclass.resource.kubernetes.io/";
/// After the name of a class in the name of its devices.
const DEVICES_SUFFIX: &str = ".deviceclass.resource.k8s.io/devices";
/// Marks a claim that the scheduler made for the extended resources of a pod.
const EXTENDED_ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";
/// The most devices that can be allocated for a claim.
const DEVICES_MAX: i64 = 32;

/// The device classes that there are.
pub(crate) struct DeviceClasses<'a>(pub &'a Registry);

impl DeviceClasses<'_> {
    /// Whether a class provides an extended resource that a quota names.
    pub fn have(&self, quota_name: &str) -> bool {
        if !self.0.environment.gates().is_on(&gates::DRA_EXTENDED_RESOURCE) {
            return false;
        }
        if let Some(class) = quota_name.strip_prefix(IMPLICIT_PREFIX)
            && self.extended_resource(class).is_some()
        {
            return true;
        }
        let Some(resource) = quota_name.strip_prefix("requests.") else { return false };
        let Some(all) = target(self.0, "resource.k8s.io", "deviceclasses", "", "") else { return false };
        let state = all.cache.state();
        // The name is searched for in the text, so that few classes are decoded.
        let mentions = |text: &[u8]| str::from_utf8(text).is_ok_and(|text| text.contains(resource));
        state.objects.values().filter(|stored| mentions(stored.encoded.as_written())).any(|stored| {
            let class = self.0.decode(&all, stored).unwrap_or_default();
            extended_resource(&class).as_deref() == Some(resource)
        })
    }

    /// The extended resource that a class names.
    fn extended_resource(&self, class: &str) -> Option<String> {
        extended_resource(&find(self.0, "resource.k8s.io", "deviceclasses", "", class)?)
    }
}

fn extended_resource(class: &Value) -> Option<String> {
    let spec = View::<DeviceClass>::new(class).field(DeviceClass::SPEC);
    spec.field(DeviceClassSpec::EXTENDED_RESOURCE_NAME).get().filter(|name| !name.is_empty())
}

pub(crate) fn profile(claim: View<'_, ResourceClaim>, registry: &Registry) -> Profile {
    let mut usage = ResourceList::from([one("count/resourceclaims.resource.k8s.io")]);
    let claim = ResourceClaim::from_value(claim.value()).unwrap_or_default();
    let devices = devices(&claim.spec.devices.requests);
    if registry.environment.gates().is_on(&gates::DRA_EXTENDED_RESOURCE) {
        let of_pod = usage_of_pod(&claim, registry).unwrap_or_default();
        let classes = DeviceClasses(registry);
        for (class, count) in devices.iter().filter(|(class, _)| !class.is_empty()) {
            let named = classes.extended_resource(class).map(|resource| format!("requests.{resource}"));
            for name in [Some(format!("{IMPLICIT_PREFIX}{class}")), named].into_iter().flatten() {
                let count = Quantity::from_i64(*count);
                let rest = of_pod.get(&name).map_or_else(|| count.clone(), |counted| count.sub(counted));
                if rest.signum() > 0 {
                    usage.insert(name, rest);
                }
            }
        }
    }
    usage.extend(devices.into_iter().map(|(class, count)| (class + DEVICES_SUFFIX, Quantity::from_i64(count))));
    Profile { usage, ..Profile::default() }
}

/// How many devices of each class may be allocated.
fn devices(requests: &[DeviceRequest]) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for request in requests {
        let mut most: BTreeMap<&str, i64> = BTreeMap::new();
        let alternatives =
            request.first_available.iter().map(|one| (&one.device_class_name, &one.allocation_mode, one.count));
        let exactly = request.exactly.iter().map(|one| (&one.device_class_name, &one.allocation_mode, one.count));
        for (class, mode, count) in alternatives.chain(exactly.filter(|_| request.first_available.is_empty())) {
            let count = match mode {
                mode if *mode == DeviceAllocationMode::EXACT_COUNT => count,
                mode if *mode == DeviceAllocationMode::ALL => DEVICES_MAX,
                _ => 0,
            };
            let known = most.entry(class).or_insert(count);
            *known = count.max(*known);
        }
        for (class, count) in most {
            let sum: &mut i64 = sums.entry(class.to_owned()).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    sums
}

/// The usage of the pod for which the scheduler created a claim; `None` for other claims.
fn usage_of_pod(claim: &ResourceClaim, registry: &Registry) -> Option<ResourceList> {
    let metadata = &claim.metadata;
    if metadata.annotations.get(EXTENDED_ANNOTATION).map(String::as_str) != Some("true") {
        return None;
    }
    let owner = metadata.owner_references.iter().find(|owner| owner.controller == Some(true))?;
    if (owner.kind.as_str(), owner.api_version.as_str()) != ("Pod", "v1") {
        return None;
    }
    let value = find(registry, "", "pods", &metadata.namespace, &owner.name)?;
    let pod = Pod::from_value(&value).ok()?;
    if pod.metadata.uid != owner.uid {
        return None;
    }
    let is_this = match &pod.status.extended_resource_claim_status {
        Some(status) => status.resource_claim_name == metadata.name,
        None => is_first(claim, &owner.uid, registry),
    };
    is_this.then(|| pods::usage(View::new(&value), registry.environment.as_ref()))
}

/// Whether no other claim was made for the pod before this one.
fn is_first(claim: &ResourceClaim, pod_uid: &str, registry: &Registry) -> bool {
    let metadata = &claim.metadata;
    let Some(all) = target(registry, "resource.k8s.io", "resourceclaims", &metadata.namespace, "") else { return true };
    let state = all.cache.state();
    let mut owned = state
        .objects
        .under(&all.key())
        .map(|entry| &entry.object)
        .filter(|stored| stored.name() != metadata.name && stored.encoded.owners().any(|owner| owner == pod_uid));
    !owned.any(|stored| {
        let other = registry.decode(&all, stored).ok().and_then(|value| ResourceClaim::from_value(&value).ok());
        other.is_some_and(|other| {
            let other = &other.metadata;
            let is_extended = other.annotations.get(EXTENDED_ANNOTATION).map(String::as_str) == Some("true");
            let (created, own) = (other.creation_timestamp.seconds, metadata.creation_timestamp.seconds);
            is_extended && (created < own || created == own && other.name < metadata.name)
        })
    })
}

fn target(registry: &Registry, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Target> {
    registry.target_of([group, "v1", plural], namespace, name)
}

fn find(registry: &Registry, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
    let target = target(registry, group, plural, namespace, name)?;
    registry.decode(&target, &*target.get().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn alternatives_count_as_the_worst_case() {
        let claim = value!({"spec": {"devices": {"requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
            {"name": "b", "exactly": {"deviceClassName": "nic", "allocationMode": "All"}},
            {"name": "c", "firstAvailable": [
                {"name": "x", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                {"name": "y", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3},
                {"name": "z", "deviceClassName": "tpu", "allocationMode": "Odd", "count": 3}
            ]}
        ]}}});
        let claim = ResourceClaim::from_value(&claim).expect("a claim");
        let counted: Vec<(String, i64)> = devices(&claim.spec.devices.requests).into_iter().collect();
        let expected = [("gpu", 5), ("nic", 32), ("tpu", 0)].map(|(class, count)| (class.to_owned(), count));
        assert_eq!(counted, expected);
    }
}
