//! Rules of resizing a pod: only amounts of cpu and memory may change.

use super::update::same_but;
use super::{spec, text};
use pintle_gates as gates;
use pintle_schema::{Map, Quantity, Value, View};
use pintle_types::core::v1::{
    Container, ContainerResizePolicy, ContainerState, ContainerStatus, Pod, PodOS, PodSpec, PodStatus, ResourceList,
    ResourceRequirements, ResourceResizeRestartPolicy,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::BTreeMap;

const RESIZED: [&str; 2] = ["cpu", "memory"];
const ONLY_RESIZED: &str = "only cpu and memory resources are mutable";

/// Some pods cannot be resized at all.
pub fn can_be_resized(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let Some(old) = pod.old else { return };
    let os = old.field(Pod::SPEC).field(PodSpec::OS).some();
    if spec::is_mirror(old) {
        cx.errors.forbidden(FieldPath::ROOT, "static pods cannot be resized");
    } else if os.is_some_and(|os| text(os.field(PodOS::NAME)) == "windows") {
        cx.errors.forbidden(FieldPath::ROOT, "windows pods cannot be resized");
    }
}

/// The fields that a resize may change.
pub fn mutable_resources(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let Some(old_pod) = pod.old else { return };
    let (new, old) = (pod.new.field(Pod::SPEC), old_pod.field(Pod::SPEC));
    let path = pod.path.to(Pod::SPEC);
    let before = cx.errors.0.len();
    let status = old_pod.field(Pod::STATUS);
    let class = match text(status.field(PodStatus::QOS_CLASS)) {
        "" => quality(old),
        class => class,
    };
    if class != quality(new) {
        let shown = text(pod.new.field(Pod::STATUS).field(PodStatus::QOS_CLASS));
        cx.errors.invalid(path, shown, "Pod QOS Class may not change as a result of resizing");
    }
    if !node_supports(status) {
        cx.errors.forbidden(path, "Pod running on node without support for resize");
    }
    let has_own_resources = [new, old].into_iter().any(has_own_resources);
    if has_own_resources {
        own_resources(new, old, &path, cx);
    }
    if status.field(PodStatus::NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUSES).iter().len() > 0 {
        cx.errors.forbidden(path, "pods with node allocatable resource claims cannot be resized");
    }
    if !same_containers(new, old, &path, cx) {
        return;
    }
    let init_too = cx.enabled(&gates::IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS);
    for field in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        let path = path.to(field);
        for (index, (new, old)) in new.field(field).iter().zip(old.field(field).iter()).enumerate() {
            let is_init = field.name() == PodSpec::INIT_CONTAINERS.name();
            if !is_init || init_too || super::is_sidecar(old) {
                let (new, old) = (new.field(Container::RESOURCES), old.field(Container::RESOURCES));
                nothing_removed("resource", new, old, &path.index(index).to(Container::RESOURCES), cx);
            }
        }
    }
    for (new, old) in new.field(PodSpec::CONTAINERS).iter().zip(old.field(PodSpec::CONTAINERS).iter()) {
        if !is_resized_only(new, old) {
            cx.errors.forbidden(path, ONLY_RESIZED);
        }
    }
    init_containers(new, old, init_too, &path, cx);
    let mut validated = vec![PodSpec::CONTAINERS.name(), PodSpec::INIT_CONTAINERS.name()];
    validated.extend(has_own_resources.then_some(PodSpec::RESOURCES.name()));
    if cx.errors.0.len() == before && !same_but(new.value(), old.value(), &validated) {
        cx.errors.forbidden(path, ONLY_RESIZED);
    }
}

fn init_containers(
    new: View<'_, PodSpec>,
    old: View<'_, PodSpec>,
    init_too: bool,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let list = path.to(PodSpec::INIT_CONTAINERS);
    let pairs = new.field(PodSpec::INIT_CONTAINERS).iter().zip(old.field(PodSpec::INIT_CONTAINERS).iter());
    for (index, (new, old)) in pairs.enumerate() {
        let path_here = list.index(index);
        let is_sidecar = super::is_sidecar(new);
        if !is_sidecar && !init_too {
            if !pintle_validation::same(new.value(), old.value()) {
                cx.errors.forbidden(path, "resources for non-sidecar init containers are immutable");
            }
            continue;
        }
        if !is_resized_only(new, old) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            cx.errors.forbidden(path_here, detail);
        }
        if !is_sidecar && !pintle_validation::same(new.value(), old.value()) {
            for policy in new.field(Container::RESIZE_POLICY).iter() {
                let policy = policy.field(ContainerResizePolicy::RESTART_POLICY).get();
                if policy == ResourceResizeRestartPolicy::RESTART_CONTAINER {
                    let detail =
                        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                    cx.errors.forbidden(path_here, detail);
                }
            }
        }
    }
}

/// Whether two containers differ in nothing but amounts of cpu and memory. kube-apiserver forgets the claims of the new
/// container on the way, so one that had some never passes, and new ones pass.
fn is_resized_only(new: View<'_, Container>, old: View<'_, Container>) -> bool {
    let claims = old.field(Container::RESOURCES).field(ResourceRequirements::CLAIMS);
    claims.iter().len() == 0
        && same_but(new.value(), old.value(), &[Container::RESOURCES.name()])
        && are_lists_resized_only(new.field(Container::RESOURCES), old.field(Container::RESOURCES))
}

const LISTS: [&str; 2] = [ResourceRequirements::LIMITS.name(), ResourceRequirements::REQUESTS.name()];

fn are_resized_only(new: View<'_, ResourceRequirements>, old: View<'_, ResourceRequirements>) -> bool {
    same_but(new.value(), old.value(), &LISTS) && are_lists_resized_only(new, old)
}

fn are_lists_resized_only(new: View<'_, ResourceRequirements>, old: View<'_, ResourceRequirements>) -> bool {
    let lists = [ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS];
    lists.iter().all(|list| same_but(new.field(*list).value(), old.field(*list).value(), &RESIZED))
}

fn was_removed(new: View<'_, ResourceList>, old: View<'_, ResourceList>) -> bool {
    old.value().as_map().into_iter().flat_map(Map::keys).any(|name| new.value().get(name).is_none())
}

/// Requests and limits may change, but not be removed. Messages begin with the owner of the resources.
fn nothing_removed(
    of: &str,
    new: View<'_, ResourceRequirements>,
    old: View<'_, ResourceRequirements>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    for list in [ResourceRequirements::REQUESTS, ResourceRequirements::LIMITS] {
        if was_removed(new.field(list), old.field(list)) {
            cx.errors.forbidden(path.to(list), format!("{of} {} cannot be removed", list.name()));
        }
    }
}

/// Whether a pod has any limit or request of its own.
fn has_own_resources(spec: View<'_, PodSpec>) -> bool {
    let resources = spec.field(PodSpec::RESOURCES).or_zero();
    let lists = [ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS];
    lists.iter().any(|list| resources.field(*list).value().as_map().is_some_and(|amounts| !amounts.is_empty()))
}

/// The pod's own resources change as those of its containers do.
fn own_resources(new: View<'_, PodSpec>, old: View<'_, PodSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let (new, old) = (new.field(PodSpec::RESOURCES), old.field(PodSpec::RESOURCES));
    if !cx.enabled(&gates::IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING) {
        let detail = "resize of pods with pod-level resources is forbidden when \
                      InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
        return cx.errors.forbidden(FieldPath::ROOT, detail);
    }
    let place = path.to(PodSpec::RESOURCES);
    if old.is_set() && !new.is_set() {
        return cx.errors.forbidden(place, "pod-level resources cannot be removed");
    }
    let (new, old) = (new.or_zero(), old.or_zero());
    nothing_removed("pod-level resource", new, old, &place, cx);
    if !are_resized_only(new, old) {
        cx.errors.forbidden(path, "only cpu and memory resources are mutable at pod-level");
    }
}

/// Containers stay, in their order.
fn same_containers(
    new: View<'_, PodSpec>,
    old: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) -> bool {
    let mut is_same = true;
    for field in [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS] {
        let path = path.to(field);
        let kind = field.name();
        let (new, old) = (new.field(field), old.field(field));
        if new.iter().len() != old.iter().len() {
            cx.errors.forbidden(path, format!("{kind} may not be added or removed on resize"));
            is_same = false;
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old.iter()).enumerate() {
            if new.field(Container::NAME).as_str() != old.field(Container::NAME).as_str() {
                let detail = format!("{kind} may not be renamed or reordered on resize");
                cx.errors.forbidden(path.index(index).to(Container::NAME), detail);
                is_same = false;
            }
        }
    }
    is_same
}

/// A node that supports resize reports the resources of running containers.
fn node_supports(status: View<'_, PodStatus>) -> bool {
    let mut statuses = status.field(PodStatus::CONTAINER_STATUSES).iter();
    let running = statuses.find(|status| status.field(ContainerStatus::STATE).field(ContainerState::RUNNING).is_set());
    running.is_none_or(|status| status.field(ContainerStatus::RESOURCES).is_set())
}

/// The quality of service that a spec's requests and limits amount to.
fn quality(spec: View<'_, PodSpec>) -> &'static str {
    let mut requests: BTreeMap<&str, Quantity> = BTreeMap::new();
    let mut limits = requests.clone();
    let mut guaranteed = true;
    let mut count = |resources: View<'_, ResourceRequirements>| {
        let mut limited = 0;
        for name in RESIZED {
            let amount = |list: View<'_, ResourceList>| {
                let amount: Quantity = View::new(list.value().get(name).unwrap_or(&Value::Null)).get();
                (amount.signum() > 0).then_some(amount)
            };
            if let Some(amount) = amount(resources.field(ResourceRequirements::REQUESTS)) {
                let sum = requests.entry(name).or_default();
                *sum = sum.add(&amount);
            }
            if let Some(amount) = amount(resources.field(ResourceRequirements::LIMITS)) {
                limited += 1;
                let sum = limits.entry(name).or_default();
                *sum = sum.add(&amount);
            }
        }
        guaranteed &= limited == RESIZED.len();
    };
    match spec.field(PodSpec::RESOURCES).some() {
        Some(resources) => count(resources),
        None => {
            for field in [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS] {
                spec.field(field).iter().for_each(|container| count(container.field(Container::RESOURCES)));
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
