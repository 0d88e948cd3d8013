//! Rules of Service: its ports, what its type allows, how it is reached, and what its load balancer may report.

use crate::rules::internal_form::in_full;
use crate::rules::warnings::{Written, address, block, each};
use crate::rules::{Repeats, invalid_each, items, legacy_cidr, legacy_ip, text_in};
use pintle_schema::names::{self, ip};
use pintle_schema::{Value, View, value};
use pintle_types::core::v1::{
    IPFamily, IPFamilyPolicy, LoadBalancerIngress, LoadBalancerStatus, Service, ServiceExternalTrafficPolicy,
    ServicePort, ServiceSpec, ServiceStatus, ServiceType,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, Operation, ValidationContext};

/// The address of services that have none.
const NONE: &str = "None";

const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Whether a service is of a type.
pub fn is(spec: View<'_, ServiceSpec>, kind: &ServiceType) -> bool {
    spec.field(ServiceSpec::TYPE).value().as_str() == Some(kind.as_str())
}

/// Whether a service has no address because it asked for none.
pub fn is_headless(spec: View<'_, ServiceSpec>) -> bool {
    matches!(items(spec.field(ServiceSpec::CLUSTER_IPS)), [only] if only.as_str() == Some(NONE))
}

fn spec_of<'a>(cx: &ValidationContext<'a>) -> View<'a, ServiceSpec> {
    cx.root::<Service>().field(Service::SPEC)
}

fn annotation<'a>(service: View<'a, Service>, key: &str) -> Option<&'a str> {
    service.field(Service::METADATA).field(ObjectMeta::ANNOTATIONS).value().get(key)?.as_str()
}

/// The two names of one annotation must not say different things.
pub fn topology_mode(service: At<'_, Service>, cx: &mut ValidationContext<'_>) {
    let (mode, hints) = (annotation(service.new, TOPOLOGY_MODE), annotation(service.new, TOPOLOGY_HINTS));
    if let (Some(mode), Some(hints)) = (mode, hints)
        && mode != hints
    {
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        let metadata = service.path.to(Service::METADATA);
        cx.errors.invalid(metadata.to(ObjectMeta::ANNOTATIONS).key(TOPOLOGY_MODE), mode, detail);
    }
}

/// An IPv4-mapped address counts as IPv4.
fn family_of(address: &str) -> Option<&'static str> {
    ip::parse_ip_sloppy(address).map(|address| if address.to_canonical().is_ipv4() { "IPv4" } else { "IPv6" })
}

/// The only address is the first of all.
pub fn first_cluster_ip(ip: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let spec = spec_of(cx);
    if is(spec, &ServiceType::EXTERNAL_NAME) {
        return;
    }
    let all = spec.field(ServiceSpec::CLUSTER_IPS);
    let path = ip.path.parent().to(ServiceSpec::CLUSTER_IPS);
    let single = ip.new.as_str();
    match items(all).first() {
        None if !single.is_empty() => cx.errors.required(path, ""),
        Some(_) if single.is_empty() => {
            cx.errors.invalid(path, all.value().clone(), "must be empty when `clusterIP` is not specified");
        }
        Some(first) if first.as_str() != Some(single) => {
            cx.errors.invalid(path, all.value().clone(), "first value must match `clusterIP`");
        }
        _ => {}
    }
}

/// Addresses fit their families.
pub fn cluster_ips(ips: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let spec = spec_of(cx);
    if is(spec, &ServiceType::EXTERNAL_NAME) {
        return;
    }
    let list = items(ips.new);
    let all = || ips.new.value().clone();
    let old = ips.old.map(items).unwrap_or_default();
    let mut valid = true;
    for (at, ip) in list.iter().enumerate() {
        let text = ip.as_str().unwrap_or_default();
        if at == 0 && text == NONE {
            if list.len() > 1 {
                valid = false;
                cx.errors.invalid(ips.path, all(), "'None' must be the first and only value");
            }
        } else if !old.contains(ip) {
            valid &= legacy_ip(text, &ips.path.index(at), cx);
        }
    }
    if list.len() > 2 {
        cx.errors.invalid(ips.path, all(), "may only hold up to 2 values");
    }
    if valid {
        address_families(ips, spec, cx);
    }
}

/// For addresses that are right each by itself.
fn address_families(ips: At<'_, Vec<String>>, spec: View<'_, ServiceSpec>, cx: &mut ValidationContext<'_>) {
    let list = items(ips.new);
    let has = |family| list.iter().any(|ip| ip.as_str().and_then(family_of) == Some(family));
    if list.len() > 1 && !(has("IPv4") && has("IPv6")) {
        let detail = "may specify no more than one IP for each IP family";
        cx.errors.invalid(ips.path, ips.new.value().clone(), detail);
    }
    if is_headless(spec) {
        return;
    }
    for (at, (ip, wanted)) in list.iter().zip(items(spec.field(ServiceSpec::IP_FAMILIES))).enumerate() {
        let (ip, wanted) = (ip.as_str().unwrap_or_default(), wanted.as_str().unwrap_or_default());
        if matches!(wanted, "IPv4" | "IPv6") && family_of(ip) != Some(wanted) {
            let detail = format!("expected an {wanted} value as indicated by `ipFamilies[{at}]`");
            cx.errors.invalid(ips.path.index(at), ip, detail);
        }
    }
}

/// Ports have distinct names.
pub fn distinct_ports(ports: At<'_, Vec<ServicePort>>, cx: &mut ValidationContext<'_>) {
    let items = items(ports.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, ServicePort::NAME));
    for index in 0..items.len() {
        let name = text_in(items, index, ServicePort::NAME);
        if repeats.is_repeated(index) && !name.is_empty() {
            cx.errors.duplicate(ports.path.index(index).to(ServicePort::NAME), name);
        }
    }
}

/// Families of addresses are distinct.
pub fn distinct_families(families: At<'_, Vec<IPFamily>>, cx: &mut ValidationContext<'_>) {
    let items = items(families.new);
    let family = |at: usize| items.get(at).and_then(Value::as_str).unwrap_or_default();
    let mut repeats = Repeats::new(items.len(), family);
    for index in 0..items.len() {
        if repeats.is_repeated(index) {
            cx.errors.duplicate(families.path.index(index), family(index));
        }
    }
}

/// Addresses from outside can be reached from outside.
pub fn external_ips(ips: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let old = ips.old.map(items).unwrap_or_default();
    for (at, ip) in items(ips.new).iter().enumerate() {
        let text = ip.as_str().unwrap_or_default();
        let path = ips.path.index(at);
        if old.contains(ip) || legacy_ip(text, &path, cx) {
            invalid_each(text, ip::endpoint_ip(text), &path, cx);
        }
    }
}

/// Services without node ports name none, ports are not served twice, and the ranges that a load balancer lets in are ranges.
pub fn ports_and_ranges(ranges: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let spec = spec_of(cx);
    let ports = items(spec.field(ServiceSpec::PORTS));
    if is(spec, &ServiceType::CLUSTER_IP) {
        no_node_ports(ports, cx);
    }
    repeated_ports(ports, cx);
    source_ranges(ranges, is(spec, &ServiceType::LOAD_BALANCER), cx);
}

fn no_node_ports(ports: &[Value], cx: &mut ValidationContext<'_>) {
    let root = FieldPath::new(Service::SPEC.name());
    let path = root.to(ServiceSpec::PORTS);
    for (at, port) in ports.iter().enumerate() {
        if View::<ServicePort>::new(port).field(ServicePort::NODE_PORT).get() != 0 {
            let detail = "may not be used when `type` is 'ClusterIP'";
            cx.errors.forbidden(path.index(at).to(ServicePort::NODE_PORT), detail);
        }
    }
}

fn repeated_ports(ports: &[Value], cx: &mut ValidationContext<'_>) {
    let number = |at: usize, field: &str| -> i64 {
        ports.get(at).and_then(|port| port.get(field)).and_then(Value::as_i64).unwrap_or_default()
    };
    let node_port = |at: usize| number(at, ServicePort::NODE_PORT.name());
    let protocol = |at: usize| text_in(ports, at, ServicePort::PROTOCOL);
    let root = FieldPath::new(Service::SPEC.name());
    let path = root.to(ServiceSpec::PORTS);
    let mut taken = Repeats::new(ports.len(), |at| (protocol(at), node_port(at)));
    for at in 0..ports.len() {
        if taken.is_repeated(at) && node_port(at) != 0 {
            cx.errors.duplicate(path.index(at).to(ServicePort::NODE_PORT), node_port(at));
        }
    }
    let mut served = Repeats::new(ports.len(), |at| (protocol(at), number(at, ServicePort::PORT.name())));
    for at in 0..ports.len() {
        if served.is_repeated(at) {
            // kube-apiserver shows the fields of the port that must be unique.
            let key = value!({"protocol": (protocol(at)), "port": (number(at, ServicePort::PORT.name()))});
            cx.errors.duplicate(path.index(at), in_full(View::<ServicePort>::new(&key)));
        }
    }
}

/// The field is filled in for load balancers. kube-apiserver's path of this error begins at the field.
pub fn allocates(allocates: At<'_, Option<bool>>, cx: &mut ValidationContext<'_>) {
    if !allocates.new.is_set() && is(spec_of(cx), &ServiceType::LOAD_BALANCER) {
        cx.errors.required(ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS.name(), "");
    }
}

fn source_ranges(ranges: At<'_, Vec<String>>, balanced: bool, cx: &mut ValidationContext<'_>) {
    let list = items(ranges.new);
    if !list.is_empty() {
        // kube-apiserver's path has this capital.
        let root = FieldPath::new(Service::SPEC.name());
        let path = root.child("LoadBalancerSourceRanges");
        only_for(balanced, &path, cx);
        let old = ranges.old.map(items).unwrap_or_default();
        for (at, range) in list.iter().enumerate().filter(|(_, range)| !old.contains(range)) {
            legacy_cidr(range.as_str().unwrap_or_default().trim(), &path.index(at), cx);
        }
        return;
    }
    let Some(annotated) = annotation(cx.root(), SOURCE_RANGES) else { return };
    let metadata = FieldPath::new(Service::METADATA.name());
    let annotations = metadata.to(ObjectMeta::ANNOTATIONS);
    let path = annotations.key(SOURCE_RANGES);
    only_for(balanced, &path, cx);
    let is_new = cx.old_root::<Service>().is_none_or(|old| annotation(old, SOURCE_RANGES) != Some(annotated));
    if is_new && !annotated.trim().is_empty() {
        annotated.split(',').for_each(|range| _ = legacy_cidr(range.trim(), &path, cx));
    }
}

/// Fields of load balancers only.
fn only_for(balanced: bool, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if !balanced {
        cx.errors.forbidden(path, "may only be used when `type` is 'LoadBalancer'");
    }
}

/// Only load balancers are of a class.
pub fn load_balancer_class(class: At<'_, Option<String>>, balanced: bool, cx: &mut ValidationContext<'_>) {
    match class.new.some() {
        Some(class_name) if balanced => {
            let name = class_name.as_str();
            invalid_each(name, names::label_key(name), class.path, cx);
        }
        Some(_) => only_for(balanced, class.path, cx),
        None => {}
    }
}

/// Whether a load balancer has to ask nodes if they have endpoints.
pub fn needs_health_check(spec: View<'_, ServiceSpec>) -> bool {
    let policy = spec.field(ServiceSpec::EXTERNAL_TRAFFIC_POLICY).value().as_str();
    is(spec, &ServiceType::LOAD_BALANCER) && policy == Some(ServiceExternalTrafficPolicy::LOCAL.as_str())
}

/// Updates of addresses, families, the load balancer class and the health check port.
pub fn keeps(service: At<'_, Service>, cx: &mut ValidationContext<'_>) {
    service.field(Service::SPEC, |spec| {
        let Some(old) = spec.old else { return };
        keeps_addresses(spec, old, cx);
        keeps_families(spec, old, cx);
        let balanced = is(spec.new, &ServiceType::LOAD_BALANCER);
        spec.field(ServiceSpec::LOAD_BALANCER_CLASS, |class| {
            if balanced && is(old, &ServiceType::LOAD_BALANCER) && !class.unchanged() {
                cx.errors.invalid(class.path, class.new.value().clone(), "may not change once set");
            }
            load_balancer_class(class, balanced, cx);
        });
        let checked = needs_health_check(spec.new) && needs_health_check(old);
        spec.field(ServiceSpec::HEALTH_CHECK_NODE_PORT, |port| {
            if checked && !port.unchanged() {
                cx.errors.forbidden(port.path, "field is immutable");
            }
        });
    });
}

fn has_alias(spec: At<'_, ServiceSpec>, old: View<'_, ServiceSpec>) -> bool {
    is(spec.new, &ServiceType::EXTERNAL_NAME) || is(old, &ServiceType::EXTERNAL_NAME)
}

fn is_single(spec: View<'_, ServiceSpec>) -> bool {
    let policy = spec.field(ServiceSpec::IP_FAMILY_POLICY).value().as_str();
    policy == Some(IPFamilyPolicy::SINGLE_STACK.as_str())
}

fn keeps_addresses(spec: At<'_, ServiceSpec>, old: View<'_, ServiceSpec>, cx: &mut ValidationContext<'_>) {
    if has_alias(spec, old) || is_headless(spec.new) && is_headless(old) {
        return;
    }
    let all = spec.new.field(ServiceSpec::CLUSTER_IPS);
    let path = spec.path.to(ServiceSpec::CLUSTER_IPS);
    keeps_first(items(all), items(old.field(ServiceSpec::CLUSTER_IPS)), all.value(), &path, cx);
    let (count, before) = (items(all).len(), items(old.field(ServiceSpec::CLUSTER_IPS)).len());
    if count == 0 && before > 0 {
        cx.errors.invalid(path.index(0), all.value().clone(), "primary clusterIP can not be unset");
    }
    releases(spec, count, before, "clusterIP", cx);
}

fn keeps_families(spec: At<'_, ServiceSpec>, old: View<'_, ServiceSpec>, cx: &mut ValidationContext<'_>) {
    if has_alias(spec, old) || is_headless(spec.new) || is_headless(old) {
        return;
    }
    let families = spec.new.field(ServiceSpec::IP_FAMILIES);
    let path = spec.path.to(ServiceSpec::IP_FAMILIES);
    keeps_first(items(families), items(old.field(ServiceSpec::IP_FAMILIES)), families.value(), &path, cx);
    let (count, before) = (items(families).len(), items(old.field(ServiceSpec::IP_FAMILIES)).len());
    // kube-apiserver looks at the addresses here, not at the families.
    if count < before && items(spec.new.field(ServiceSpec::CLUSTER_IPS)).is_empty() {
        cx.errors.invalid(path.index(0), families.value().clone(), "primary ipFamily can not be unset");
    }
    releases(spec, count, before, "ipFamily", cx);
}

/// The first stays; as many as before stay as they are.
fn keeps_first(new: &[Value], old: &[Value], all: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let validated = if new.len() == old.len() { new.len() } else { 1 };
    for (at, (new, old)) in new.iter().zip(old).take(validated).enumerate() {
        if new != old {
            cx.errors.invalid(path.index(at), all.clone(), "may not change once set");
        }
    }
}

/// Removing the secondary address requires a single-stack policy.
fn releases(spec: At<'_, ServiceSpec>, count: usize, before: usize, what: &str, cx: &mut ValidationContext<'_>) {
    if count == 1 && before > 1 && !is_single(spec.new) {
        let policy = spec.new.field(ServiceSpec::IP_FAMILY_POLICY).value().clone();
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        cx.errors.invalid(spec.path.to(ServiceSpec::IP_FAMILY_POLICY), policy, detail);
    }
}

/// Only services of type LoadBalancer have a load balancer status; the status of others is not validated.
pub fn only_balancers_report(status: At<'_, LoadBalancerStatus>, cx: &mut ValidationContext<'_>) {
    status.field(LoadBalancerStatus::INGRESS, |ingress| {
        if !is(spec_of(cx), &ServiceType::LOAD_BALANCER) && !items(ingress.new).is_empty() {
            cx.errors.forbidden(ingress.path, "may only be used when `spec.type` is 'LoadBalancer'");
        }
    });
}

/// Whether the status of a load balancer is that of another service.
pub fn is_no_balancer(_: At<'_, LoadBalancerStatus>, cx: &ValidationContext<'_>) -> bool {
    !matches!(cx.request.operation, Operation::Create)
        && !cx.request.subresource.is_empty()
        && !is(spec_of(cx), &ServiceType::LOAD_BALANCER)
}

/// An address that was not reported before.
pub fn reported_ip(ip: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let old = cx.old_root::<Service>().map(|old| old.field(Service::STATUS).field(ServiceStatus::LOAD_BALANCER));
    let known = old.map(|old| items(old.field(LoadBalancerStatus::INGRESS))).unwrap_or_default();
    let text = ip.new.as_str();
    if !text.is_empty() && !known.iter().any(|old| old.str_at(&[LoadBalancerIngress::IP.name()]) == text) {
        legacy_ip(text, ip.path, cx);
    }
}

/// Warnings of ignored and deprecated fields, and of addresses in non-standard forms.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let service = written.view::<Service>();
    if written.subresource == "status" {
        return warn_of_status(service, warnings);
    }
    if annotation(service, TOPOLOGY_HINTS).is_some() {
        warnings.push(format!("annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"));
    }
    let spec = service.field(Service::SPEC);
    let (headless, is_alias) = (is_headless(spec), is(spec, &ServiceType::EXTERNAL_NAME));
    let root = FieldPath::new(Service::SPEC.name());
    each(spec.field(ServiceSpec::CLUSTER_IPS), &root.to(ServiceSpec::CLUSTER_IPS), warnings, address);
    let has_external_ips = !spec.field(ServiceSpec::EXTERNAL_IPS).value().is_zero();
    let balancer_ip = spec.field(ServiceSpec::LOAD_BALANCER_IP).as_str();
    let is_sticky = spec.field(ServiceSpec::SESSION_AFFINITY).value().as_str() != Some("None");
    let ignored = [
        (!balancer_ip.is_empty(), ServiceSpec::LOAD_BALANCER_IP.name()),
        (has_external_ips, ServiceSpec::EXTERNAL_IPS.name()),
        // kube-apiserver writes this capital.
        (is_sticky, "SessionAffinity"),
    ];
    for (_, field) in ignored.into_iter().filter(|(is_set, _)| headless && *is_set) {
        warnings.push(format!("spec.{field} is ignored for headless services"));
    }
    each(spec.field(ServiceSpec::EXTERNAL_IPS), &root.to(ServiceSpec::EXTERNAL_IPS), warnings, address);
    if has_external_ips && !headless && !is_alias {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    address(balancer_ip, &root.to(ServiceSpec::LOAD_BALANCER_IP), warnings);
    let ranges = spec.field(ServiceSpec::LOAD_BALANCER_SOURCE_RANGES);
    each(ranges, &root.to(ServiceSpec::LOAD_BALANCER_SOURCE_RANGES), warnings, block);
    if has_external_ips && is_alias {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_alias && !spec.field(ServiceSpec::EXTERNAL_NAME).as_str().is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.field(ServiceSpec::TRAFFIC_DISTRIBUTION).value().as_str() == Some("PreferClose") {
        let detail = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(detail.to_owned());
    }
}

fn warn_of_status(service: View<'_, Service>, warnings: &mut Vec<String>) {
    let status = FieldPath::new(Service::STATUS.name());
    let balancer = status.to(ServiceStatus::LOAD_BALANCER);
    let list = balancer.to(LoadBalancerStatus::INGRESS);
    let points = service.field(Service::STATUS).field(ServiceStatus::LOAD_BALANCER).field(LoadBalancerStatus::INGRESS);
    for (at, point) in points.iter().enumerate() {
        let ip = point.field(LoadBalancerIngress::IP).as_str();
        address(ip, &list.index(at).to(LoadBalancerIngress::IP), warnings);
    }
}
