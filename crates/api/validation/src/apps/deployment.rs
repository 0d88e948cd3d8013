//! Rules of Deployment.

use super::workload;
use crate::shared::at_most;
use crate::shown::in_full;
use pintle_types::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, RollingUpdateDeployment,
};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, Cx};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut Cx<'_>) {
    workload::selector(selector, "deployment", Some("invalid label selector"), cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    let spec = cx.root::<Deployment>().field(Deployment::SPEC);
    workload::labels_match(spec.field(DeploymentSpec::SELECTOR), template, cx);
}

/// Its pods run until it removes them.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    workload::pods_run_on(template, "ReplicaSet", cx);
}

/// What it selects is settled when it is made.
pub fn selector_is_fixed(spec: At<'_, DeploymentSpec>, cx: &mut Cx<'_>) {
    spec.field(DeploymentSpec::SELECTOR, |selector| crate::shared::immutable(selector, cx));
}

/// A rollout that starts waits for pods to become available before it fails.
pub fn deadline(deadline: At<'_, Option<i32>>, cx: &mut Cx<'_>) {
    let Some(deadline) = deadline.some() else { return };
    let spec = cx.root::<Deployment>().field(Deployment::SPEC);
    let seconds = deadline.new.get();
    if seconds <= spec.field(DeploymentSpec::MIN_READY_SECONDS).get() {
        cx.errors.invalid(deadline.path, seconds, "must be greater than minReadySeconds");
    }
}

/// Settings of a rolling update stand where there is one.
pub fn strategy(strategy: At<'_, DeploymentStrategy>, cx: &mut Cx<'_>) {
    let rolling = strategy.new.field(DeploymentStrategy::ROLLING_UPDATE).is_set();
    let path = strategy.path.to(DeploymentStrategy::ROLLING_UPDATE);
    match strategy.new.field(DeploymentStrategy::TYPE).value().as_str().unwrap_or_default() {
        "Recreate" if rolling => {
            cx.errors.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
        }
        "RollingUpdate" if !rolling => cx.errors.required(path, "this should be defaulted and never be nil"),
        "Recreate" | "RollingUpdate" => {}
        _ => {
            let value = in_full(strategy.new);
            cx.errors.not_supported(strategy.path, value, &["Recreate", "RollingUpdate"]);
        }
    }
}

/// Without a pod that may be missing or be more, nothing can be replaced.
pub fn rolling_update(update: At<'_, RollingUpdateDeployment>, cx: &mut Cx<'_>) {
    let unavailable = update.new.field(RollingUpdateDeployment::MAX_UNAVAILABLE);
    if workload::is_none(unavailable) && workload::is_none(update.new.field(RollingUpdateDeployment::MAX_SURGE)) {
        let path = update.path.to(RollingUpdateDeployment::MAX_UNAVAILABLE);
        cx.errors.invalid(path, unavailable.value().clone(), "may not be 0 when `maxSurge` is 0");
    }
}

/// No part of the pods is more than all of them.
pub fn counts(status: At<'_, DeploymentStatus>, cx: &mut Cx<'_>) {
    type Status = DeploymentStatus;
    let all = i64::from(status.new.field(Status::REPLICAS).get());
    let ready = i64::from(status.new.field(Status::READY_REPLICAS).get());
    let available = i64::from(status.new.field(Status::AVAILABLE_REPLICAS).get());
    let updated = i64::from(status.new.field(Status::UPDATED_REPLICAS).get());
    let than_all = "cannot be greater than status.replicas";
    at_most(updated, all, &status.path.to(Status::UPDATED_REPLICAS), than_all, cx);
    at_most(ready, all, &status.path.to(Status::READY_REPLICAS), than_all, cx);
    let path = status.path.to(Status::AVAILABLE_REPLICAS);
    at_most(available, all, &path, than_all, cx);
    at_most(available, ready, &path, "cannot be greater than readyReplicas", cx);
}

/// Its counter of name clashes only grows.
pub fn clashes_add_up(status: At<'_, DeploymentStatus>, cx: &mut Cx<'_>) {
    status.field(DeploymentStatus::COLLISION_COUNT, |count| workload::never_falls(count, cx));
}
