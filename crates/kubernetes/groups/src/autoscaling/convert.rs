//! Conversion between `autoscaling/v1` and the storage version.
//!
//! v1 has one metric: CPU utilization. Other metrics, the behavior, the current metrics and the conditions are JSON in
//! annotations of v1 objects, and never in v2 objects. Annotations that cannot be parsed are ignored.

use super::metrics;
use crate::views::{annotation, clear, remove_annotation, set_annotation};
use pintle_codec::Strictness;
use pintle_codec::json;
use pintle_schema::{ApiType, ApiValue, Value, View, ViewMut, canonicalize};
use pintle_types::autoscaling::{v1, v2};
use pintle_types::core::v1::ResourceName;
use pintle_types::meta::v1::ObjectMeta;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

type Old = v1::HorizontalPodAutoscaler;
type New = v2::HorizontalPodAutoscaler;
type OldSpec = v1::HorizontalPodAutoscalerSpec;
type NewSpec = v2::HorizontalPodAutoscalerSpec;
type OldStatus = v1::HorizontalPodAutoscalerStatus;
type NewStatus = v2::HorizontalPodAutoscalerStatus;

pub(super) fn to_v2(object: &mut Value) {
    let view = View::<Old>::new(object);
    let spec = view.field(Old::SPEC).field(OldSpec::TARGET_CPU_UTILIZATION_PERCENTAGE).get();
    let status = view.field(Old::STATUS).field(OldStatus::CURRENT_CPU_UTILIZATION_PERCENTAGE).get();
    clear(&mut ViewMut::<Old>::new(object).field(Old::SPEC), OldSpec::TARGET_CPU_UTILIZATION_PERCENTAGE);
    if status.is_some() {
        clear(&mut ViewMut::<Old>::new(object).field(Old::STATUS), OldStatus::CURRENT_CPU_UTILIZATION_PERCENTAGE);
    }
    let mut object = ViewMut::<New>::new(object);

    let metadata = object.view().field(New::METADATA);
    let others: Vec<v1::MetricSpec> = parse_list(metadata, METRICS);
    let current: Vec<v1::MetricStatus> = parse_list(metadata, CURRENT_METRICS);
    let conditions: Vec<v2::HorizontalPodAutoscalerCondition> = parse_list(metadata, CONDITIONS);
    let behavior = parse_behavior(metadata);

    let mut targets: Vec<v2::MetricSpec> = others.into_iter().map(metrics::spec_to_v2).collect();
    targets.extend(spec.map(cpu_target));
    let mut current: Vec<v2::MetricStatus> = current.into_iter().map(metrics::status_to_v2).collect();
    if current.is_empty() {
        current.extend(status.map(cpu_current));
    }
    if !targets.is_empty() {
        object.by_ref().field(New::SPEC).field(NewSpec::METRICS).set(targets);
    }
    if behavior.is_some() {
        object.by_ref().field(New::SPEC).field(NewSpec::BEHAVIOR).set(behavior);
    }
    if !current.is_empty() {
        object.by_ref().field(New::STATUS).field(NewStatus::CURRENT_METRICS).set(current);
    }
    if !conditions.is_empty() {
        object.by_ref().field(New::STATUS).field(NewStatus::CONDITIONS).set(conditions);
    }
    drop_annotations(object.field(New::METADATA));
}

pub(super) fn from_v2(object: &mut Value) {
    let mut object = ViewMut::<New>::new(object);
    let view = object.view();
    let (spec, status) = (view.field(New::SPEC), view.field(New::STATUS));
    let targets = spec.field(NewSpec::METRICS).get();
    let current = status.field(NewStatus::CURRENT_METRICS).get();
    let conditions = status.field(NewStatus::CONDITIONS).get();
    let behavior = spec.field(NewSpec::BEHAVIOR).get();

    drop_annotations(object.by_ref().field(New::METADATA));
    clear(&mut object.by_ref().field(New::SPEC), NewSpec::METRICS);
    clear(&mut object.by_ref().field(New::SPEC), NewSpec::BEHAVIOR);
    clear(&mut object.by_ref().field(New::STATUS), NewStatus::CURRENT_METRICS);
    clear(&mut object.by_ref().field(New::STATUS), NewStatus::CONDITIONS);

    let mut object = ViewMut::<Old>::new(object.raw());
    if let Some(cpu) = targets.iter().find_map(cpu_of_spec) {
        object.by_ref().field(Old::SPEC).field(OldSpec::TARGET_CPU_UTILIZATION_PERCENTAGE).set(cpu.average_utilization);
    }
    if let Some(cpu) = current.iter().find_map(cpu_of_status) {
        let status = object.by_ref().field(Old::STATUS);
        status.field(OldStatus::CURRENT_CPU_UTILIZATION_PERCENTAGE).set(cpu.average_utilization);
    }
    // The target of the cpu's utilization has its field. Its current value is written twice: here it is whole.
    let others =
        targets.into_iter().filter(|target| cpu_of_spec(target).is_none_or(|cpu| cpu.average_utilization.is_none()));
    let others: Vec<_> = others.map(metrics::spec_to_v1).collect();
    let current: Vec<_> = current.into_iter().map(metrics::status_to_v1).collect();
    let conditions: Vec<_> = conditions.iter().map(|condition| v1_condition(condition.to_value())).collect();
    set_list(object.by_ref(), METRICS, others);
    set_list(object.by_ref(), CURRENT_METRICS, current);
    set_list(object.by_ref(), CONDITIONS, conditions);
    if let Some(behavior) = behavior {
        set_annotation(object.field(Old::METADATA), BEHAVIOR, json::to_string(&behavior_to_go(&behavior)));
    }
}

fn v1_condition(condition: Value) -> v1::HorizontalPodAutoscalerCondition {
    v1::HorizontalPodAutoscalerCondition::from_value(&condition).unwrap_or_default()
}

fn drop_annotations(mut metadata: ViewMut<'_, ObjectMeta>) {
    for key in [METRICS, CURRENT_METRICS, BEHAVIOR, CONDITIONS] {
        remove_annotation(metadata.by_ref(), key);
    }
}

fn cpu_target(percentage: i32) -> v2::MetricSpec {
    let target = v2::MetricTarget {
        r#type: v2::MetricTargetType::UTILIZATION,
        average_utilization: Some(percentage),
        ..Default::default()
    };
    v2::MetricSpec {
        r#type: v2::MetricSourceType::RESOURCE,
        resource: Some(v2::ResourceMetricSource { name: ResourceName::CPU, target }),
        ..Default::default()
    }
}

fn cpu_current(percentage: i32) -> v2::MetricStatus {
    let current = v2::MetricValueStatus { average_utilization: Some(percentage), ..Default::default() };
    v2::MetricStatus {
        r#type: v2::MetricSourceType::RESOURCE,
        resource: Some(v2::ResourceMetricStatus { name: ResourceName::CPU, current }),
        ..Default::default()
    }
}

fn cpu_of_spec(metric: &v2::MetricSpec) -> Option<&v2::MetricTarget> {
    let resource = metric.resource.as_ref().filter(|_| metric.r#type == v2::MetricSourceType::RESOURCE)?;
    (resource.name == ResourceName::CPU).then_some(&resource.target)
}

fn cpu_of_status(metric: &v2::MetricStatus) -> Option<&v2::MetricValueStatus> {
    let resource = metric.resource.as_ref().filter(|_| metric.r#type == v2::MetricSourceType::RESOURCE)?;
    (resource.name == ResourceName::CPU).then_some(&resource.current)
}

fn parse(metadata: View<'_, ObjectMeta>, key: &str) -> Option<Value> {
    Some(json::parse(annotation(metadata, key)?.as_bytes(), Strictness::Ignore).ok()?.value)
}

/// The list in an annotation; empty when there is none or it cannot be read.
fn parse_list<T: ApiType>(metadata: View<'_, ObjectMeta>, key: &str) -> Vec<T> {
    let Some(Value::List(items)) = parse(metadata, key) else { return Vec::new() };
    let read = |item| T::from_value(&json::conform_json(T::schema(), item, Strictness::Ignore).ok()?.value).ok();
    items.into_iter().map(read).collect::<Option<Vec<T>>>().unwrap_or_default()
}

/// Writes a list to an annotation, if there is anything in it.
fn set_list<T: ApiType>(object: ViewMut<'_, Old>, key: &str, items: Vec<T>) {
    if items.is_empty() {
        return;
    }
    let canonical = |item: T| {
        let mut value = item.to_value();
        canonicalize(T::schema(), &mut value);
        value
    };
    let items = Value::List(items.into_iter().map(canonical).collect());
    set_annotation(object.field(Old::METADATA), key, json::to_string(&items));
}

/// The behavior in its annotation, which has Go's names instead of the API's; either is read.
fn parse_behavior(metadata: View<'_, ObjectMeta>) -> Option<v2::HorizontalPodAutoscalerBehavior> {
    let value = rename_keys(parse(metadata, BEHAVIOR)?, |key| {
        let mut letters = key.chars();
        letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
    });
    let schema = v2::HorizontalPodAutoscalerBehavior::schema();
    let value = json::conform_json(schema, value, Strictness::Ignore).ok()?.value;
    v2::HorizontalPodAutoscalerBehavior::from_value(&value).ok()
}

/// The behavior with Go's names, and every field shown.
fn behavior_to_go(behavior: &v2::HorizontalPodAutoscalerBehavior) -> Value {
    let rules = |rules: &Option<v2::HPAScalingRules>| {
        let Some(rules) = rules else { return Value::Null };
        let mut policies = Value::from(rules.policies.iter().map(ApiValue::to_value).collect::<Vec<_>>());
        if rules.policies.is_empty() {
            policies = Value::Null;
        }
        pintle_schema::value!({
            "stabilizationWindowSeconds": (rules.stabilization_window_seconds.to_value()),
            "selectPolicy": (rules.select_policy.to_value()),
            "policies": policies,
            "tolerance": (rules.tolerance.to_value())
        })
    };
    let whole = pintle_schema::value!({
        "scaleUp": (rules(&behavior.scale_up)),
        "scaleDown": (rules(&behavior.scale_down))
    });
    rename_keys(whole, |key| {
        let mut letters = key.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    })
}

/// The value with other names for the keys of all its maps.
fn rename_keys(value: Value, rename: fn(&str) -> String) -> Value {
    match value {
        Value::Map(map) => {
            let entries = map.into_iter().map(|(key, value)| (rename(&key).into(), rename_keys(value, rename)));
            Value::Map(entries.collect())
        }
        Value::List(items) => Value::List(items.into_iter().map(|item| rename_keys(item, rename)).collect()),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::super::horizontal_pod_autoscalers_v1;
    use super::*;
    use crate::tests::{pruned, round_trip};
    use pintle_schema::value;

    const OTHERS: &str = concat!(
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}},"#,
        r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":55,"container":"main"}},"#,
        r#"{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10","selector":{"matchLabels":{"a":"b"}}}},"#,
        r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","#,
        r#""targetValue":"2k"}},"#,
        r#"{"type":"External","external":{"metricName":"queue","targetAverageValue":"30"}}]"#
    );

    const SCALING: &str = concat!(
        r#"{"ScaleUp":{"StabilizationWindowSeconds":10,"SelectPolicy":"Max","#,
        r#""Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":30}],"Tolerance":"50m"},"#,
        r#""ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":null,"Tolerance":null}}"#
    );

    #[test]
    fn what_v1_cannot_say_is_in_annotations() {
        let old = value!({
            "metadata": {"annotations": {
                "autoscaling.alpha.kubernetes.io/behavior": SCALING,
                "autoscaling.alpha.kubernetes.io/conditions":
                    r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z","reason":"R"}]"#,
                "autoscaling.alpha.kubernetes.io/current-metrics":
                    r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":50,"currentAverageValue":"100m"}}]"#,
                "autoscaling.alpha.kubernetes.io/metrics": OTHERS
            }},
            "spec": {"maxReplicas": 7, "targetCPUUtilizationPercentage": 70},
            "status": {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 50}
        });
        let average = |value: &str| value!({"type": "AverageValue", "averageValue": value});
        let new = value!({
            "spec": {
                "maxReplicas": 7,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "memory", "target": (average("100Mi"))}},
                    {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "main",
                        "target": {"type": "Utilization", "averageUtilization": 55}}},
                    {"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
                        "target": (average("10"))}},
                    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                        "metric": {"name": "hits"}, "target": {"type": "Value", "value": "2k"}}},
                    {"type": "External", "external": {"metric": {"name": "queue"}, "target": (average("30"))}},
                    {"type": "Resource", "resource": {"name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 70}}}
                ],
                "behavior": {
                    "scaleUp": {"stabilizationWindowSeconds": 10, "selectPolicy": "Max", "tolerance": "50m",
                        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 30}]},
                    "scaleDown": {"selectPolicy": "Min"}
                }
            },
            "status": {
                "currentReplicas": 2, "desiredReplicas": 3,
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 50, "averageValue": "100m"}}}],
                "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R",
                    "lastTransitionTime": "2020-01-01T00:00:00Z"}]
            }
        });
        round_trip(&horizontal_pod_autoscalers_v1(), old, new);
    }

    #[test]
    fn what_cannot_be_parsed_is_ignored() {
        for text in ["", "x", "{}", "[1]", "[{\"type\": 1}]"] {
            let mut object = value!({"metadata": {"annotations": {"a": "b"}}, "spec": {"maxReplicas": 1}});
            for key in [METRICS, CURRENT_METRICS, CONDITIONS] {
                object.set_at(&["metadata", "annotations", key], text);
            }
            to_v2(&mut object);
            let expected = value!({"metadata": {"annotations": {"a": "b"}}, "spec": {"maxReplicas": 1}});
            assert_eq!(pruned(object), expected, "{text}");
        }
    }
}
