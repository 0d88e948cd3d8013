//! Rules of the metrics of autoscalers.

use super::horizontal_pod_autoscaler::sign;
use crate::core::rules::resource_names::STANDARD;
use crate::rules::invalid_each;
use pintle_schema::names;
use pintle_types::autoscaling::v2::{
    ContainerResourceMetricSource, ExternalMetricSource, MetricSourceType, MetricSpec, MetricTarget,
    ObjectMetricSource, PodsMetricSource, ResourceMetricSource,
};
use pintle_types::core::v1::ResourceName;
use pintle_validation::{At, ValidationContext};

/// The types of sources, each with the field that describes it.
const SOURCES: [(&str, &str); 5] = [
    ("Object", MetricSpec::OBJECT.name()),
    ("Pods", MetricSpec::PODS.name()),
    ("Resource", MetricSpec::RESOURCE.name()),
    ("External", MetricSpec::EXTERNAL.name()),
    ("ContainerResource", MetricSpec::CONTAINER_RESOURCE.name()),
];
/// The sources in the order in which they are validated.
const JUDGED: [&str; 5] = [
    MetricSpec::OBJECT.name(),
    MetricSpec::EXTERNAL.name(),
    MetricSpec::PODS.name(),
    MetricSpec::RESOURCE.name(),
    MetricSpec::CONTAINER_RESOURCE.name(),
];
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// A metric comes from a source that is known.
pub fn source_type(source: At<'_, MetricSourceType>, cx: &mut ValidationContext<'_>) {
    let text = source.new.value().as_str().unwrap_or_default();
    if text.is_empty() {
        cx.errors.required(source.path, "must specify a metric source type");
    }
    if !TYPES.contains(&text) {
        cx.errors.unknown_name(source.path, text, &TYPES);
    }
}

/// The source that the type names is described, and no other.
pub fn one_source(metric: At<'_, MetricSpec>, cx: &mut ValidationContext<'_>) {
    let kind = metric.new.field(MetricSpec::TYPE).value().as_str().unwrap_or_default();
    let is_set = |field: &str| metric.new.value().get(field).is_some_and(|source| !source.is_null());
    let expected = SOURCES.iter().find(|(name, _)| *name == kind).map_or("", |(_, field)| field);
    if expected.is_empty() {
        cx.errors.unknown_name(metric.path.to(MetricSpec::TYPE), kind, &TYPES);
    } else if !is_set(expected) {
        let detail = "must populate information for the given metric source";
        cx.errors.required(metric.path.child(expected), detail);
    }
    if SOURCES.iter().filter(|(_, field)| is_set(field)).count() != 1 {
        for (_, field) in SOURCES.iter().filter(|(_, field)| *field != expected && is_set(field)) {
            cx.errors.forbidden(metric.path.child(field), "must populate the given metric source only");
        }
    }
}

/// Whether a field is a source beside an earlier one: of several sources only the first is validated.
pub fn is_later_source(metric: At<'_, MetricSpec>, field: &str, _: &ValidationContext<'_>) -> bool {
    let is_set = |field: &&str| metric.new.value().get(field).is_some_and(|source| !source.is_null());
    JUDGED.contains(&field) && JUDGED.iter().take_while(|other| **other != field).any(is_set)
}

/// A target has a type and a value of that type.
pub fn target(target: At<'_, MetricTarget>, cx: &mut ValidationContext<'_>) {
    let kind = target.new.field(MetricTarget::TYPE).value().as_str().unwrap_or_default();
    let path = target.path.to(MetricTarget::TYPE);
    if kind.is_empty() {
        cx.errors.required(path, "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        cx.errors.invalid(path, kind, "must be either Utilization, Value, or AverageValue");
    }
    for field in [MetricTarget::VALUE, MetricTarget::AVERAGE_VALUE] {
        if let Some(value) = target.new.field(field).some().filter(|value| sign(value.value()) != 1) {
            cx.errors.invalid(target.path.to(field), value.value().clone(), "must be positive");
        }
    }
    let utilization = target.new.field(MetricTarget::AVERAGE_UTILIZATION).some().map(|percent| percent.get());
    if let Some(percent) = utilization.filter(|percent| *percent < 1) {
        cx.errors.invalid(target.path.to(MetricTarget::AVERAGE_UTILIZATION), percent, "must be greater than 0");
    }
}

/// A metric of an object has a target.
pub fn object(source: At<'_, ObjectMetricSource>, cx: &mut ValidationContext<'_>) {
    source.field(ObjectMetricSource::TARGET, |target| {
        let new = target.new;
        if !new.field(MetricTarget::VALUE).is_set() && !new.field(MetricTarget::AVERAGE_VALUE).is_set() {
            let detail = "must set either a target value or averageValue";
            cx.errors.required(target.path.to(MetricTarget::AVERAGE_VALUE), detail);
        }
    });
}

/// A metric of pods is averaged over them.
pub fn pods(source: At<'_, PodsMetricSource>, cx: &mut ValidationContext<'_>) {
    source.field(PodsMetricSource::TARGET, |target| {
        if !target.new.field(MetricTarget::AVERAGE_VALUE).is_set() {
            let detail = "must specify a positive target averageValue";
            cx.errors.required(target.path.to(MetricTarget::AVERAGE_VALUE), detail);
        }
    });
}

/// The use of a resource has a target.
pub fn resource(source: At<'_, ResourceMetricSource>, cx: &mut ValidationContext<'_>) {
    source.field(ResourceMetricSource::TARGET, |target| raw_or_utilization(target, cx));
}

/// The use of a resource by a container has a target.
pub fn container_resource(source: At<'_, ContainerResourceMetricSource>, cx: &mut ValidationContext<'_>) {
    source.field(ContainerResourceMetricSource::TARGET, |target| raw_or_utilization(target, cx));
}

fn raw_or_utilization(target: At<'_, MetricTarget>, cx: &mut ValidationContext<'_>) {
    let utilization = target.new.field(MetricTarget::AVERAGE_UTILIZATION).is_set();
    match (utilization, target.new.field(MetricTarget::AVERAGE_VALUE).is_set()) {
        (false, false) => {
            let detail = "must set either a target raw value or a target utilization";
            cx.errors.required(target.path.to(MetricTarget::AVERAGE_UTILIZATION), detail);
        }
        (true, true) => {
            let detail = "may not set both a target raw value and a target utilization";
            cx.errors.forbidden(target.path.to(MetricTarget::AVERAGE_VALUE), detail);
        }
        _ => {}
    }
}

/// A metric from outside has one target.
pub fn external(source: At<'_, ExternalMetricSource>, cx: &mut ValidationContext<'_>) {
    source.field(ExternalMetricSource::TARGET, |target| {
        let value = target.new.field(MetricTarget::VALUE).is_set();
        match (value, target.new.field(MetricTarget::AVERAGE_VALUE).is_set()) {
            (false, false) => {
                let detail = "must set either a target value for metric or a per-pod target";
                cx.errors.required(target.path.to(MetricTarget::AVERAGE_VALUE), detail);
            }
            (true, true) => {
                let detail = "may not set both a target value for metric and a per-pod target";
                cx.errors.forbidden(target.path.to(MetricTarget::VALUE), detail);
            }
            _ => {}
        }
    });
}

/// The resource is one that containers have.
pub fn container_resource_name(name: At<'_, ResourceName>, cx: &mut ValidationContext<'_>) {
    let text = name.new.value().as_str().unwrap_or_default();
    if text.is_empty() {
        return;
    }
    let is_name = invalid_each(text, names::label_key(text), name.path, cx);
    let is_huge_page = text.starts_with("hugepages-");
    let standard = ["cpu", "memory", "ephemeral-storage"];
    match text.split_once('/') {
        None if is_huge_page || standard.contains(&text) => {}
        None => {
            // What services have is a quota's alone.
            let is_known = STANDARD.contains(&text) && !text.starts_with("services.");
            if is_name && !is_known && !text.starts_with("requests.hugepages-") {
                cx.errors.invalid(name.path, text, "must be a standard resource type or fully qualified");
            }
            cx.errors.invalid(name.path, text, "must be a standard resource for containers");
        }
        Some((domain, _)) => {
            let is_native = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
            let quota_name = format!("requests.{text}");
            if !is_native && (text.starts_with("requests.") || !names::label_key(&quota_name).is_empty()) {
                cx.errors.invalid(name.path, text, "doesn't follow extended resource name standard");
            }
        }
    }
}
