//! Handwritten rules of the autoscaling group.
//!
//! One file for the autoscaler, one for its metrics; this one is the table. Objects are validated as `v2`.

pub mod horizontal_pod_autoscaler;
pub mod metric;

use pintle_types::autoscaling::v2::{
    ContainerResourceMetricSource, CrossVersionObjectReference, ExternalMetricSource, HPAScalingRules,
    HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget, ObjectMetricSource, PodsMetricSource, ResourceMetricSource,
};
use pintle_validation::{CustomRule, FieldOrder, Group, Skip, at_field, at_type, field_order, skip_inside};

/// The group's rules; its kinds have the usual passes.
pub static GROUP: Group = Group { kinds: &[], custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(HorizontalPodAutoscalerSpec: [MIN_REPLICAS, MAX_REPLICAS]),
    field_order!(MetricSpec: [TYPE, OBJECT, EXTERNAL, PODS]),
    field_order!(ObjectMetricSource: [DESCRIBED_OBJECT, METRIC]),
    field_order!(ContainerResourceMetricSource: [NAME, CONTAINER]),
];

static SKIPS: &[Skip] = &[skip_inside!(MetricSpec, metric::is_later_source)];

static RULES: &[CustomRule] = &[
    at_field!(
        HorizontalPodAutoscalerSpec::MAX_REPLICAS,
        horizontal_pod_autoscaler::most_is_not_below_least,
        phase = After,
        ALWAYS | ON_CREATE | ON_UPDATE
    ),
    at_field!(
        HorizontalPodAutoscalerSpec::SCALE_TARGET_REF,
        horizontal_pod_autoscaler::target_has_group,
        phase = After
    ),
    at_field!(
        HorizontalPodAutoscalerSpec::METRICS,
        horizontal_pod_autoscaler::zero_needs_a_metric,
        phase = After,
        ALWAYS | ON_CREATE | ON_UPDATE
    ),
    at_field!(HPAScalingRules::TOLERANCE, horizontal_pod_autoscaler::tolerance),
    at_field!(CrossVersionObjectReference::API_VERSION, horizontal_pod_autoscaler::api_version),
    at_field!(MetricSpec::TYPE, metric::source_type),
    at_type!(MetricSpec, metric::one_source, phase = After),
    at_type!(MetricTarget, metric::target),
    at_type!(ObjectMetricSource, metric::object, phase = After),
    at_type!(PodsMetricSource, metric::pods, phase = After),
    at_type!(ResourceMetricSource, metric::resource, phase = After),
    at_type!(ContainerResourceMetricSource, metric::container_resource, phase = After),
    at_field!(ContainerResourceMetricSource::NAME, metric::container_resource_name, phase = After),
    at_type!(ExternalMetricSource, metric::external, phase = After),
];
