//! Defaults of pods and what they are made of: pull policies, empty volumes, resource requests, host ports.
//!
//! Those of `Pod` itself do not apply to templates: requests, host ports and service links are filled in when a pod is
//! made of one.

use super::image::is_latest;
use crate::defaulting::Rule;
use crate::defaulting::fields::{fill_map, get_mut, is_zero, items_mut, put, set, set_if_null, text};
use pintle_schema::quantity::Quantity;
use pintle_schema::{ApiType, FieldName, Map, Str, Value, View};
use pintle_types::core::v1::{
    Container, ContainerPort, ContainerRestartPolicy, EphemeralContainerCommon, ImageVolumeSource, Pod, PodSpec,
    PullPolicy, ResourceList, ResourceRequirements, Volume, VolumeSource,
};

pub const RULES: &[Rule] = &[
    (Pod::schema, container_requests),
    (Pod::schema, pod_huge_page_limits),
    (Pod::schema, pod_requests),
    (Pod::schema, service_links),
    (Pod::schema, host_ports),
    (Volume::schema, volume_source),
    (VolumeSource::schema, image_volume),
    (Container::schema, container),
    (EphemeralContainerCommon::schema, ephemeral_container),
];

fn container(container: &mut Value) {
    if is_zero(container, Container::IMAGE_PULL_POLICY) {
        let policy = pull_policy(text(container, Container::IMAGE));
        set(container, Container::IMAGE_PULL_POLICY, policy);
    }
}

fn ephemeral_container(container: &mut Value) {
    if is_zero(container, EphemeralContainerCommon::IMAGE_PULL_POLICY) {
        let policy = pull_policy(text(container, EphemeralContainerCommon::IMAGE));
        set(container, EphemeralContainerCommon::IMAGE_PULL_POLICY, policy);
    }
}

fn image_volume(source: &mut Value) {
    let Some(image) = get_mut(source, VolumeSource::IMAGE) else { return };
    if is_zero(image, ImageVolumeSource::PULL_POLICY) {
        let policy = pull_policy(text(image, ImageVolumeSource::REFERENCE));
        set(image, ImageVolumeSource::PULL_POLICY, policy);
    }
}

/// An image that moves is pulled each time.
fn pull_policy(image: &str) -> PullPolicy {
    if is_latest(image) { PullPolicy::ALWAYS } else { PullPolicy::IF_NOT_PRESENT }
}

/// A volume without any source is an empty directory.
fn volume_source(volume: &mut Value) {
    let is_source = |(key, value): (&Str, &Value)| {
        key != Volume::NAME.name() && !value.is_null() && VolumeSource::schema().field(key).is_some()
    };
    if !volume.as_map().is_some_and(|map| map.iter().any(is_source)) {
        put(volume, VolumeSource::EMPTY_DIR, Value::map());
    }
}

fn spec_mut(pod: &mut Value) -> Option<&mut Value> {
    get_mut(pod, Pod::SPEC)
}

/// The lists of containers that take resources and ports.
const CONTAINERS: [FieldName<PodSpec, Vec<Container>>; 2] = [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS];

/// The default requests of containers are their limits.
fn container_requests(pod: &mut Value) {
    let Some(spec) = spec_mut(pod) else { return };
    for containers in CONTAINERS {
        for container in items_mut(spec, containers) {
            if let Some(resources) = get_mut(container.raw(), Container::RESOURCES) {
                fill_map(resources, ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS);
            }
        }
    }
}

fn service_links(pod: &mut Value) {
    let is_set = View::<Pod>::new(pod).field(Pod::SPEC).field(PodSpec::ENABLE_SERVICE_LINKS).is_set();
    if !is_set {
        set_if_null(pod.map_entry(Pod::SPEC.name()), PodSpec::ENABLE_SERVICE_LINKS, true);
    }
}

/// On the host's network a port is the host's port.
fn host_ports(pod: &mut Value) {
    let Some(spec) = spec_mut(pod) else { return };
    if is_zero(spec, PodSpec::HOST_NETWORK) {
        return;
    }
    for containers in CONTAINERS {
        for container in items_mut(spec, containers) {
            for port in items_mut(container.raw(), Container::PORTS) {
                let port = port.raw();
                let number = View::<ContainerPort>::new(port).field(ContainerPort::CONTAINER_PORT).value();
                if is_zero(port, ContainerPort::HOST_PORT) && !number.is_zero() {
                    let number = number.clone();
                    put(port, ContainerPort::HOST_PORT, number);
                }
            }
        }
    }
}

const HUGE_PAGES: &str = "hugepages-";

/// Resources that a pod as a whole can have.
fn is_pod_level(resource: &str) -> bool {
    is_overcommitted(resource) || resource.starts_with(HUGE_PAGES)
}

/// Resources of a whole pod whose requests may be below the limits.
fn is_overcommitted(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory")
}

/// A pod limited as a whole is limited to the huge pages its containers are limited to together.
fn pod_huge_page_limits(pod: &mut Value) {
    let Some(spec) = spec_mut(pod) else { return };
    let Some(resources) = get_mut(spec, PodSpec::RESOURCES) else { return };
    let (limits, requests) = (ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS);
    if is_zero(resources, limits) && is_zero(resources, requests) {
        return;
    }
    let together = aggregate(spec, limits, |resource| resource.starts_with(HUGE_PAGES));
    add_missing(spec, limits, together, &[limits, requests]);
}

/// A pod limited as a whole requests what its containers request together, and of other resources what it is limited
/// to.
fn pod_requests(pod: &mut Value) {
    let Some(spec) = spec_mut(pod) else { return };
    let Some(resources) = get_mut(spec, PodSpec::RESOURCES) else { return };
    let (limits, requests) = (ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS);
    if is_zero(resources, limits) {
        return;
    }
    let together = aggregate(spec, requests, is_overcommitted);
    add_missing(spec, requests, together, &[requests]);
    let resources = View::<PodSpec>::new(spec).field(PodSpec::RESOURCES).or_zero();
    let limited = entries(resources.field(limits).value(), is_pod_level);
    add_missing(spec, requests, limited, &[requests]);
}

type Amounts = Vec<(Str, Quantity)>;

/// Adds to the pod's own resources, in field `to`, what none of the fields `unless` has.
fn add_missing(
    spec: &mut Value,
    to: FieldName<ResourceRequirements, ResourceList>,
    amounts: Amounts,
    unless: &[FieldName<ResourceRequirements, ResourceList>],
) {
    let Some(resources) = get_mut(spec, PodSpec::RESOURCES) else { return };
    for (resource, amount) in amounts {
        let has = |field: &FieldName<_, _>| {
            let list = View::<ResourceRequirements>::new(resources).field(*field).value();
            list.get(&resource).is_some()
        };
        if !unless.iter().any(has) {
            resources.map_entry(to.name()).make_map().push(resource, Value::String(amount.into_str()));
        }
    }
}

/// What the containers ask for together: the sum of those that run side by side, or what starting them needs if more.
fn aggregate(spec: &Value, field: FieldName<ResourceRequirements, ResourceList>, wanted: fn(&str) -> bool) -> Amounts {
    let spec = View::<PodSpec>::new(spec);
    let of =
        |container: View<'_, Container>| entries(container.field(Container::RESOURCES).field(field).value(), wanted);
    let mut running = Amounts::new();
    spec.field(PodSpec::CONTAINERS).iter().for_each(|container| add(&mut running, &of(container)));
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in spec.field(PodSpec::INIT_CONTAINERS).iter() {
        let policy = container.field(Container::RESTART_POLICY).value().as_str();
        let mut amounts = of(container);
        if policy == Some(ContainerRestartPolicy::ALWAYS.as_str()) {
            // A sidecar runs on beside the containers and beside those that start after it.
            add(&mut running, &amounts);
            add(&mut sidecars, &amounts);
            amounts.clone_from(&sidecars);
        } else {
            add(&mut amounts, &sidecars);
        }
        at_least(&mut starting, &amounts);
    }
    at_least(&mut running, &starting);
    running
}

fn entries(list: &Value, wanted: fn(&str) -> bool) -> Amounts {
    let entries = list.as_map().into_iter().flat_map(Map::iter).filter(|(key, _)| wanted(key));
    entries.filter_map(|(key, value)| Some((key.clone(), Quantity::parse(value.as_str()?).ok()?))).collect()
}

fn add(sum: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        match sum.iter_mut().find(|(key, _)| key == resource) {
            Some((_, sum)) => *sum = sum.add(amount),
            None => sum.push((resource.clone(), amount.clone())),
        }
    }
}

fn at_least(most: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        match most.iter_mut().find(|(key, _)| key == resource) {
            Some((_, most)) if *most < *amount => *most = amount.clone(),
            Some(_) => {}
            None => most.push((resource.clone(), amount.clone())),
        }
    }
}
