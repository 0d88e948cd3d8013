//! Types of `autoscaling/v2`: horizontal pod autoscalers and scales.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Quantity, Time, string_type};

use crate::core::v1::{ConditionStatus, ResourceName};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Adjusts the replica count of a workload to follow measured load.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "autoscaling",
    plural = "horizontalpodautoscalers",
    short_names("hpa"),
    categories("all"),
    namespaced
))]
pub struct HorizontalPodAutoscaler {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Target, limits and metrics to follow.
    #[k8s(proto = 2, published = required)]
    pub spec: HorizontalPodAutoscalerSpec,
    /// Current replica counts and metric readings.
    #[k8s(proto = 3, optional)]
    pub status: HorizontalPodAutoscalerStatus,
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
    /// Signals to follow; the one asking for most replicas wins.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub metrics: Vec<MetricSpec>,
    /// Speed limits and smoothing when growing and shrinking.
    #[k8s(proto = 5, optional)]
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
}

/// Points at an object by kind and name within the same namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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

/// One signal for scaling; the field matching its type is filled.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MetricSpec {
    /// Where the signal comes from.
    #[k8s(proto = 1, always)]
    pub r#type: MetricSourceType,
    /// Metric describing a single other object, such as requests at an ingress.
    #[k8s(proto = 2, optional)]
    pub object: Option<ObjectMetricSource>,
    /// Custom metric averaged over the pods of the target.
    #[k8s(proto = 3, optional)]
    pub pods: Option<PodsMetricSource>,
    /// CPU or similar usage of the target's pods.
    #[k8s(proto = 4, optional)]
    pub resource: Option<ResourceMetricSource>,
    /// CPU or similar usage of one container in each pod.
    #[k8s(proto = 7, optional)]
    pub container_resource: Option<ContainerResourceMetricSource>,
    /// Metric from outside the cluster, such as a queue length.
    #[k8s(proto = 5, optional)]
    pub external: Option<ExternalMetricSource>,
}

/// Separate rules for growing and for shrinking.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HorizontalPodAutoscalerBehavior {
    /// Rules for adding replicas; grows fast without delay when unset.
    #[k8s(proto = 1, optional)]
    pub scale_up: Option<HPAScalingRules>,
    /// Rules for removing replicas; waits five minutes for calm when unset.
    #[k8s(proto = 2, optional)]
    pub scale_down: Option<HPAScalingRules>,
}

string_type! {
    /// Which of several scaling policies counts.
    pub ScalingPolicySelect {
        /// Use the policy allowing the largest change.
        MAX = "Max",
        /// Use the policy allowing the smallest change.
        MIN = "Min",
        /// Do not scale in this direction at all.
        DISABLED = "Disabled",
    }
}

/// Limits on changing the replica count in one direction.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HPAScalingRules {
    /// Period of past recommendations taken into account to avoid flapping, 0 to 3600.
    #[k8s(proto = 3, optional, format = "zero-or-more", maximum = 3600)]
    pub stabilization_window_seconds: Option<i32>,
    /// Which policy counts when several apply; Max when unset.
    #[k8s(proto = 1, optional, enum("Disabled", "Max", "Min"))]
    pub select_policy: Option<ScalingPolicySelect>,
    /// Speed limits for this direction; at least one is needed.
    #[k8s(proto = 2, list_type = atomic, required = "must specify at least one Policy", published = optional)]
    pub policies: Vec<HPAScalingPolicy>,
    /// Relative deviation from the target that triggers no change; 10% unless set.
    #[k8s(proto = 4, optional, gate = pintle_gates::HPA_CONFIGURABLE_TOLERANCE)]
    pub tolerance: Option<Quantity>,
}

string_type! {
    /// Unit of a scaling speed limit.
    pub HPAScalingPolicyType {
        /// Limit given as a number of pods.
        PODS = "Pods",
        /// Limit given as a percentage of current replicas.
        PERCENT = "Percent",
    }
}

/// Speed limit: at most this much change per period.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HPAScalingPolicy {
    /// Whether the value counts pods or percent.
    #[k8s(proto = 1, always, enum("Percent", "Pods"))]
    pub r#type: HPAScalingPolicyType,
    /// Largest change permitted during the period; above zero.
    #[k8s(proto = 2, always, format = "positive")]
    pub value: i32,
    /// Length of the period in seconds, 1 to 1800.
    #[k8s(proto = 3, always, format = "positive", maximum = 1800)]
    pub period_seconds: i32,
}

string_type! {
    /// Origin of a scaling metric.
    pub MetricSourceType {
        /// Describes one Kubernetes object.
        OBJECT = "Object",
        /// Describes each pod of the target.
        PODS = "Pods",
        /// Resource usage of pods as known to Kubernetes.
        RESOURCE = "Resource",
        /// Resource usage of one container in each pod.
        CONTAINER_RESOURCE = "ContainerResource",
        /// Unrelated to any object in the cluster.
        EXTERNAL = "External",
    }
}

/// Metric of a single object together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ObjectMetricSource {
    /// Object that the metric describes.
    #[k8s(proto = 1, always)]
    pub described_object: CrossVersionObjectReference,
    /// Level aimed for.
    #[k8s(proto = 2, always)]
    pub target: MetricTarget,
    /// Metric to read.
    #[k8s(proto = 3, always)]
    pub metric: MetricIdentifier,
}

/// Per-pod metric together with the average level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodsMetricSource {
    /// Metric to read.
    #[k8s(proto = 1, always)]
    pub metric: MetricIdentifier,
    /// Average per pod aimed for.
    #[k8s(proto = 2, always)]
    pub target: MetricTarget,
}

/// Pod resource usage together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceMetricSource {
    /// Resource to watch, such as cpu or memory.
    #[k8s(proto = 1, always, required = "must specify a resource name")]
    pub name: ResourceName,
    /// Usage aimed for.
    #[k8s(proto = 2, always)]
    pub target: MetricTarget,
}

/// Container resource usage together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerResourceMetricSource {
    /// Resource to watch, such as cpu or memory.
    #[k8s(proto = 1, always, required = "must specify a resource name")]
    pub name: ResourceName,
    /// Usage aimed for.
    #[k8s(proto = 2, always)]
    pub target: MetricTarget,
    /// Container in the pods whose usage counts.
    #[k8s(proto = 3, always, required = "must specify a container", format = "dns1123-label")]
    pub container: String,
}

/// Metric from outside the cluster together with the level aimed for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExternalMetricSource {
    /// Metric to read.
    #[k8s(proto = 1, always)]
    pub metric: MetricIdentifier,
    /// Level aimed for.
    #[k8s(proto = 2, always)]
    pub target: MetricTarget,
}

/// Name of a metric, optionally narrowed by labels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MetricIdentifier {
    /// Name of the metric.
    #[k8s(proto = 1, always, required = "must specify a metric name", format = "k8s-path-segment-name")]
    pub name: String,
    /// Narrows the metric to series with matching labels.
    #[k8s(proto = 2, optional, opaque_type)]
    pub selector: Option<LabelSelector>,
}

/// Level aimed for, as total, per-pod average or utilization.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MetricTarget {
    /// Which of the target fields applies.
    #[k8s(proto = 1, always)]
    pub r#type: MetricTargetType,
    /// Total aimed for.
    #[k8s(proto = 2, optional)]
    pub value: Option<Quantity>,
    /// Average per pod aimed for.
    #[k8s(proto = 3, optional)]
    pub average_value: Option<Quantity>,
    /// Average usage aimed for, in percent of what pods request.
    #[k8s(proto = 4, optional)]
    pub average_utilization: Option<i32>,
}

string_type! {
    /// How a target level is expressed.
    pub MetricTargetType {
        /// Percentage of the requested amount.
        UTILIZATION = "Utilization",
        /// Absolute total.
        VALUE = "Value",
        /// Absolute average per pod.
        AVERAGE_VALUE = "AverageValue",
    }
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
    #[k8s(proto = 3, optional, minimum = 0)]
    pub current_replicas: i32,
    /// Replicas wanted by the last evaluation.
    #[k8s(proto = 4, always, minimum = 0)]
    pub desired_replicas: i32,
    /// Last readings of the followed metrics.
    #[k8s(proto = 5, optional, always, list_type = atomic, opaque_type)]
    pub current_metrics: Vec<MetricStatus>,
    /// Whether the autoscaler works and what limits it.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<HorizontalPodAutoscalerCondition>,
}

string_type! {
    /// Aspect of an autoscaler reported by a condition.
    pub HorizontalPodAutoscalerConditionType {
        /// Metrics are readable and scaling is taking place.
        SCALING_ACTIVE = "ScalingActive",
        /// Nothing prevents the target from being scaled.
        ABLE_TO_SCALE = "AbleToScale",
        /// The wanted count was cut to the configured limits.
        SCALING_LIMITED = "ScalingLimited",
        /// The target was brought to zero replicas by the autoscaler.
        SCALED_TO_ZERO = "ScaledToZero",
    }
}

/// One observation on how an autoscaler is doing.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HorizontalPodAutoscalerCondition {
    /// Aspect described.
    #[k8s(proto = 1, always)]
    pub r#type: HorizontalPodAutoscalerConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the status last flipped.
    #[k8s(proto = 3, optional)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 4, optional)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 5, optional)]
    pub message: String,
}

/// Last reading of one metric; the field matching its type is filled.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MetricStatus {
    /// Where the signal comes from.
    #[k8s(proto = 1, always)]
    pub r#type: MetricSourceType,
    /// Reading of a metric about a single object.
    #[k8s(proto = 2, optional)]
    pub object: Option<ObjectMetricStatus>,
    /// Reading of a custom metric averaged over pods.
    #[k8s(proto = 3, optional)]
    pub pods: Option<PodsMetricStatus>,
    /// Reading of pod resource usage.
    #[k8s(proto = 4, optional)]
    pub resource: Option<ResourceMetricStatus>,
    /// Reading of resource usage for one container per pod.
    #[k8s(proto = 7, optional)]
    pub container_resource: Option<ContainerResourceMetricStatus>,
    /// Reading of a metric from outside the cluster.
    #[k8s(proto = 5, optional)]
    pub external: Option<ExternalMetricStatus>,
}

/// Reading of a metric about a single object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ObjectMetricStatus {
    /// Metric that was read.
    #[k8s(proto = 1, always)]
    pub metric: MetricIdentifier,
    /// Value found.
    #[k8s(proto = 2, always)]
    pub current: MetricValueStatus,
    /// Object that the metric describes.
    #[k8s(proto = 3, always)]
    pub described_object: CrossVersionObjectReference,
}

/// Reading of a per-pod metric.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodsMetricStatus {
    /// Metric that was read.
    #[k8s(proto = 1, always)]
    pub metric: MetricIdentifier,
    /// Value found.
    #[k8s(proto = 2, always)]
    pub current: MetricValueStatus,
}

/// Reading of pod resource usage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceMetricStatus {
    /// Resource that was measured.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Value found.
    #[k8s(proto = 2, always)]
    pub current: MetricValueStatus,
}

/// Reading of container resource usage.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerResourceMetricStatus {
    /// Resource that was measured.
    #[k8s(proto = 1, always)]
    pub name: ResourceName,
    /// Value found.
    #[k8s(proto = 2, always)]
    pub current: MetricValueStatus,
    /// Container in the pods that was measured.
    #[k8s(proto = 3, always)]
    pub container: String,
}

/// Reading of a metric from outside the cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExternalMetricStatus {
    /// Metric that was read.
    #[k8s(proto = 1, always)]
    pub metric: MetricIdentifier,
    /// Value found.
    #[k8s(proto = 2, always)]
    pub current: MetricValueStatus,
}

/// Value of a metric in the forms available.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MetricValueStatus {
    /// Total found.
    #[k8s(proto = 1, optional)]
    pub value: Option<Quantity>,
    /// Average per pod found.
    #[k8s(proto = 2, optional)]
    pub average_value: Option<Quantity>,
    /// Average usage found, in percent of what pods request.
    #[k8s(proto = 3, optional)]
    pub average_utilization: Option<i32>,
}

/// Collection of autoscalers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HorizontalPodAutoscalerList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The HorizontalPodAutoscaler objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<HorizontalPodAutoscaler>,
}
