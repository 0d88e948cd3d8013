//! Handwritten rules of the autoscaling group.
//!
//! One file for the autoscaler, one for its metrics; this one is the table. Objects are validated as `v2`.

pub mod horizontal_pod_autoscaler;
pub mod metric;

use pintle_types::autoscaling::v2::{
    ContainerResourceMetricSource, CrossVersionObjectReference, ExternalMetricSource, HPAScalingRules,
    HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget, ObjectMetricSource, PodsMetricSource, ResourceMetricSource,
};
use pintle_validation::{CustomRule, Group, at_field, at_type};

/// The group's rules; its kinds have the usual steps.
pub static GROUP: Group = Group { kinds: &[], custom_rules: RULES };

static RULES: &[CustomRule] = &[
    at_field!(
        HorizontalPodAutoscalerSpec::MAX_REPLICAS,
        horizontal_pod_autoscaler::most_is_not_below_least,
        AFTER | ALWAYS | ON_CREATE | ON_UPDATE
    ),
    at_field!(HorizontalPodAutoscalerSpec::SCALE_TARGET_REF, horizontal_pod_autoscaler::target_has_group, AFTER),
    at_field!(
        HorizontalPodAutoscalerSpec::METRICS,
        horizontal_pod_autoscaler::zero_needs_a_metric,
        AFTER | ALWAYS | ON_CREATE | ON_UPDATE
    ),
    at_field!(HPAScalingRules::TOLERANCE, horizontal_pod_autoscaler::tolerance),
    at_field!(CrossVersionObjectReference::API_VERSION, horizontal_pod_autoscaler::api_version),
    at_field!(MetricSpec::TYPE, metric::source_type),
    at_type!(MetricSpec, metric::one_source, AFTER),
    at_type!(MetricTarget, metric::target),
    at_type!(ObjectMetricSource, metric::object, AFTER),
    at_type!(PodsMetricSource, metric::pods, AFTER),
    at_type!(ResourceMetricSource, metric::resource, AFTER),
    at_type!(ContainerResourceMetricSource, metric::container_resource, AFTER),
    at_field!(ContainerResourceMetricSource::NAME, metric::container_resource_name, AFTER),
    at_type!(ExternalMetricSource, metric::external, AFTER),
];
