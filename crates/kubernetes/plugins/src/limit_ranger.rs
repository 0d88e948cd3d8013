//! LimitRanger: sets default requests and limits, and checks those of containers, pods and claims. Guarantees that a
//! value in the object is never replaced, and that all violations are reported together. Must never check an object
//! that is being deleted.

use crate::limits::{Usage, Violations, of_pod};
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::metadata;
use pintle_registry::status::Result;
use pintle_schema::{Quantity, Value, View, ViewMut};
use pintle_types::core::v1::{
    Container, LimitRange, LimitRangeItem, LimitType, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodSpec,
    ResourceList, ResourceRequirements,
};
use pintle_types::meta::v1::ObjectMeta;

pub const PLUGIN: Plugin = Plugin::on(&[
    Requests::create("", "pods"),
    Requests::update("", "pods", "resize"),
    Requests::write("", "persistentvolumeclaims"),
])
.mutating(mutate)
.validating(validate);

const RANGES: Kind<LimitRange> = Kind::new("", "limitranges");
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    if request.resource() != "pods" {
        return Ok(());
    }
    for range in request.all(&RANGES, request.namespace())? {
        fill_pod(object, &range);
    }
    Ok(())
}

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    if metadata::is_terminating(object) {
        return Ok(());
    }
    for range in request.all(&RANGES, request.namespace())? {
        let mut violations = Violations::default();
        for item in &range.spec.limits {
            match request.resource() {
                "pods" => check_pod(object, item, &mut violations),
                _ => check_claim(object, item, &mut violations),
            }
        }
        if let Some(why) = violations.into_text() {
            return Err(request.forbidden(object, why));
        }
    }
    Ok(())
}

/// Sets the defaults of a pod's containers, and records them in an annotation.
fn fill_pod(object: &mut Value, range: &LimitRange) {
    let (mut requests, mut limits) = (ResourceList::new(), ResourceList::new());
    for item in range.spec.limits.iter().filter(|item| item.r#type == LimitType::CONTAINER) {
        requests.extend(item.default_request.clone());
        limits.extend(item.default.clone());
    }
    let mut notes = Vec::new();
    for (what, list) in [("container", PodSpec::CONTAINERS), ("init container", PodSpec::INIT_CONTAINERS)] {
        for mut container in ViewMut::<Pod>::new(object).field(Pod::SPEC).field(list).iter_mut() {
            let name = container.view().field(Container::NAME).get();
            for (kind, field, defaults) in [
                ("request", ResourceRequirements::REQUESTS, &requests),
                ("limit", ResourceRequirements::LIMITS, &limits),
            ] {
                let filled = fill(container.by_ref().field(Container::RESOURCES).field(field), defaults);
                if !filled.is_empty() {
                    notes.push(format!("{} {kind} for {what} {name}", filled.join(", ")));
                }
            }
        }
    }
    if !notes.is_empty() {
        let annotations = ViewMut::<Pod>::new(object).field(Pod::METADATA).field(ObjectMeta::ANNOTATIONS);
        annotations.raw().make_map().set(ANNOTATION, format!("LimitRanger plugin set: {}", notes.join("; ")));
    }
}

/// Adds the resources that a list lacks; returns their names.
fn fill<'a>(mut list: ViewMut<'_, ResourceList>, defaults: &'a ResourceList) -> Vec<&'a str> {
    let own = list.view().get();
    let lacking: Vec<(&String, &Quantity)> = defaults.iter().filter(|(name, _)| !own.contains_key(*name)).collect();
    for (name, quantity) in &lacking {
        list.by_ref().raw().make_map().set(name.as_str(), quantity.as_str());
    }
    lacking.into_iter().map(|(name, _)| name.as_str()).collect()
}

fn check_pod(object: &Value, item: &LimitRangeItem, violations: &mut Violations) {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    if item.r#type == LimitType::CONTAINER {
        for container in spec.field(PodSpec::CONTAINERS).iter().chain(spec.field(PodSpec::INIT_CONTAINERS).iter()) {
            violations.check(item, &Usage::of(container.field(Container::RESOURCES)));
        }
    }
    if item.r#type == LimitType::POD {
        violations.check(item, &of_pod(spec));
    }
}

fn check_claim(object: &Value, item: &LimitRangeItem, violations: &mut Violations) {
    if item.r#type != LimitType::PERSISTENT_VOLUME_CLAIM {
        return;
    }
    let spec = View::<PersistentVolumeClaim>::new(object).field(PersistentVolumeClaim::SPEC);
    let requests = spec.field(PersistentVolumeClaimSpec::RESOURCES).get().requests;
    violations.check_requests(item, &requests);
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    async fn cluster(limits: Value) -> Cluster {
        let cluster = Cluster::new().with_account("default").await;
        let range = value!({"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}});
        cluster.store("", "limitranges", range).await;
        cluster
    }

    fn pod(resources: &[Value]) -> Value {
        let containers: Vec<Value> = resources
            .iter()
            .zip(["c", "d", "e"])
            .map(|(resources, name)| value!({"name": name, "resources": (resources.clone())}))
            .collect();
        value!({"metadata": {"name": "p"}, "spec": {"containers": containers}})
    }

    #[tokio::test]
    async fn defaults_are_filled_and_noted() {
        let cluster = cluster(value!([
            {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m", "memory": "1Gi"}}
        ]))
        .await;
        let filled = value!({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}});
        let all = "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c";
        let own = value!({"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}});
        let rows = [
            (value!({}), filled, all),
            (
                value!({"limits": {"cpu": "1"}, "requests": {"cpu": "1", "memory": "1Mi"}}),
                value!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Mi"}}),
                "LimitRanger plugin set: memory limit for container c",
            ),
            (own.clone(), own, ""),
        ];
        for (resources, expected, note) in rows {
            let created = cluster.create("", "pods", pod(&[resources])).await.expect("admitted");
            let containers = created.at(&["spec", "containers"]).and_then(Value::as_list).unwrap_or(&[]);
            assert_eq!(containers.first().and_then(|container| container.get("resources")), Some(&expected));
            assert_eq!(created.str_at(&["metadata", "annotations", super::ANNOTATION]), note);
        }
    }

    #[tokio::test]
    async fn violations_are_reported_together() {
        let cluster = cluster(value!([
            {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}, "maxLimitRequestRatio": {"cpu": "2"}},
            {"type": "Pod", "max": {"cpu": "1500m"}},
            {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}
        ]))
        .await;
        let both = |limit: &str, request: &str| value!({"limits": {"cpu": limit}, "requests": {"cpu": request}});
        let rows: [(Vec<Value>, &str); 5] = [
            (
                vec![both("3", "3")],
                "[maximum cpu usage per Container is 1, but limit is 3, maximum cpu usage per Pod is 1500m, but limit is 3]",
            ),
            (
                vec![both("1", "400m")],
                "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
            ),
            (vec![both("50m", "50m")], "minimum cpu usage per Container is 100m, but request is 50m"),
            (vec![both("1", "1"), both("1", "1")], "maximum cpu usage per Pod is 1500m, but limit is 2"),
            (vec![both("500m", "300m")], ""),
        ];
        for (resources, why) in rows {
            let outcome = cluster.create("", "pods", pod(&resources)).await;
            let message = outcome.err().map(|status| status.message).unwrap_or_default();
            let expected = if why.is_empty() { String::new() } else { format!("pods \"p\" is forbidden: {why}") };
            assert_eq!(message, expected);
        }
        let rows = [
            ("10Gi", "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi"),
            ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
            ("2Gi", ""),
        ];
        for (size, why) in rows {
            let claim = value!({"metadata": {"name": "x"}, "spec": {"resources": {"requests": {"storage": size}}}});
            let outcome = cluster.create("", "persistentvolumeclaims", claim).await;
            let message = outcome.err().map(|status| status.message).unwrap_or_default();
            let expected = if why.is_empty() {
                String::new()
            } else {
                format!("persistentvolumeclaims \"x\" is forbidden: {why}")
            };
            assert_eq!(message, expected);
        }
    }
}
