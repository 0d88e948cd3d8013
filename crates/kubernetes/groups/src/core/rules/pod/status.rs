//! Rules of a pod's status, which nodes and controllers report.

use super::text;
use crate::rules::item_at;
use pintle_gates as gates;
use pintle_schema::{Value, View, names};
use pintle_types::core::v1::{
    Container, ContainerExtendedResourceRequest, ContainerState, ContainerStateTerminated, ContainerStatus,
    ContainerUser, HostIP, Pod, PodCondition, PodExtendedResourceClaimStatus, PodIP, PodOS, PodResourceClaim,
    PodResourceClaimStatus, PodSpec, PodStatus, ResourceRequirements, ResourceStatus,
};
use pintle_validation::{At, ErrorKind, FieldError, FieldPath, ValidationContext};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Rules of the status of a pod.
pub fn changes(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let Some(old_pod) = pod.old else { return };
    let spec = old_pod.field(Pod::SPEC);
    pod.field(Pod::STATUS, |status| {
        let Some(old) = status.old else { return };
        let (new, path) = (status.new, status.path);
        conditions(new, path, cx);
        nominated_node(new, old, spec, path, cx);
        let lists = [
            PodStatus::CONTAINER_STATUSES,
            PodStatus::INIT_CONTAINER_STATUSES,
            PodStatus::EPHEMERAL_CONTAINER_STATUSES,
        ];
        for list in lists {
            transitions(new.field(list), old.field(list), spec, &path.to(list), cx);
        }
        claims(new, spec, path, cx);
        extended_claim(new, spec, path, cx);
        addresses(new, old, path, cx);
        for list in lists {
            users(new.field(list), spec, &path.to(list), cx);
        }
        allocated(
            new.field(PodStatus::CONTAINER_STATUSES),
            spec.field(PodSpec::CONTAINERS),
            &path.to(PodStatus::CONTAINER_STATUSES),
            cx,
        );
        allocated(
            new.field(PodStatus::INIT_CONTAINER_STATUSES),
            spec.field(PodSpec::INIT_CONTAINERS),
            &path.to(PodStatus::INIT_CONTAINER_STATUSES),
            cx,
        );
        sort(path, cx);
    });
}

/// The resources of ephemeral containers are forbidden, and not validated. The other errors are sorted in the order in
/// which kube-apiserver validates a status: three times it looks at all containers.
fn sort(path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if cx.errors.is_empty() {
        return;
    }
    let inside = format!("{path}.");
    let resources = format!(".{}[", ContainerStatus::ALLOCATED_RESOURCES_STATUS.name());
    let ephemeral = format!("{inside}{}[", PodStatus::EPHEMERAL_CONTAINER_STATUSES.name());
    cx.errors.0.retain(|error| !(error.field.starts_with(&ephemeral) && error.field.contains(&resources)));
    if let Some(first) = cx.errors.0.iter().position(|error| error.field.starts_with(&inside)) {
        let step = |error: &FieldError| step(error, error.field.strip_prefix(&inside).unwrap_or_default());
        cx.errors.0[first..].sort_by_cached_key(step);
    }
}

/// The step of the validation that finds an error, and its place in the step.
fn step(error: &FieldError, path: &str) -> (usize, usize, usize) {
    const FIELDS: [&str; 9] = [
        PodStatus::CONDITIONS.name(),
        PodStatus::NOMINATED_NODE_NAME.name(),
        PodStatus::OBSERVED_GENERATION.name(),
        PodStatus::QOS_CLASS.name(),
        ContainerStatus::STATE.name(),
        PodStatus::RESOURCE_CLAIM_STATUSES.name(),
        PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS.name(),
        PodStatus::POD_IPS.name(),
        PodStatus::HOST_IPS.name(),
    ];
    const LISTS: [&str; 3] = [
        PodStatus::CONTAINER_STATUSES.name(),
        PodStatus::INIT_CONTAINER_STATUSES.name(),
        PodStatus::EPHEMERAL_CONTAINER_STATUSES.name(),
    ];
    let (field, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let at = |field: &str| FIELDS.iter().position(|other| *other == field);
    let Some(list) = LISTS.iter().position(|list| *list == field) else {
        let claims = PodStatus::RESOURCE_CLAIM_STATUSES.name();
        let (item, part) = match item_at(path, claims) {
            Some((item, rest)) => match error.kind {
                ErrorKind::Duplicate => (item, 1),
                _ if rest.strip_prefix('.') == Some(PodResourceClaimStatus::NAME.name()) => (item, 0),
                _ => (item, 2),
            },
            None => (0, 0),
        };
        return (at(field).unwrap_or(0), item, part);
    };
    let of_container = rest.split_once("].").map_or("", |(_, rest)| rest);
    let (own, _) = of_container.split_at(of_container.find(['.', '[']).unwrap_or(of_container.len()));
    let last = [ContainerStatus::USER.name(), ContainerStatus::ALLOCATED_RESOURCES_STATUS.name()];
    let step =
        at(own).unwrap_or_else(|| FIELDS.len() + last.iter().position(|last| *last == own).unwrap_or(last.len()));
    (step, list, 0)
}

fn conditions(status: View<'_, PodStatus>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let path = path.to(PodStatus::CONDITIONS);
    for (index, condition) in status.field(PodStatus::CONDITIONS).iter().enumerate() {
        let path = path.index(index);
        let kind = text(condition.field(PodCondition::TYPE));
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            cx.errors.invalid_each(path.child("Type"), &Value::from(kind), names::label_key(kind));
        }
    }
}

fn nominated_node(
    new: View<'_, PodStatus>,
    old: View<'_, PodStatus>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let field = PodStatus::NOMINATED_NODE_NAME;
    let name = new.field(field).as_str();
    if name.is_empty() || name == old.field(field).as_str() {
        return;
    }
    let bound = !spec.field(PodSpec::NODE_NAME).as_str().is_empty();
    if bound && cx.enabled(&gates::CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING) {
        cx.errors.forbidden(path.to(field), "may not be set on pods that are already bound to a node");
    }
}

/// A container that ended for good does not run again.
fn transitions(
    new: View<'_, Vec<ContainerStatus>>,
    old: View<'_, Vec<ContainerStatus>>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let terminated = |status: View<'_, ContainerStatus>| {
        let state = status.field(ContainerStatus::STATE).field(ContainerState::TERMINATED);
        state.some().map(|state| state.field(ContainerStateTerminated::EXIT_CODE).get())
    };
    for (index, new) in new.iter().enumerate() {
        let name = new.field(ContainerStatus::NAME).as_str();
        let old = old.iter().find(|old| old.field(ContainerStatus::NAME).as_str() == name);
        let Some(code) = old.and_then(terminated) else { continue };
        if terminated(new).is_none() && !restarts(spec, name, code) {
            let detail = "may not be transitioned to non-terminated state";
            cx.errors.forbidden(path.index(index).to(ContainerStatus::STATE), detail);
        }
    }
}

/// Whether a container may run again after it ended. Rules for single exit codes may allow it, so they do.
fn restarts(spec: View<'_, PodSpec>, name: &str, code: i32) -> bool {
    let named = |field| {
        let mut containers = View::field::<Vec<Container>>(spec, field).iter();
        containers.find(|container| container.field(Container::NAME).as_str() == name)
    };
    let (regular, init) = (named(PodSpec::CONTAINERS), named(PodSpec::INIT_CONTAINERS));
    let Some(container) = regular.or(init) else { return false };
    if container.field(Container::RESTART_POLICY_RULES).iter().len() > 0 {
        return true;
    }
    let own = text(container.field(Container::RESTART_POLICY));
    match if own.is_empty() { text(spec.field(PodSpec::RESTART_POLICY)) } else { own } {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

fn claims(status: View<'_, PodStatus>, spec: View<'_, PodSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let path = path.to(PodStatus::RESOURCE_CLAIM_STATUSES);
    let statuses = status.field(PodStatus::RESOURCE_CLAIM_STATUSES);
    let claims = spec.field(PodSpec::RESOURCE_CLAIMS);
    let claims: HashSet<&str> = claims.iter().map(|claim| claim.field(PodResourceClaim::NAME).as_str()).collect();
    for (index, claim) in statuses.iter().enumerate() {
        let place = path.index(index);
        let name = claim.field(PodResourceClaimStatus::NAME).as_str();
        if !claims.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            cx.errors.invalid(place.to(PodResourceClaimStatus::NAME), name, detail);
        }
    }
}

fn extended_claim(
    status: View<'_, PodStatus>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    type Claim = PodExtendedResourceClaimStatus;
    type Mapping = ContainerExtendedResourceRequest;
    let Some(claim) = status.field(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS).some() else { return };
    let path = path.to(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS);
    let list = path.to(Claim::REQUEST_MAPPINGS);
    // Of several with a name the last one counts.
    let containers = spec.field(PodSpec::INIT_CONTAINERS).iter().chain(spec.field(PodSpec::CONTAINERS).iter());
    let containers: HashMap<&str, View<'_, Container>> =
        containers.map(|container| (container.field(Container::NAME).as_str(), container)).collect();
    for (index, mapping) in claim.field(Claim::REQUEST_MAPPINGS).iter().enumerate() {
        let place = list.index(index);
        let name = mapping.field(Mapping::CONTAINER_NAME).as_str();
        let resource = text(mapping.field(Mapping::RESOURCE_NAME));
        match containers.get(name) {
            None => {
                let detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                cx.errors.invalid(place.to(Mapping::CONTAINER_NAME), name, detail);
            }
            Some(container) => {
                let requests = container.field(Container::RESOURCES).field(ResourceRequirements::REQUESTS);
                if requests.value().get(resource).is_none() {
                    let detail = "must match the extended resource name of an entry in \
                                  spec.initContainers.resources.requests or spec.containers.resources.requests";
                    cx.errors.invalid(place.to(Mapping::RESOURCE_NAME), resource, detail);
                }
            }
        }
        let request = mapping.field(Mapping::REQUEST_NAME).as_str();
        let messages = names::dns1123_label(request);
        cx.errors.invalid_each(path.child("requestName"), &Value::from(request), messages);
    }
}

/// Addresses of the pod and of its node: at most one of each family. Addresses of the stored pod stay valid.
fn addresses<'a>(
    status: View<'a, PodStatus>,
    old: View<'a, PodStatus>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let pods = |status: View<'a, PodStatus>| texts(status.field(PodStatus::POD_IPS).value(), PodIP::IP.name());
    let value = status.field(PodStatus::POD_IPS).value();
    families(&pods(status), &pods(old), value, &path.to(PodStatus::POD_IPS), cx);
    let hosts = |status: View<'a, PodStatus>| texts(status.field(PodStatus::HOST_IPS).value(), HostIP::IP.name());
    let new = hosts(status);
    let path = path.to(PodStatus::HOST_IPS);
    if let Some(first) = new.first().filter(|first| **first != status.field(PodStatus::HOST_IP).as_str()) {
        let first_path = path.index(0);
        cx.errors.invalid(first_path.to(HostIP::IP), *first, "must be equal to `hostIP`");
    }
    families(&new, &hosts(old), status.field(PodStatus::HOST_IPS).value(), &path, cx);
}

fn texts<'a>(addresses: &'a Value, name: &str) -> Vec<&'a str> {
    addresses.as_list().unwrap_or_default().iter().map(|address| address.str_at(&[name])).collect()
}

fn families(texts: &[&str], old: &[&str], value: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let strict = cx.enabled(&gates::STRICT_IP_CIDR_VALIDATION);
    let old: HashSet<&str> = old.iter().copied().collect();
    for (index, ip) in texts.iter().enumerate().filter(|(_, ip)| !old.contains(*ip)) {
        cx.errors.invalid_each(path.index(index), &Value::from(*ip), names::ip::ip_legacy(ip, strict));
    }
    // An IPv4-mapped address counts as IPv4.
    let parsed = texts.iter().filter_map(|ip| names::ip::parse_ip_sloppy(ip));
    let parsed: Vec<IpAddr> = parsed.map(|ip| ip.to_canonical()).collect();
    let of_both = parsed.iter().any(IpAddr::is_ipv4) && parsed.iter().any(IpAddr::is_ipv6);
    if texts.len() < 2 {
        return;
    }
    let wrong = texts.iter().enumerate().find(|(_, ip)| names::ip::parse_ip_sloppy(ip).is_none());
    if let Some((index, ip)) = wrong {
        let detail = format!("failed to check for dual stack with error:invalid IP[{index}]: {ip}");
        cx.errors.push(ErrorKind::Internal, path, None, detail);
    }
    if wrong.is_some() || !of_both || texts.len() > 2 {
        let shown = Value::List(value.as_list().unwrap_or(&[]).iter().map(shown_ip).collect());
        cx.errors.invalid(path, shown, "may specify no more than one IP for each IP family");
    }
}

fn shown_ip(ip: &Value) -> Value {
    pintle_schema::value!({"IP": (ip.str_at(&[PodIP::IP.name()]))})
}

/// Users and groups by number are not for Windows.
fn users(
    statuses: View<'_, Vec<ContainerStatus>>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    if spec.field(PodSpec::OS).some().is_none_or(|os| text(os.field(PodOS::NAME)) != "windows") {
        return;
    }
    for (index, status) in statuses.iter().enumerate() {
        if status.field(ContainerStatus::USER).or_zero().field(ContainerUser::LINUX).is_set() {
            let path = path.index(index);
            let path = path.to(ContainerStatus::USER);
            cx.errors.forbidden(path.to(ContainerUser::LINUX), "cannot be set for a windows pod");
        }
    }
}

/// The health of resources that a container has.
fn allocated(
    statuses: View<'_, Vec<ContainerStatus>>,
    containers: View<'_, Vec<Container>>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    for (index, status) in statuses.iter().enumerate() {
        let name = status.field(ContainerStatus::NAME).as_str();
        let container = containers.iter().find(|container| container.field(Container::NAME).as_str() == name);
        let path = path.index(index);
        let path = path.to(ContainerStatus::ALLOCATED_RESOURCES_STATUS);
        for (index, resource) in status.field(ContainerStatus::ALLOCATED_RESOURCES_STATUS).iter().enumerate() {
            let path = path.index(index);
            let name = text(resource.field(ResourceStatus::NAME));
            if let Some(container) = container {
                asked_for(name, container.field(Container::RESOURCES), &path.to(ResourceStatus::NAME), cx);
            }
        }
    }
}

fn asked_for(
    name: &str,
    resources: View<'_, ResourceRequirements>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    use pintle_types::core::v1::ResourceClaim;
    let Some(claim) = name.strip_prefix("claim:") else {
        if resources.field(ResourceRequirements::REQUESTS).value().get(name).is_none() {
            cx.errors.invalid(path, name, "must match one of the container's resource requests");
        }
        return;
    };
    let is_asked = resources.field(ResourceRequirements::CLAIMS).iter().any(|asked| {
        let (name, request) = (text(asked.field(ResourceClaim::NAME)), text(asked.field(ResourceClaim::REQUEST)));
        if request.is_empty() { claim == name } else { claim.split_once('/') == Some((name, request)) }
    });
    if !is_asked {
        let detail = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or \
                      'claim:<claimName>' if request is empty";
        cx.errors.invalid(path, name, detail);
    }
}
