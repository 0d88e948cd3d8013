//! Rules of ReplicaSet.

use super::workload;
use crate::shared::at_most;
use pintle_types::apps::v1::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, Cx};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut Cx<'_>) {
    workload::selector(selector, "deployment", Some("invalid label selector"), cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    let spec = cx.root::<ReplicaSet>().field(ReplicaSet::SPEC);
    workload::labels_match(spec.field(ReplicaSetSpec::SELECTOR), template, cx);
}

/// Its pods run until it removes them.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    workload::pods_run_on(template, "ReplicaSet", cx);
}

/// What it selects is settled when it is made.
pub fn selector_is_fixed(spec: At<'_, ReplicaSetSpec>, cx: &mut Cx<'_>) {
    spec.field(ReplicaSetSpec::SELECTOR, |selector| crate::shared::immutable(selector, cx));
}

/// No part of the pods is more than all of them.
pub fn counts(status: At<'_, ReplicaSetStatus>, cx: &mut Cx<'_>) {
    type Status = ReplicaSetStatus;
    let all = i64::from(status.new.field(Status::REPLICAS).get());
    let ready = i64::from(status.new.field(Status::READY_REPLICAS).get());
    let available = i64::from(status.new.field(Status::AVAILABLE_REPLICAS).get());
    let labeled = i64::from(status.new.field(Status::FULLY_LABELED_REPLICAS).get());
    let than_all = "cannot be greater than status.replicas";
    at_most(labeled, all, &status.path.to(Status::FULLY_LABELED_REPLICAS), than_all, cx);
    at_most(ready, all, &status.path.to(Status::READY_REPLICAS), than_all, cx);
    let path = status.path.to(Status::AVAILABLE_REPLICAS);
    at_most(available, all, &path, than_all, cx);
    at_most(available, ready, &path, "cannot be greater than readyReplicas", cx);
}
