//! Rules of DaemonSet.

use super::workload;
use pintle_types::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_validation::{At, ValidationContext};

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<DaemonSet>().field(DaemonSet::SPEC);
    workload::labels_match(spec.field(DaemonSetSpec::SELECTOR), template, cx);
}

/// Pods are replaced in turn, or when somebody deletes them.
pub fn strategy(strategy: At<'_, DaemonSetUpdateStrategy>, cx: &mut ValidationContext<'_>) {
    let kind = strategy.new.field(DaemonSetUpdateStrategy::TYPE).value();
    workload::known(kind, &["RollingUpdate", "OnDelete"], strategy, cx);
}

/// Pods are replaced either before or after their successors start.
pub fn rolling_update(update: At<'_, RollingUpdateDaemonSet>, cx: &mut ValidationContext<'_>) {
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
