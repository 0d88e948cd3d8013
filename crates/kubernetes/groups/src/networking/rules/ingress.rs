//! Rules of Ingress.

use crate::rules::warnings::{Written, address};
use crate::rules::{items, legacy_ip};
use pintle_schema::Value;
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::{
    Ingress, IngressBackend, IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressServiceBackend, IngressSpec,
    IngressStatus, ServiceBackendPort,
};
use pintle_validation::{At, FieldPath, ValidationContext};

/// Where the class stood before it had a field.
const CLASS: &str = "kubernetes.io/ingress.class";

/// The two places that name a class do not name two.
pub fn one_class(ingress: At<'_, Ingress>, cx: &mut ValidationContext<'_>) {
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
pub fn has_backend(spec: At<'_, IngressSpec>, cx: &mut ValidationContext<'_>) {
    let rules = spec.new.field(IngressSpec::RULES);
    if rules.value().is_zero() && !spec.new.field(IngressSpec::DEFAULT_BACKEND).is_set() {
        let rules = rules.value().clone();
        cx.errors.invalid(spec.path, rules, "either `defaultBackend` or `rules` must be specified");
    }
}

/// A backend's port has a number or a name. Errors are at the backend.
pub fn backend_port(backend: At<'_, IngressBackend>, cx: &mut ValidationContext<'_>) {
    let Some(service) = backend.new.field(IngressBackend::SERVICE).some() else { return };
    if backend.new.field(IngressBackend::RESOURCE).is_set() {
        return;
    }
    let port = service.field(IngressServiceBackend::PORT);
    let has_name = !port.field(ServiceBackendPort::NAME).as_str().is_empty();
    match (has_name, port.field(ServiceBackendPort::NUMBER).get() != 0) {
        (false, false) => cx.errors.required(backend.path, "port name or number is required"),
        (true, true) => cx.errors.invalid(backend.path, "", "cannot set both port name & port number"),
        _ => {}
    }
}

/// The address at which a load balancer can be reached. Those that it reported before stay right.
pub fn ingress_point(ingress: At<'_, IngressLoadBalancerIngress>, cx: &mut ValidationContext<'_>) {
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
