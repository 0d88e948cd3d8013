//! Metrics of autoscalers, in the flat form of v1 and in the form of v2.
//!
//! v1 has one field for each type of target; v2 has one target with a type.

use pintle_schema::Quantity;
use pintle_types::autoscaling::{v1, v2};
use v2::{MetricIdentifier, MetricTarget, MetricTargetType, MetricValueStatus};

pub(super) fn spec_to_v2(metric: v1::MetricSpec) -> v2::MetricSpec {
    v2::MetricSpec {
        r#type: metric.r#type.as_str().into(),
        object: metric.object.map(|object| v2::ObjectMetricSource {
            described_object: reference_to_v2(object.target),
            metric: MetricIdentifier { name: object.metric_name, selector: object.selector },
            target: MetricTarget {
                r#type: match object.average_value {
                    None => MetricTargetType::VALUE,
                    Some(_) => MetricTargetType::AVERAGE_VALUE,
                },
                value: Some(object.target_value),
                average_value: object.average_value,
                average_utilization: None,
            },
        }),
        pods: metric.pods.map(|pods| v2::PodsMetricSource {
            metric: MetricIdentifier { name: pods.metric_name, selector: pods.selector },
            target: MetricTarget {
                r#type: MetricTargetType::AVERAGE_VALUE,
                average_value: Some(pods.target_average_value),
                ..Default::default()
            },
        }),
        resource: metric.resource.map(|resource| v2::ResourceMetricSource {
            name: resource.name,
            target: utilization_target(resource.target_average_utilization, resource.target_average_value),
        }),
        container_resource: metric.container_resource.map(|resource| v2::ContainerResourceMetricSource {
            name: resource.name,
            target: utilization_target(resource.target_average_utilization, resource.target_average_value),
            container: resource.container,
        }),
        external: metric.external.map(|external| v2::ExternalMetricSource {
            metric: MetricIdentifier { name: external.metric_name, selector: external.metric_selector },
            target: MetricTarget {
                r#type: match external.target_value {
                    None => MetricTargetType::AVERAGE_VALUE,
                    Some(_) => MetricTargetType::VALUE,
                },
                value: external.target_value,
                average_value: external.target_average_value,
                average_utilization: None,
            },
        }),
    }
}

pub(super) fn spec_to_v1(metric: v2::MetricSpec) -> v1::MetricSpec {
    v1::MetricSpec {
        r#type: metric.r#type.as_str().into(),
        object: metric.object.map(|object| v1::ObjectMetricSource {
            target: reference_to_v1(object.described_object),
            metric_name: object.metric.name,
            target_value: or_zero(object.target.value),
            selector: object.metric.selector,
            average_value: object.target.average_value,
        }),
        pods: metric.pods.map(|pods| v1::PodsMetricSource {
            metric_name: pods.metric.name,
            target_average_value: or_zero(pods.target.average_value),
            selector: pods.metric.selector,
        }),
        resource: metric.resource.map(|resource| v1::ResourceMetricSource {
            name: resource.name,
            target_average_utilization: resource.target.average_utilization,
            target_average_value: resource.target.average_value,
        }),
        container_resource: metric.container_resource.map(|resource| v1::ContainerResourceMetricSource {
            name: resource.name,
            target_average_utilization: resource.target.average_utilization,
            target_average_value: resource.target.average_value,
            container: resource.container,
        }),
        external: metric.external.map(|external| v1::ExternalMetricSource {
            metric_name: external.metric.name,
            metric_selector: external.metric.selector,
            target_value: external.target.value,
            target_average_value: external.target.average_value,
        }),
    }
}

pub(super) fn status_to_v2(metric: v1::MetricStatus) -> v2::MetricStatus {
    v2::MetricStatus {
        r#type: metric.r#type.as_str().into(),
        object: metric.object.map(|object| v2::ObjectMetricStatus {
            described_object: reference_to_v2(object.target),
            metric: MetricIdentifier { name: object.metric_name, selector: object.selector },
            current: MetricValueStatus {
                value: Some(object.current_value),
                average_value: object.average_value,
                average_utilization: None,
            },
        }),
        pods: metric.pods.map(|pods| v2::PodsMetricStatus {
            metric: MetricIdentifier { name: pods.metric_name, selector: pods.selector },
            current: MetricValueStatus { average_value: Some(pods.current_average_value), ..Default::default() },
        }),
        resource: metric.resource.map(|resource| v2::ResourceMetricStatus {
            name: resource.name,
            current: utilization(resource.current_average_utilization, resource.current_average_value),
        }),
        container_resource: metric.container_resource.map(|resource| v2::ContainerResourceMetricStatus {
            name: resource.name,
            current: utilization(resource.current_average_utilization, resource.current_average_value),
            container: resource.container,
        }),
        external: metric.external.map(|external| v2::ExternalMetricStatus {
            metric: MetricIdentifier { name: external.metric_name, selector: external.metric_selector },
            current: MetricValueStatus {
                value: Some(external.current_value),
                average_value: external.current_average_value,
                average_utilization: None,
            },
        }),
    }
}

pub(super) fn status_to_v1(metric: v2::MetricStatus) -> v1::MetricStatus {
    v1::MetricStatus {
        r#type: metric.r#type.as_str().into(),
        object: metric.object.map(|object| v1::ObjectMetricStatus {
            target: reference_to_v1(object.described_object),
            metric_name: object.metric.name,
            current_value: or_zero(object.current.value),
            selector: object.metric.selector,
            average_value: object.current.average_value,
        }),
        pods: metric.pods.map(|pods| v1::PodsMetricStatus {
            metric_name: pods.metric.name,
            current_average_value: or_zero(pods.current.average_value),
            selector: pods.metric.selector,
        }),
        resource: metric.resource.map(|resource| v1::ResourceMetricStatus {
            name: resource.name,
            current_average_utilization: resource.current.average_utilization,
            current_average_value: or_zero(resource.current.average_value),
        }),
        container_resource: metric.container_resource.map(|resource| v1::ContainerResourceMetricStatus {
            name: resource.name,
            current_average_utilization: resource.current.average_utilization,
            current_average_value: or_zero(resource.current.average_value),
            container: resource.container,
        }),
        external: metric.external.map(|external| v1::ExternalMetricStatus {
            metric_name: external.metric.name,
            metric_selector: external.metric.selector,
            current_value: or_zero(external.current.value),
            current_average_value: external.current.average_value,
        }),
    }
}

fn or_zero(quantity: Option<Quantity>) -> Quantity {
    quantity.unwrap_or_default()
}

fn utilization_target(average_utilization: Option<i32>, average_value: Option<Quantity>) -> MetricTarget {
    let r#type = match average_utilization {
        None => MetricTargetType::AVERAGE_VALUE,
        Some(_) => MetricTargetType::UTILIZATION,
    };
    MetricTarget { r#type, value: None, average_value, average_utilization }
}

fn utilization(average_utilization: Option<i32>, average_value: Quantity) -> MetricValueStatus {
    MetricValueStatus { value: None, average_value: Some(average_value), average_utilization }
}

fn reference_to_v2(reference: v1::CrossVersionObjectReference) -> v2::CrossVersionObjectReference {
    let v1::CrossVersionObjectReference { kind, name, api_version } = reference;
    v2::CrossVersionObjectReference { kind, name, api_version }
}

fn reference_to_v1(reference: v2::CrossVersionObjectReference) -> v1::CrossVersionObjectReference {
    let v2::CrossVersionObjectReference { kind, name, api_version } = reference;
    v1::CrossVersionObjectReference { kind, name, api_version }
}
