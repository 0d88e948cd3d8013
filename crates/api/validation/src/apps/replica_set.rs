//! Rules of ReplicaSet.

use super::workload;
use crate::shared::replica_counts;
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
    let counts = [Status::REPLICAS, Status::FULLY_LABELED_REPLICAS, Status::READY_REPLICAS, Status::AVAILABLE_REPLICAS];
    replica_counts(status, counts, cx);
}
