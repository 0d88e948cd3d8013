//! Defaults of the autoscaling group: the metric and the scaling rules of a v2 autoscaler.
//!
//! Fields that a scaling rule sets are kept; its policies are kept or defaulted as a whole.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, is_null, is_zero, set, set_if_null};
use pintle_schema::{ApiType, Value};
use pintle_types::autoscaling::v2::{
    HPAScalingPolicy, HPAScalingPolicyType, HPAScalingRules, HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerSpec, MetricSourceType, MetricSpec, MetricTarget, MetricTargetType, ResourceMetricSource,
    ScalingPolicySelect,
};

pub const RULES: &[Rule] =
    &[(HorizontalPodAutoscalerSpec::schema, metrics), (HorizontalPodAutoscalerSpec::schema, behavior)];

const CPU_PERCENT: i32 = 80;

fn metrics(spec: &mut Value) {
    let target = MetricTarget {
        r#type: MetricTargetType::UTILIZATION,
        average_utilization: Some(CPU_PERCENT),
        ..MetricTarget::default()
    };
    let cpu = || MetricSpec {
        r#type: MetricSourceType::RESOURCE,
        resource: Some(ResourceMetricSource { name: "cpu".into(), target }),
        ..MetricSpec::default()
    };
    if is_zero(spec, HorizontalPodAutoscalerSpec::METRICS) {
        set(spec, HorizontalPodAutoscalerSpec::METRICS, vec![cpu()]);
    }
}

fn behavior(spec: &mut Value) {
    let Some(behavior) = get_mut(spec, HorizontalPodAutoscalerSpec::BEHAVIOR) else { return };
    let up = behavior.map_entry(HorizontalPodAutoscalerBehavior::SCALE_UP.name());
    set_if_null(up, HPAScalingRules::STABILIZATION_WINDOW_SECONDS, 0);
    let policies = || vec![policy(HPAScalingPolicyType::PODS, 4), policy(HPAScalingPolicyType::PERCENT, 100)];
    scaling_rules(up, policies);
    let down = behavior.map_entry(HorizontalPodAutoscalerBehavior::SCALE_DOWN.name());
    scaling_rules(down, || vec![policy(HPAScalingPolicyType::PERCENT, 100)]);
}

fn scaling_rules(rules: &mut Value, policies: fn() -> Vec<HPAScalingPolicy>) {
    set_if_null(rules, HPAScalingRules::SELECT_POLICY, ScalingPolicySelect::MAX);
    // An empty list of policies is one that was given.
    if is_null(rules, HPAScalingRules::POLICIES) {
        set(rules, HPAScalingRules::POLICIES, policies());
    }
}

fn policy(r#type: HPAScalingPolicyType, value: i32) -> HPAScalingPolicy {
    HPAScalingPolicy { r#type, value, period_seconds: 15 }
}
