//! The quality of service class of a pod, from its requests and limits.
//!
//! Only cpu and memory count. Invalid quantities count as absent here; validation reports them.

use pintle_schema::{Quantity, View};
use pintle_types::core::v1::{Container, Pod, PodQOSClass, PodSpec, ResourceList, ResourceRequirements};
use std::collections::BTreeMap;

/// The resources that count.
const COUNTED: [&str; 2] = ["cpu", "memory"];

type Sums = BTreeMap<&'static str, Quantity>;

/// The class of a pod. Pod-level resources take precedence over those of containers.
pub fn class(pod: View<'_, Pod>) -> PodQOSClass {
    let spec = pod.field(Pod::SPEC);
    let (mut requests, mut limits) = (Sums::new(), Sums::new());
    let mut all_limited = true;
    match spec.field(PodSpec::RESOURCES).some() {
        Some(whole) => {
            add(&mut requests, &whole.field(ResourceRequirements::REQUESTS).get());
            let limited = whole.field(ResourceRequirements::LIMITS).get();
            let counted = add(&mut limits, &limited);
            all_limited = limited.is_empty() || counted == COUNTED.len();
        }
        None => {
            let containers = spec.field(PodSpec::CONTAINERS).iter().chain(spec.field(PodSpec::INIT_CONTAINERS).iter());
            for resources in containers.map(|container| container.field(Container::RESOURCES)) {
                add(&mut requests, &resources.field(ResourceRequirements::REQUESTS).get());
                let counted = add(&mut limits, &resources.field(ResourceRequirements::LIMITS).get());
                all_limited &= counted == COUNTED.len();
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        PodQOSClass::BEST_EFFORT
    } else if all_limited && requests == limits {
        PodQOSClass::GUARANTEED
    } else {
        PodQOSClass::BURSTABLE
    }
}

/// Adds the positive amounts of counted resources; returns how many there were.
fn add(sums: &mut Sums, amounts: &ResourceList) -> usize {
    let mut counted = 0;
    for name in COUNTED {
        if let Some(amount) = amounts.get(name).filter(|amount| amount.signum() > 0) {
            counted += 1;
            let sum = sums.entry(name).or_default();
            *sum = sum.add(amount);
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, value};

    fn container(requests: Value, limits: Value) -> Value {
        value!({"name": "a", "resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn classes() {
        let full = || value!({"cpu": "1", "memory": "1Gi"});
        let rows = [
            (value!([(container(value!({}), value!({})))]), "BestEffort"),
            (value!([(container(full(), full()))]), "Guaranteed"),
            (value!([(container(value!({"cpu": "1000m", "memory": "1024Mi"}), full()))]), "Guaranteed"),
            (value!([(container(full(), full())), (container(value!({}), value!({})))]), "Burstable"),
            (value!([(container(value!({"cpu": "1"}), full()))]), "Burstable"),
            (value!([(container(value!({}), value!({"cpu": "1"})))]), "Burstable"),
            (value!([(container(value!({"cpu": "0"}), value!({})))]), "BestEffort"),
            (value!([(container(value!({"example.com/gpu": "1"}), value!({"example.com/gpu": "1"})))]), "BestEffort"),
        ];
        for (containers, expected) in rows {
            let pod = value!({"spec": {"containers": (containers.clone())}});
            assert_eq!(class(View::new(&pod)), expected, "{containers:?}");
        }
        let whole =
            value!({"spec": {"containers": [{"name": "a"}], "resources": {"requests": (full()), "limits": (full())}}});
        assert_eq!(class(View::new(&whole)), "Guaranteed");
    }
}
