//! Types of `autoscaling/v1`: horizontal pod autoscalers and scales.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Quantity, Time, same_as};

use crate::core::v1::{ConditionStatus, ResourceName};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

pub use pintle_meta::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};

same_as! {
    super::v2::{
        HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerConditionType,
        HorizontalPodAutoscalerList, MetricSourceType, MetricSpec, MetricStatus
    }
}

/// Points at an object by kind and name within the same namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct CrossVersionObjectReference {
    /// Kind of the object.
    #[k8s(proto = 1, always, required, format = "k8s-path-segment-name")]
    pub kind: String,
    /// Name of the object.
    #[k8s(proto = 2, always, required, format = "k8s-path-segment-name")]
    pub name: String,
    /// API group and version of the object.
    #[k8s(proto = 3, optional)]
    pub api_version: String,
}

/// What to scale, between which limits and by which metrics.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HorizontalPodAutoscalerSpec {
    /// Workload whose scale subresource is adjusted.
    #[k8s(proto = 1, always)]
    pub scale_target_ref: CrossVersionObjectReference,
    /// Lower limit on replicas, 1 by default; 0 needs an object or external metric.
    #[k8s(
        proto = 2,
        optional,
        default = 1,
        if_disabled(pintle_gates::HPA_SCALE_TO_ZERO)(minimum = 1),
        if_enabled(pintle_gates::HPA_SCALE_TO_ZERO)(minimum = 0)
    )]
    pub min_replicas: Option<i32>,
    /// Upper limit on replicas; must not lie below the lower limit.
    #[k8s(proto = 3, always, required = "must be set and greater than 0", minimum = 1)]
    pub max_replicas: i32,
    /// Average CPU usage aimed for, in percent of what pods request.
    #[k8s(proto = 4, name = "targetCPUUtilizationPercentage", optional)]
    pub target_cpu_utilization_percentage: Option<i32>,
}

/// Latest decisions and readings of an autoscaler.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HorizontalPodAutoscalerStatus {
    /// Generation of the autoscaler last acted upon.
    #[k8s(proto = 1, optional)]
    pub observed_generation: Option<i64>,
    /// When the replica count was last altered.
    #[k8s(proto = 2, optional)]
    pub last_scale_time: Option<Time>,
    /// Replicas seen at the last evaluation.
    #[k8s(proto = 3, always, minimum = 0)]
    pub current_replicas: i32,
    /// Replicas wanted by the last evaluation.
    #[k8s(proto = 4, always, minimum = 0)]
    pub desired_replicas: i32,
    /// Average CPU usage found, in percent of what pods request.
    #[k8s(proto = 5, name = "currentCPUUtilizationPercentage", optional)]
    pub current_cpu_utilization_percentage: Option<i32>,
}

/// Metric of a single object together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ObjectMetricSource {
    /// Level aimed for.
    #[k8s(proto = 1, always)]
    pub target: CrossVersionObjectReference,
    /// Name of the metric.
    #[k8s(proto = 2, always)]
    pub metric_name: String,
    /// Total aimed for.
    #[k8s(proto = 3, always)]
    pub target_value: Quantity,
    /// Narrows the metric to series with matching labels.
    #[k8s(proto = 4, optional)]
    pub selector: Option<LabelSelector>,
    /// Average per pod aimed for.
    #[k8s(proto = 5, optional)]
    pub average_value: Option<Quantity>,
}

/// Per-pod metric together with the average level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodsMetricSource {
    /// Name of the metric.
    #[k8s(proto = 1, always)]
    pub metric_name: String,
    /// Average per pod aimed for.
    #[k8s(proto = 2, always)]
    pub target_average_value: Quantity,
    /// Narrows the metric to series with matching labels.
    #[k8s(proto = 3, optional)]
    pub selector: Option<LabelSelector>,
}

/// Pod resource usage together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceMetricSource {
    /// Resource to watch, such as cpu or memory.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Average usage aimed for, in percent of what pods request.
    #[k8s(proto = 2, optional)]
    pub target_average_utilization: Option<i32>,
    /// Average amount per pod aimed for.
    #[k8s(proto = 3, optional)]
    pub target_average_value: Option<Quantity>,
}

/// Container resource usage together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerResourceMetricSource {
    /// Resource to watch, such as cpu or memory.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Average container usage aimed for, in percent of its request.
    #[k8s(proto = 2, optional)]
    pub target_average_utilization: Option<i32>,
    /// Average amount per container aimed for.
    #[k8s(proto = 3, optional)]
    pub target_average_value: Option<Quantity>,
    /// Container in the pods whose usage counts.
    #[k8s(proto = 5, always)]
    pub container: String,
}

/// Metric from outside the cluster together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExternalMetricSource {
    /// Name of the metric.
    #[k8s(proto = 1, always)]
    pub metric_name: String,
    /// Narrows the metric to series with matching labels.
    #[k8s(proto = 2, optional)]
    pub metric_selector: Option<LabelSelector>,
    /// Total aimed for.
    #[k8s(proto = 3, optional)]
    pub target_value: Option<Quantity>,
    /// Average per pod aimed for.
    #[k8s(proto = 4, optional)]
    pub target_average_value: Option<Quantity>,
}

/// Reading of a metric about a single object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ObjectMetricStatus {
    /// Object that the metric describes.
    #[k8s(proto = 1, always)]
    pub target: CrossVersionObjectReference,
    /// Name of the metric.
    #[k8s(proto = 2, always)]
    pub metric_name: String,
    /// Total found.
    #[k8s(proto = 3, always)]
    pub current_value: Quantity,
    /// Labels that narrowed the metric.
    #[k8s(proto = 4, optional)]
    pub selector: Option<LabelSelector>,
    /// Average per pod found.
    #[k8s(proto = 5, optional)]
    pub average_value: Option<Quantity>,
}

/// Reading of a per-pod metric.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodsMetricStatus {
    /// Name of the metric.
    #[k8s(proto = 1, always)]
    pub metric_name: String,
    /// Average per pod found.
    #[k8s(proto = 2, always)]
    pub current_average_value: Quantity,
    /// Labels that narrowed the metric.
    #[k8s(proto = 3, optional)]
    pub selector: Option<LabelSelector>,
}

/// Reading of pod resource usage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceMetricStatus {
    /// Resource that was measured.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Average usage found, in percent of what pods request.
    #[k8s(proto = 2, optional)]
    pub current_average_utilization: Option<i32>,
    /// Average amount per pod found.
    #[k8s(proto = 3, always)]
    pub current_average_value: Quantity,
}

/// Reading of container resource usage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerResourceMetricStatus {
    /// Resource that was measured.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Average container usage found, in percent of its request.
    #[k8s(proto = 2, optional)]
    pub current_average_utilization: Option<i32>,
    /// Average amount per container found.
    #[k8s(proto = 3, always)]
    pub current_average_value: Quantity,
    /// Container in the pods that was measured.
    #[k8s(proto = 4, always)]
    pub container: String,
}

/// Reading of a metric from outside the cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExternalMetricStatus {
    /// Name of the metric.
    #[k8s(proto = 1, always)]
    pub metric_name: String,
    /// Labels that narrowed the metric.
    #[k8s(proto = 2, optional)]
    pub metric_selector: Option<LabelSelector>,
    /// Total found.
    #[k8s(proto = 3, always)]
    pub current_value: Quantity,
    /// Average per pod found.
    #[k8s(proto = 4, optional)]
    pub current_average_value: Option<Quantity>,
}
