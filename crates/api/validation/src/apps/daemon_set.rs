//! Rules of DaemonSet.

use super::workload;
use crate::shown::in_full;
use pintle_types::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy, RollingUpdateDaemonSet,
};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, Cx};

/// It selects by something.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut Cx<'_>) {
    workload::selector(selector, "daemonset", None, cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    let spec = cx.root::<DaemonSet>().field(DaemonSet::SPEC);
    workload::labels_match(spec.field(DaemonSetSpec::SELECTOR), template, cx);
}

/// Its pods run until it removes them.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    workload::pods_run_on(template, "DaemonSet", cx);
}

/// What it selects is settled when it is made.
pub fn selector_is_fixed(spec: At<'_, DaemonSetSpec>, cx: &mut Cx<'_>) {
    spec.field(DaemonSetSpec::SELECTOR, |selector| crate::shared::immutable(selector, cx));
}

/// A rolling update has its settings.
pub fn strategy(strategy: At<'_, DaemonSetUpdateStrategy>, cx: &mut Cx<'_>) {
    match strategy.new.field(DaemonSetUpdateStrategy::TYPE).value().as_str().unwrap_or_default() {
        "RollingUpdate" if !strategy.new.field(DaemonSetUpdateStrategy::ROLLING_UPDATE).is_set() => {
            cx.errors.required(strategy.path.to(DaemonSetUpdateStrategy::ROLLING_UPDATE), "");
        }
        "RollingUpdate" | "OnDelete" => {}
        _ => {
            let value = in_full(strategy.new);
            cx.errors.not_supported(strategy.path, value, &["RollingUpdate", "OnDelete"]);
        }
    }
}

/// Pods are replaced either before or after their successors start.
pub fn rolling_update(update: At<'_, RollingUpdateDaemonSet>, cx: &mut Cx<'_>) {
    let unavailable = workload::is_none(update.new.field(RollingUpdateDaemonSet::MAX_UNAVAILABLE));
    let surge = update.new.field(RollingUpdateDaemonSet::MAX_SURGE);
    match (unavailable, workload::is_none(surge)) {
        (false, false) => {
            let path = update.path.to(RollingUpdateDaemonSet::MAX_SURGE);
            cx.errors.invalid(path, surge.value().clone(), "may not be set when maxUnavailable is non-zero");
        }
        (true, true) => {
            let path = update.path.to(RollingUpdateDaemonSet::MAX_UNAVAILABLE);
            cx.errors.required(path, "cannot be 0 when maxSurge is 0");
        }
        _ => {}
    }
}

/// Its counter of name clashes only grows.
pub fn clashes_add_up(status: At<'_, DaemonSetStatus>, cx: &mut Cx<'_>) {
    status.field(DaemonSetStatus::COLLISION_COUNT, |count| workload::never_falls(count, cx));
}
