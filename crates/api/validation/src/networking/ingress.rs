//! Rules of Ingress.

use crate::shared::{dns_name_of_host, invalid_each, items, legacy_ip};
use crate::warnings::{Written, address};
use pintle_schema::Value;
use pintle_schema::names::{self, ip};
use pintle_types::core::v1::TypedLocalObjectReference;
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::{
    HTTPIngressPath, Ingress, IngressBackend, IngressLoadBalancerIngress, IngressLoadBalancerStatus,
    IngressServiceBackend, IngressSpec, IngressStatus, ServiceBackendPort,
};
use pintle_validation::{At, Cx, FieldPath};

/// Where the class stood before it had a field.
const CLASS: &str = "kubernetes.io/ingress.class";

/// The two places that name a class do not name two.
pub fn one_class(ingress: At<'_, Ingress>, cx: &mut Cx<'_>) {
    let annotations = ingress.new.field(Ingress::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    let Some(annotated) = annotations.get(CLASS).and_then(Value::as_str) else { return };
    if let Some(class) = ingress.new.field(Ingress::SPEC).field(IngressSpec::INGRESS_CLASS_NAME).some()
        && class.as_str() != annotated
    {
        let path = ingress.path.child("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        cx.errors.invalid(path.child(CLASS), annotated, detail);
    }
}

/// An ingress leads somewhere.
pub fn has_backend(spec: At<'_, IngressSpec>, cx: &mut Cx<'_>) {
    let rules = spec.new.field(IngressSpec::RULES);
    if rules.value().is_zero() && !spec.new.field(IngressSpec::DEFAULT_BACKEND).is_set() {
        let rules = rules.value().clone();
        cx.errors.invalid(spec.path, rules, "either `defaultBackend` or `rules` must be specified");
    }
}

/// Where requests go that no rule is for.
pub fn default_backend(chosen: At<'_, Option<IngressBackend>>, cx: &mut Cx<'_>) {
    if let Some(chosen) = chosen.some() {
        backend(chosen, cx);
    }
}

/// A backend is a service with a port, or another object.
fn backend(backend: At<'_, IngressBackend>, cx: &mut Cx<'_>) {
    let service = backend.new.field(IngressBackend::SERVICE).is_set();
    match (backend.new.field(IngressBackend::RESOURCE).is_set(), service) {
        (true, true) => cx.errors.invalid(backend.path, "", "cannot set both resource and service backends"),
        (false, false) => cx.errors.invalid(backend.path, "", "resource or service backend is required"),
        (true, false) => backend.field(IngressBackend::RESOURCE, |resource| {
            if let Some(resource) = resource.some() {
                object(resource, cx);
            }
        }),
        (false, true) => service_port(backend, cx),
    }
}

fn object(object: At<'_, TypedLocalObjectReference>, cx: &mut Cx<'_>) {
    type Reference = TypedLocalObjectReference;
    if let Some(group) = object.new.field(Reference::API_GROUP).some() {
        let group = group.as_str();
        invalid_each(group, names::dns1123_subdomain(group), &object.path.to(Reference::API_GROUP), cx);
    }
    for field in [Reference::KIND, Reference::NAME] {
        match object.new.field(field).as_str() {
            "" => cx.errors.required(object.path.to(field), ""),
            text => _ = invalid_each(text, names::path_segment_name(text), &object.path.to(field), cx),
        }
    }
}

fn service_port(backend: At<'_, IngressBackend>, cx: &mut Cx<'_>) {
    let path = backend.path;
    backend.field(IngressBackend::SERVICE, |service| {
        let Some(service) = service.some() else { return };
        let name = service.new.field(IngressServiceBackend::NAME).as_str();
        let name_path = service.path.to(IngressServiceBackend::NAME);
        match name {
            "" => cx.errors.required(name_path, ""),
            name => _ = invalid_each(name, names::dns1123_label(name), &name_path, cx),
        }
        service.field(IngressServiceBackend::PORT, |port| {
            let number = i64::from(port.new.field(ServiceBackendPort::NUMBER).get());
            match (port.new.field(ServiceBackendPort::NAME).as_str(), number) {
                ("", 0) => cx.errors.required(path, "port name or number is required"),
                ("", number) => {
                    let path = port.path.to(ServiceBackendPort::NUMBER);
                    names::port_number(number).into_iter().for_each(|text| cx.errors.invalid(path, number, text));
                }
                (name, 0) => {
                    _ = invalid_each(name, names::port_name(name), &port.path.to(ServiceBackendPort::NAME), cx)
                }
                _ => cx.errors.invalid(path, "", "cannot set both port name & port number"),
            }
        });
    });
}

/// The host of a rule is a DNS name, whose first label may stand for all.
pub fn host_of_rule(host: At<'_, String>, cx: &mut Cx<'_>) {
    let text = host.new.as_str();
    if text.is_empty() {
        return;
    }
    if ip::parse_ip_sloppy(text).is_some() {
        cx.errors.invalid(host.path, text, "must be a DNS name, not an IP address");
    }
    invalid_each(text, host_name(text), host.path, cx);
}

fn host_name(text: &str) -> Vec<String> {
    if text.contains('*') { names::wildcard_dns1123_subdomain(text) } else { names::dns1123_subdomain(text) }
}

/// The hosts of a certificate.
pub fn hosts(hosts: At<'_, Vec<String>>, cx: &mut Cx<'_>) {
    for (at, host) in items(hosts.new).iter().enumerate() {
        let host = host.as_str().unwrap_or_default();
        invalid_each(host, host_name(host), &hosts.path.index(at), cx);
    }
}

/// A path and where it leads, judged once it is known how the path is meant.
pub fn path(rule: At<'_, HTTPIngressPath>, cx: &mut Cx<'_>) {
    if rule.new.field(HTTPIngressPath::PATH_TYPE).is_set() {
        written_path(rule, cx);
        rule.field(HTTPIngressPath::BACKEND, |chosen| backend(chosen, cx));
    }
}

/// Paths that are compared are absolute, and written in one way only.
fn written_path(rule: At<'_, HTTPIngressPath>, cx: &mut Cx<'_>) {
    let text = rule.new.field(HTTPIngressPath::PATH).as_str();
    let is_compared = match rule.new.field(HTTPIngressPath::PATH_TYPE).value().as_str() {
        Some("Exact" | "Prefix") => true,
        Some("ImplementationSpecific") => false,
        _ => return,
    };
    let path = rule.path.to(HTTPIngressPath::PATH);
    if !text.starts_with('/') && (is_compared || !text.is_empty()) {
        cx.errors.invalid(path, text, "must be an absolute path");
    }
    if !is_compared {
        return;
    }
    for sequence in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|sequence| text.contains(sequence)) {
        cx.errors.invalid(path, text, format!("must not contain '{sequence}'"));
    }
    for suffix in ["/..", "/."].into_iter().filter(|suffix| text.ends_with(suffix)) {
        cx.errors.invalid(path, text, format!("cannot end with '{suffix}'"));
    }
}

/// Where a load balancer can be reached. Addresses that it reported before stay right.
pub fn ingress_point(ingress: At<'_, IngressLoadBalancerIngress>, cx: &mut Cx<'_>) {
    type Point = IngressLoadBalancerIngress;
    let old = cx.old_root::<Ingress>().map(|old| {
        let status = old.field(Ingress::STATUS).field(IngressStatus::LOAD_BALANCER);
        items(status.field(IngressLoadBalancerStatus::INGRESS))
    });
    let ip = ingress.new.field(Point::IP).as_str();
    let is_known = old.unwrap_or_default().iter().any(|old| old.str_at(&[Point::IP.name()]) == ip);
    if !ip.is_empty() && !is_known {
        legacy_ip(ip, &ingress.path.to(Point::IP), cx);
    }
    let host = ingress.new.field(Point::HOSTNAME).as_str();
    if !host.is_empty() {
        dns_name_of_host(host, &ingress.path.to(Point::HOSTNAME), cx);
    }
}

/// The class at its old place, and addresses that are written oddly.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let ingress = written.view::<Ingress>();
    if written.is_new() {
        let annotations = ingress.field(Ingress::METADATA).field(ObjectMeta::ANNOTATIONS).value();
        let class = ingress.field(Ingress::SPEC).field(IngressSpec::INGRESS_CLASS_NAME);
        if annotations.get(CLASS).is_some() && !class.is_set() {
            warnings.push(format!("annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"));
        }
    }
    if written.subresource == "status" {
        type Balancer = IngressLoadBalancerStatus;
        let status = FieldPath::new(Ingress::STATUS.name());
        let balancer = status.to(IngressStatus::LOAD_BALANCER);
        let list = balancer.to(Balancer::INGRESS);
        let points = ingress.field(Ingress::STATUS).field(IngressStatus::LOAD_BALANCER).field(Balancer::INGRESS);
        for (at, point) in points.iter().enumerate() {
            let ip = point.field(IngressLoadBalancerIngress::IP).as_str();
            address(ip, &list.index(at).to(IngressLoadBalancerIngress::IP), warnings);
        }
    }
}
