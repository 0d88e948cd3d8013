//! Columns of the group `autoscaling`, from autoscalers in `v2`.
//!
//! A target is shown with the current metric at the same index.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::{Quantity, Value, View};
use pintle_types::autoscaling::v2::{
    ContainerResourceMetricSource, ContainerResourceMetricStatus, CrossVersionObjectReference, ExternalMetricSource,
    ExternalMetricStatus, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus,
    MetricSourceType, MetricSpec, MetricStatus, MetricTarget, MetricValueStatus, ObjectMetricSource,
    ObjectMetricStatus, PodsMetricSource, PodsMetricStatus, ResourceMetricSource, ResourceMetricStatus,
};

printers! {
    HORIZONTAL_POD_AUTOSCALER: HorizontalPodAutoscaler |autoscaler, now| {
        NAME => name(autoscaler),
        string("Reference", "Object that is scaled.") => reference(autoscaler),
        string("Targets", "Current metrics, of what they should be.") => targets(autoscaler),
        string("MinPods", "Least number of pods.")
            => scalar_text_or(autoscaler.to(HorizontalPodAutoscaler::SPEC).to(HorizontalPodAutoscalerSpec::MIN_REPLICAS), UNSET),
        string("MaxPods", "Greatest number of pods.")
            => number(autoscaler.to(HorizontalPodAutoscaler::SPEC).to(HorizontalPodAutoscalerSpec::MAX_REPLICAS)),
        string("Replicas", "How many pods there are.")
            => number(autoscaler.to(HorizontalPodAutoscaler::STATUS).to(HorizontalPodAutoscalerStatus::CURRENT_REPLICAS)),
        AGE => age(autoscaler, now),
    }
}

/// So many metrics are shown, the others counted.
const SHOWN: usize = 2;

fn reference(autoscaler: View<'_, HorizontalPodAutoscaler>) -> Value {
    let target = autoscaler.to(HorizontalPodAutoscaler::SPEC).to(HorizontalPodAutoscalerSpec::SCALE_TARGET_REF);
    let kind = str_of(target.to(CrossVersionObjectReference::KIND));
    format!("{kind}/{}", str_of(target.to(CrossVersionObjectReference::NAME))).into()
}

fn targets(autoscaler: View<'_, HorizontalPodAutoscaler>) -> Value {
    let metrics = autoscaler.to(HorizontalPodAutoscaler::SPEC).to(HorizontalPodAutoscalerSpec::METRICS);
    let status = autoscaler.to(HorizontalPodAutoscaler::STATUS);
    let mut current = status.to(HorizontalPodAutoscalerStatus::CURRENT_METRICS).iter();
    let texts: Vec<String> =
        metrics.iter().map(|metric| target(metric, current.next().unwrap_or(View::new(&Value::Null)))).collect();
    or(clipped(&texts, SHOWN, ", "), NONE)
}

fn target(metric: View<'_, MetricSpec>, status: View<'_, MetricStatus>) -> String {
    let ty = metric.to(MetricSpec::TYPE).get();
    if ty == MetricSourceType::EXTERNAL {
        let current = status.to(MetricStatus::EXTERNAL).to(ExternalMetricStatus::CURRENT);
        value_or_average(current, metric.to(MetricSpec::EXTERNAL).to(ExternalMetricSource::TARGET))
    } else if ty == MetricSourceType::OBJECT {
        let current = status.to(MetricStatus::OBJECT).to(ObjectMetricStatus::CURRENT);
        value_or_average(current, metric.to(MetricSpec::OBJECT).to(ObjectMetricSource::TARGET))
    } else if ty == MetricSourceType::PODS {
        let current = status.to(MetricStatus::PODS).to(PodsMetricStatus::CURRENT);
        average(current, metric.to(MetricSpec::PODS).to(PodsMetricSource::TARGET))
    } else if ty == MetricSourceType::RESOURCE {
        let current = status.to(MetricStatus::RESOURCE).to(ResourceMetricStatus::CURRENT);
        let metric = metric.to(MetricSpec::RESOURCE);
        resource(str_of(metric.to(ResourceMetricSource::NAME)), current, metric.to(ResourceMetricSource::TARGET))
    } else if ty == MetricSourceType::CONTAINER_RESOURCE {
        let current = status.to(MetricStatus::CONTAINER_RESOURCE).to(ContainerResourceMetricStatus::CURRENT);
        let metric = metric.to(MetricSpec::CONTAINER_RESOURCE);
        let name = str_of(metric.to(ContainerResourceMetricSource::NAME));
        resource(name, current, metric.to(ContainerResourceMetricSource::TARGET))
    } else {
        "<unknown type>".to_owned()
    }
}

fn value_or_average(current: View<'_, MetricValueStatus>, target: View<'_, MetricTarget>) -> String {
    if target.to(MetricTarget::AVERAGE_VALUE).is_set() {
        return format!("{} (avg)", average(current, target));
    }
    let known = amount(current.to(MetricValueStatus::VALUE));
    format!("{known}/{}", amount(target.to(MetricTarget::VALUE)))
}

fn average(current: View<'_, MetricValueStatus>, target: View<'_, MetricTarget>) -> String {
    let known = amount(current.to(MetricValueStatus::AVERAGE_VALUE));
    format!("{known}/{}", amount(target.to(MetricTarget::AVERAGE_VALUE)))
}

fn resource(name: &str, current: View<'_, MetricValueStatus>, target: View<'_, MetricTarget>) -> String {
    if target.to(MetricTarget::AVERAGE_VALUE).is_set() {
        return format!("{name}: {}", average(current, target));
    }
    let known = percent(current.to(MetricValueStatus::AVERAGE_UTILIZATION), UNKNOWN);
    format!("{name}: {known}/{}", percent(target.to(MetricTarget::AVERAGE_UTILIZATION), "<auto>"))
}

fn amount(quantity: View<'_, Option<Quantity>>) -> &str {
    str_or(quantity, UNKNOWN)
}

fn percent(utilization: View<'_, Option<i32>>, stand_in: &str) -> String {
    utilization.get().map_or_else(|| stand_in.to_owned(), |percent| format!("{percent}%"))
}
