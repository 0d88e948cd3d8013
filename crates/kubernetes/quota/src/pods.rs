//! The usage of pods: requests, limits and their number, while they run. Guarantees that a terminated pod counts only as an
//! object. Must never look at nodes.

use crate::amounts::{merge, raise_to};
use crate::profile::{Profile, one};
use crate::scopes::Scopes;
use pintle_gates as gates;
use pintle_registry::Environment;
use pintle_schema::View;
use pintle_types::core::v1::{
    Affinity, Container, ContainerRestartPolicy, ContainerStatus, Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity,
    PodCondition, PodPhase, PodQOSClass, PodSpec, PodStatus, ResourceList, ResourceRequirements,
    WeightedPodAffinityTerm,
};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

const HUGE_PAGES: &str = "hugepages-";
/// Which of the names that every container must specify a container specifies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComputeOfContainer {
    name: String,
    requests: ResourceList,
    limits: ResourceList,
}

impl ComputeOfContainer {
    fn specifies(&self, name: &str) -> bool {
        match name {
            "cpu" | "requests.cpu" => self.requests.contains_key("cpu"),
            "memory" | "requests.memory" => self.requests.contains_key("memory"),
            "limits.cpu" => self.limits.contains_key("cpu"),
            "limits.memory" => self.limits.contains_key("memory"),
            _ => true,
        }
    }
}

/// Why a pod does not fit a quota that limits these names: the containers that do not specify one of them.
pub(crate) fn unspecified(containers: &[ComputeOfContainer], limited: &[&str]) -> Option<String> {
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers {
        for name in limited.iter().filter(|name| !container.specifies(name)) {
            missing.entry(name).or_default().insert(&container.name);
        }
    }
    let listed = missing.iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.iter().copied().collect();
        format!("{name} for: {}", containers.join(","))
    });
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| format!("must specify {}", listed.join("; ")))
}

pub(crate) fn profile(pod: View<'_, Pod>, environment: &dyn Environment) -> Profile {
    let spec = pod.field(Pod::SPEC);
    let has_level = environment.gates().is_on(&gates::POD_LEVEL_RESOURCES);
    let containers = if has_level && is_limited_as_one(spec) { Vec::new() } else { containers(spec) };
    let scopes = Scopes::Pod {
        terminating: is_terminating(pod),
        best_effort: pintle_groups::qos_class(pod) == PodQOSClass::BEST_EFFORT,
        priority_class: spec.field(PodSpec::PRIORITY_CLASS_NAME).get(),
        cross_namespace_affinity: has_cross_namespace_affinity(spec),
    };
    Profile { usage: usage(pod, environment), scopes, containers }
}

/// The usage of a pod.
pub(crate) fn usage(pod: View<'_, Pod>, environment: &dyn Environment) -> ResourceList {
    let mut usage = ResourceList::from([one("count/pods")]);
    if is_over(pod, environment.now_unix()) {
        return usage;
    }
    usage.extend([one("pods")]);
    let sums = Sums {
        pod,
        uses_status: environment.gates().is_on(&gates::IN_PLACE_POD_VERTICAL_SCALING),
        has_level: environment.gates().is_on(&gates::POD_LEVEL_RESOURCES),
    };
    for (name, amount) in sums.requests() {
        match name.as_str() {
            "cpu" | "memory" | "ephemeral-storage" => {}
            name if name.starts_with(HUGE_PAGES) => {}
            name if is_extended(name) => {
                usage.insert(format!("requests.{name}"), amount);
                continue;
            }
            _ => continue,
        }
        usage.insert(format!("requests.{name}"), amount.clone());
        usage.insert(name, amount);
    }
    for (name, amount) in sums.limits() {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            usage.insert(format!("limits.{name}"), amount);
        }
    }
    usage
}

/// Whether a pod has ended, or is overdue: a pod on a lost node must not block its replacement.
pub fn is_over(pod: View<'_, Pod>, now_unix: i64) -> bool {
    let phase = pod.field(Pod::STATUS).field(PodStatus::PHASE).get();
    if phase == PodPhase::FAILED || phase == PodPhase::SUCCEEDED {
        return true;
    }
    let metadata = pod.field(Pod::METADATA);
    let end = metadata.field(ObjectMeta::DELETION_TIMESTAMP).get();
    let grace = metadata.field(ObjectMeta::DELETION_GRACE_PERIOD_SECONDS).get();
    end.zip(grace).is_some_and(|(end, grace)| now_unix > end.seconds.saturating_add(grace))
}

/// Whether a pod runs for a limited time only.
pub(crate) fn is_terminating(pod: View<'_, Pod>) -> bool {
    let deadline = pod.field(Pod::SPEC).field(PodSpec::ACTIVE_DEADLINE_SECONDS).get();
    deadline.is_some_and(|seconds| seconds >= 0)
}

/// Whether a resource is one that nodes or device classes add to the system's own.
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") || name.starts_with("deviceclass.resource.kubernetes.io/")
}

/// Whether a resource can be requested at pod level.
fn is_of_whole(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

fn is_limited_as_one(spec: View<'_, PodSpec>) -> bool {
    let whole = spec.field(PodSpec::RESOURCES).get().unwrap_or_default();
    whole.requests.keys().chain(whole.limits.keys()).any(|name| is_of_whole(name))
}

fn containers(spec: View<'_, PodSpec>) -> Vec<ComputeOfContainer> {
    let all = spec.field(PodSpec::CONTAINERS).iter().chain(spec.field(PodSpec::INIT_CONTAINERS).iter());
    let compute = |container: View<'_, Container>| {
        let resources = container.field(Container::RESOURCES);
        ComputeOfContainer {
            name: container.field(Container::NAME).get(),
            requests: resources.field(ResourceRequirements::REQUESTS).get(),
            limits: resources.field(ResourceRequirements::LIMITS).get(),
        }
    };
    all.map(compute).collect()
}

/// Which of the two lists of a container's resources is summed.
#[derive(Clone, Copy, PartialEq)]
enum List {
    Requests,
    Limits,
}

/// The sums of a pod's resources.
struct Sums<'a> {
    pod: View<'a, Pod>,
    /// Allocated resources count where they exceed the requested ones.
    uses_status: bool,
    /// Pod-level resources count instead of those of containers.
    has_level: bool,
}

impl Sums<'_> {
    fn requests(&self) -> ResourceList {
        let mut sum = self.sum(List::Requests);
        merge(&mut sum, &self.pod.field(Pod::SPEC).field(PodSpec::OVERHEAD).get());
        sum
    }

    fn limits(&self) -> ResourceList {
        let mut sum = self.sum(List::Limits);
        // Overhead raises existing limits, and adds none.
        let overhead = self.pod.field(Pod::SPEC).field(PodSpec::OVERHEAD).get();
        for (name, amount) in overhead {
            if let Some(limit) = sum.get_mut(&name) {
                *limit = limit.add(&amount);
            }
        }
        sum
    }

    /// All that runs side by side, or the most demanding moment of the start.
    fn sum(&self, list: List) -> ResourceList {
        let spec = self.pod.field(Pod::SPEC);
        let mut total = ResourceList::new();
        for container in spec.field(PodSpec::CONTAINERS).iter() {
            merge(&mut total, &self.of_container(container, list));
        }
        // Restartable init containers run beside all later containers.
        let (mut beside, mut start) = (ResourceList::new(), ResourceList::new());
        for container in spec.field(PodSpec::INIT_CONTAINERS).iter() {
            let own = self.of_container(container, list);
            if container.field(Container::RESTART_POLICY).get() == Some(ContainerRestartPolicy::ALWAYS) {
                merge(&mut total, &own);
                merge(&mut beside, &own);
                raise_to(&mut start, &beside);
            } else {
                let mut moment = own;
                merge(&mut moment, &beside);
                raise_to(&mut start, &moment);
            }
        }
        raise_to(&mut total, &start);
        if self.has_level {
            let whole = spec.field(PodSpec::RESOURCES).get().unwrap_or_default();
            let whole = if list == List::Requests { whole.requests } else { whole.limits };
            total.extend(whole.into_iter().filter(|(name, _)| is_of_whole(name)));
        }
        total
    }

    fn of_container(&self, container: View<'_, Container>, list: List) -> ResourceList {
        let resources = container.field(Container::RESOURCES);
        let asked = match list {
            List::Requests => resources.field(ResourceRequirements::REQUESTS).get(),
            List::Limits => resources.field(ResourceRequirements::LIMITS).get(),
        };
        let Some(status) = self.status_of(container.field(Container::NAME).as_str()) else { return asked };
        let Some(actual) = status.field(ContainerStatus::RESOURCES).get() else { return asked };
        let mut sum = match list {
            List::Requests => actual.requests,
            List::Limits => actual.limits,
        };
        if list == List::Requests {
            raise_to(&mut sum, &status.field(ContainerStatus::ALLOCATED_RESOURCES).get());
        }
        if !self.is_resize_infeasible() {
            raise_to(&mut sum, &asked);
        }
        sum
    }

    fn status_of(&self, container: &str) -> Option<View<'_, ContainerStatus>> {
        let status = self.pod.field(Pod::STATUS);
        let mut all = status
            .field(PodStatus::CONTAINER_STATUSES)
            .iter()
            .chain(status.field(PodStatus::INIT_CONTAINER_STATUSES).iter())
            .filter(|_| self.uses_status);
        all.find(|status| status.field(ContainerStatus::NAME).as_str() == container)
    }

    /// Whether the node has rejected the requested resources.
    fn is_resize_infeasible(&self) -> bool {
        self.pod.field(Pod::STATUS).field(PodStatus::CONDITIONS).iter().any(|condition| {
            condition.field(PodCondition::TYPE).get() == "PodResizePending"
                && condition.field(PodCondition::REASON).as_str() == "Infeasible"
        })
    }
}

/// Whether a pod has affinity or anti-affinity to pods of other namespaces.
fn has_cross_namespace_affinity(spec: View<'_, PodSpec>) -> bool {
    let Some(affinity) = spec.field(PodSpec::AFFINITY).some() else { return false };
    let near = affinity.field(Affinity::POD_AFFINITY).or_zero();
    let far = affinity.field(Affinity::POD_ANTI_AFFINITY).or_zero();
    let required = near
        .field(PodAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION)
        .iter()
        .chain(far.field(PodAntiAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION).iter());
    let preferred = near
        .field(PodAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION)
        .iter()
        .chain(far.field(PodAntiAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION).iter());
    let preferred = preferred.map(|term| term.field(WeightedPodAffinityTerm::POD_AFFINITY_TERM));
    required.chain(preferred).any(|term| {
        term.field(PodAffinityTerm::NAMESPACES).iter().len() > 0
            || term.field(PodAffinityTerm::NAMESPACE_SELECTOR).some().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amounts::shown;
    use pintle_schema::gates::{ALL_GATES, GateSet};
    use pintle_schema::{Value, value};

    struct Still;

    impl Environment for Still {
        fn now_unix(&self) -> i64 {
            1000
        }

        fn random(&self, _: &mut [u8]) {}

        fn gates(&self) -> &GateSet {
            &ALL_GATES
        }
    }

    fn shown_usage(pod: &Value) -> String {
        shown(&usage(View::new(pod), &Still))
    }

    fn container(name: &str, requests: Value, limits: Value) -> Value {
        value!({"name": name, "resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn requests_and_limits_are_summed() {
        let requests = || value!({"cpu": "100m", "memory": "1Gi", "example.com/gpu": "1", "hugepages-2Mi": "2Mi"});
        let pod = value!({"spec": {
            "containers": [
                (container("a", requests(), value!({"cpu": "1"}))),
                (container("b", value!({"cpu": "200m"}), Value::Null))
            ],
            "initContainers": [(container("i", value!({"cpu": "2"}), Value::Null))],
            "overhead": {"cpu": "10m", "memory": "1Mi"}
        }});
        let expected = "count/pods=1,cpu=2010m,hugepages-2Mi=2Mi,limits.cpu=1010m,memory=1025Mi,pods=1,requests.cpu=2010m,\
                        requests.example.com/gpu=1,requests.hugepages-2Mi=2Mi,requests.memory=1025Mi";
        assert_eq!(shown_usage(&pod), expected);
    }

    #[test]
    fn sidecars_run_beside_all_others() {
        let mut sidecar = container("s", value!({"cpu": "1"}), Value::Null);
        sidecar.set_at(&["restartPolicy"], "Always");
        let pod = value!({"spec": {
            "containers": [(container("a", value!({"cpu": "1"}), Value::Null))],
            "initContainers": [sidecar, (container("i", value!({"cpu": "3"}), Value::Null))]
        }});
        assert_eq!(shown_usage(&pod), "count/pods=1,cpu=4,pods=1,requests.cpu=4");
    }

    #[test]
    fn allocated_resources_of_a_pod_count() {
        let status = |reason: &str| {
            value!({
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                "containerStatuses": [
                    {"name": "a", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
                ]
            })
        };
        let pod = |cpu: &str, reason: &str| {
            let containers = value!([(container("a", value!({"cpu": cpu}), Value::Null))]);
            value!({"spec": {"containers": containers}, "status": (status(reason))})
        };
        for (cpu, reason, counted) in [("1", "", "3"), ("4", "", "4"), ("4", "Infeasible", "3")] {
            let expected = format!("count/pods=1,cpu={counted},pods=1,requests.cpu={counted}");
            assert_eq!(shown_usage(&pod(cpu, reason)), expected);
        }
    }

    #[test]
    fn a_pod_as_a_whole() {
        let pod = value!({"spec": {
            "containers": [(container("a", value!({"cpu": "1", "example.com/gpu": "1"}), Value::Null))],
            "resources": {"requests": {"cpu": "5"}}
        }});
        assert_eq!(shown_usage(&pod), "count/pods=1,cpu=5,pods=1,requests.cpu=5,requests.example.com/gpu=1");
        assert_eq!(unspecified(&profile(View::new(&pod), &Still).containers, &["limits.cpu"]), None);
    }

    #[test]
    fn pods_that_have_ended_count_as_objects() {
        let over = [
            value!({"status": {"phase": "Succeeded"}}),
            value!({"status": {"phase": "Failed"}}),
            value!({"metadata": {"deletionTimestamp": "1970-01-01T00:16:00Z", "deletionGracePeriodSeconds": 30}}),
        ];
        for pod in &over {
            assert_eq!(shown_usage(pod), "count/pods=1");
        }
        let ends =
            value!({"metadata": {"deletionTimestamp": "1970-01-01T00:16:30Z", "deletionGracePeriodSeconds": 30}});
        assert_eq!(shown_usage(&ends), "count/pods=1,pods=1");
    }

    #[test]
    fn containers_must_specify_what_is_limited() {
        let pod = value!({"spec": {"containers": [
            (container("b", value!({"cpu": "1"}), Value::Null)),
            (container("a", Value::Null, Value::Null))
        ]}});
        let containers = profile(View::new(&pod), &Still).containers;
        let limited = ["pods", "limits.memory", "requests.cpu", "requests.ephemeral-storage"];
        let expected = "must specify limits.memory for: a,b; requests.cpu for: a";
        assert_eq!(unspecified(&containers, &limited).as_deref(), Some(expected));
        assert_eq!(unspecified(&containers[..1], &["cpu"]), None);
    }

    #[test]
    fn affinity_across_namespaces() {
        let term = |term: Value| {
            value!({"spec": {"affinity": {"podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
            }}}})
        };
        let rows = [
            (term(value!({"topologyKey": "a"})), false),
            (term(value!({"topologyKey": "a", "namespaces": ["b"]})), true),
            (term(value!({"topologyKey": "a", "namespaceSelector": {}})), true),
            (value!({"spec": {}}), false),
        ];
        for (pod, crosses) in rows {
            let spec = View::<Pod>::new(&pod).field(Pod::SPEC);
            assert_eq!(has_cross_namespace_affinity(spec), crosses);
        }
    }
}
