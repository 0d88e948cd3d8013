//! Rules of a pod's status, which nodes and controllers report.

use super::text;
use crate::rules::{Repeats, items, text_in};
use pintle_gates as gates;
use pintle_schema::{FieldName, Value, View, names};
use pintle_types::core::v1::{
    Container, ContainerExtendedResourceRequest, ContainerState, ContainerStateTerminated, ContainerStatus,
    ContainerUser, HostIP, Pod, PodCondition, PodExtendedResourceClaimStatus, PodIP, PodOS, PodResourceClaim,
    PodResourceClaimStatus, PodSpec, PodStatus, ResourceRequirements, ResourceStatus,
};
use pintle_validation::{At, ErrorKind, FieldPath, ValidationContext};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// The status that is replaced, and the spec of the pod; `None` if no status is reported.
fn replaced<'a>(cx: &ValidationContext<'a>) -> Option<(View<'a, PodStatus>, View<'a, PodSpec>)> {
    let old = cx.old_root::<Pod>().filter(|_| cx.request.subresource == "status")?;
    Some((old.field(Pod::STATUS), old.field(Pod::SPEC)))
}

/// The statuses of all containers, as kube-apiserver looks at them.
const LISTS: [FieldName<PodStatus, Vec<ContainerStatus>>; 3] =
    [PodStatus::CONTAINER_STATUSES, PodStatus::INIT_CONTAINER_STATUSES, PodStatus::EPHEMERAL_CONTAINER_STATUSES];

/// Conditions have types that are names.
pub fn conditions(conditions: At<'_, Vec<PodCondition>>, cx: &mut ValidationContext<'_>) {
    if replaced(cx).is_none() {
        return;
    }
    for (index, condition) in conditions.new.iter().enumerate() {
        let path = conditions.path.index(index);
        let kind = text(condition.field(PodCondition::TYPE));
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            cx.errors.invalid_each(path.child("Type"), &Value::from(kind), names::label_key(kind));
        }
    }
}

/// A pod that has a node is nominated for no other.
pub fn nominated_node(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    let Some((old, spec)) = replaced(cx) else { return };
    let field = PodStatus::NOMINATED_NODE_NAME;
    let name = status.new.field(field).as_str();
    if name.is_empty() || name == old.field(field).as_str() {
        return;
    }
    let bound = !spec.field(PodSpec::NODE_NAME).as_str().is_empty();
    if bound && cx.enabled(&gates::CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING) {
        cx.errors.forbidden(status.path.to(field), "may not be set on pods that are already bound to a node");
    }
}

/// No container that ended for good runs again.
pub fn transitions_of_all(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    let Some((old, spec)) = replaced(cx) else { return };
    for list in LISTS {
        transitions(status.new.field(list), old.field(list), spec, &status.path.to(list), cx);
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

/// Claims are those of the pod.
pub fn claims(statuses: At<'_, Vec<PodResourceClaimStatus>>, cx: &mut ValidationContext<'_>) {
    let Some((_, spec)) = replaced(cx) else { return };
    let claims = spec.field(PodSpec::RESOURCE_CLAIMS);
    let claims: HashSet<&str> = claims.iter().map(|claim| claim.field(PodResourceClaim::NAME).as_str()).collect();
    for (index, claim) in statuses.new.iter().enumerate() {
        let place = statuses.path.index(index);
        let name = claim.field(PodResourceClaimStatus::NAME).as_str();
        if !claims.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            cx.errors.invalid(place.to(PodResourceClaimStatus::NAME), name, detail);
        }
    }
}

/// Each claim is reported once.
pub fn distinct_claims(statuses: At<'_, Vec<PodResourceClaimStatus>>, cx: &mut ValidationContext<'_>) {
    let items = items(statuses.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, PodResourceClaimStatus::NAME));
    for index in 0..items.len() {
        let name = text_in(items, index, PodResourceClaimStatus::NAME);
        if repeats.is_repeated(index) && !name.is_empty() {
            cx.errors.duplicate(statuses.path.index(index).to(PodResourceClaimStatus::NAME), name);
        }
    }
}

/// The claim for extended resources names containers and what they ask for.
pub fn extended_claim(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    type Claim = PodExtendedResourceClaimStatus;
    type Mapping = ContainerExtendedResourceRequest;
    let Some((_, spec)) = replaced(cx) else { return };
    let Some(claim) = status.new.field(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS).some() else { return };
    let path = status.path.to(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS);
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
pub fn addresses(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    let Some((old, _)) = replaced(cx) else { return };
    let new = status.new;
    let [pods, old_pods] = [new, old].map(|status| status.field(PodStatus::POD_IPS).value());
    let path = status.path.to(PodStatus::POD_IPS);
    families(&texts(pods, PodIP::IP.name()), &texts(old_pods, PodIP::IP.name()), pods, &path, cx);
    let [hosts, old_hosts] = [new, old].map(|status| status.field(PodStatus::HOST_IPS).value());
    let path = status.path.to(PodStatus::HOST_IPS);
    let addresses = texts(hosts, HostIP::IP.name());
    if let Some(first) = addresses.first().filter(|first| **first != new.field(PodStatus::HOST_IP).as_str()) {
        let first_path = path.index(0);
        cx.errors.invalid(first_path.to(HostIP::IP), *first, "must be equal to `hostIP`");
    }
    families(&addresses, &texts(old_hosts, HostIP::IP.name()), hosts, &path, cx);
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
pub fn users_of_all(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    let Some((_, spec)) = replaced(cx) else { return };
    for list in LISTS {
        users(status.new.field(list), spec, &status.path.to(list), cx);
    }
}

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

/// Whether the status is that of an ephemeral container: it has no resources, and they are not looked into.
pub fn is_ephemeral(container: At<'_, ContainerStatus>, _: &ValidationContext<'_>) -> bool {
    container.path.parent().field_name() == PodStatus::EPHEMERAL_CONTAINER_STATUSES.name()
}

/// Health is reported of resources that containers have.
pub fn allocated_to_all(status: At<'_, PodStatus>, cx: &mut ValidationContext<'_>) {
    let Some((_, spec)) = replaced(cx) else { return };
    let lists = [
        (PodStatus::CONTAINER_STATUSES, PodSpec::CONTAINERS),
        (PodStatus::INIT_CONTAINER_STATUSES, PodSpec::INIT_CONTAINERS),
    ];
    for (list, containers) in lists {
        allocated(status.new.field(list), spec.field(containers), &status.path.to(list), cx);
    }
}

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
