//! Rules of HorizontalPodAutoscaler.

use pintle_schema::{Quantity, Value, View};
use pintle_types::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec,
};
use pintle_validation::{At, ValidationContext};

fn least(cx: &ValidationContext<'_>) -> Option<i32> {
    let spec = cx.root::<HorizontalPodAutoscaler>().field(HorizontalPodAutoscaler::SPEC);
    spec.field(HorizontalPodAutoscalerSpec::MIN_REPLICAS).some().map(View::get)
}

/// There is a number of pods between the bounds.
pub fn most_is_not_below_least(most: At<'_, i32>, cx: &mut ValidationContext<'_>) {
    let number = most.new.get();
    if least(cx).is_some_and(|least| number < least) {
        cx.errors.invalid(most.path, number, "must be greater than or equal to `minReplicas`");
    }
}

/// Without pods, their own metrics say nothing.
pub fn zero_needs_a_metric(metrics: At<'_, Vec<MetricSpec>>, cx: &mut ValidationContext<'_>) {
    let is_outside = |metric: View<'_, MetricSpec>| {
        metric.field(MetricSpec::OBJECT).is_set() || metric.field(MetricSpec::EXTERNAL).is_set()
    };
    if least(cx) == Some(0) && !metrics.new.iter().any(is_outside) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        cx.errors.forbidden(metrics.path, detail);
    }
}

/// An `apiVersion` has at most one slash.
pub fn api_version(version: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let text = version.new.as_str();
    if text.matches('/').count() > 1 {
        cx.errors.invalid(version.path, text, format!("unexpected GroupVersion string: {text}"));
    }
}

/// The scale target has an API group, except for the one scalable kind of the core group.
pub fn target_has_group(target: At<'_, CrossVersionObjectReference>, cx: &mut ValidationContext<'_>) {
    type Reference = CrossVersionObjectReference;
    let text = |field| target.new.field(field).as_str();
    let version = text(Reference::API_VERSION);
    let has_group = match version.split_once('/') {
        Some((group, version)) => !group.is_empty() || version.contains('/'),
        None => false,
    };
    if !has_group && text(Reference::KIND) != "ReplicationController" {
        cx.errors.invalid(target.path.to(Reference::API_VERSION), version, "apiVersion must specify API group");
    }
}

/// A deviation that changes nothing is no less than none.
pub fn tolerance(tolerance: At<'_, Option<Quantity>>, cx: &mut ValidationContext<'_>) {
    let Some(tolerance) = tolerance.some() else { return };
    if sign(tolerance.new.value()) < 0 {
        let value = tolerance.new.value().clone();
        cx.errors.invalid(tolerance.path, value, "must be greater than or equal to 0");
    }
}

/// The sign of a quantity.
pub fn sign(quantity: &Value) -> i32 {
    quantity.as_str().and_then(|text| Quantity::parse(text).ok()).map_or(0, |quantity| quantity.signum())
}
