//! Rules of Deployment.

use super::workload;
use pintle_types::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, ValidationContext};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    workload::usable(selector, "invalid label selector", cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<Deployment>().field(Deployment::SPEC);
    workload::labels_match(spec.field(DeploymentSpec::SELECTOR), template, cx);
}

/// The template matters only if its selector is valid.
pub fn has_wrong_selector(spec: At<'_, DeploymentSpec>, _: &ValidationContext<'_>) -> bool {
    workload::is_wrong(spec.new.field(DeploymentSpec::SELECTOR))
}

/// A deadline leaves time for a pod to become available.
pub fn progress_deadline(spec: At<'_, DeploymentSpec>, cx: &mut ValidationContext<'_>) {
    let Some(deadline) = spec.new.field(DeploymentSpec::PROGRESS_DEADLINE_SECONDS).some() else { return };
    if deadline.get() <= spec.new.field(DeploymentSpec::MIN_READY_SECONDS).get() {
        let path = spec.path.to(DeploymentSpec::PROGRESS_DEADLINE_SECONDS);
        cx.errors.invalid(path, deadline.get(), "must be greater than minReadySeconds");
    }
}

/// Old pods go before new ones come, or while they do.
pub fn strategy(strategy: At<'_, DeploymentStrategy>, cx: &mut ValidationContext<'_>) {
    workload::known(strategy.new.field(DeploymentStrategy::TYPE).value(), &["Recreate", "RollingUpdate"], strategy, cx);
}

/// Without a pod that may be missing or be more, nothing can be replaced.
pub fn rolling_update(update: At<'_, RollingUpdateDeployment>, cx: &mut ValidationContext<'_>) {
    let unavailable = update.new.field(RollingUpdateDeployment::MAX_UNAVAILABLE);
    if workload::is_none(unavailable) && workload::is_none(update.new.field(RollingUpdateDeployment::MAX_SURGE)) {
        let path = update.path.to(RollingUpdateDeployment::MAX_UNAVAILABLE);
        cx.errors.invalid(path, unavailable.value().clone(), "may not be 0 when `maxSurge` is 0");
    }
}
