//! Rules of ReplicationController.

use crate::shared::{replica_counts, selects};
use pintle_types::core::v1::{
    PodSpec, PodTemplateSpec, ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, Cx};

/// The controller selects the pods that it makes.
pub fn labels_match(template: At<'_, Option<PodTemplateSpec>>, cx: &mut Cx<'_>) {
    let Some(template) = template.some() else { return };
    let spec = cx.root::<ReplicationController>().field(ReplicationController::SPEC);
    let selector = spec.field(ReplicationControllerSpec::SELECTOR);
    template.field(PodTemplateSpec::METADATA, |metadata| {
        if !selector.value().is_zero() && !selects(selector, metadata.new) {
            let labels = metadata.new.field(ObjectMeta::LABELS).value().clone();
            let detail = "`selector` does not match template `labels`";
            cx.errors.invalid(metadata.path.to(ObjectMeta::LABELS), labels, detail);
        }
    });
}

/// Pods of a controller run until it removes them.
pub fn restarts(template: At<'_, Option<PodTemplateSpec>>, cx: &mut Cx<'_>) {
    let Some(template) = template.some() else { return };
    template.field(PodTemplateSpec::SPEC, |spec| {
        let policy = spec.new.field(PodSpec::RESTART_POLICY);
        if policy.value().as_str() != Some("Always") {
            let policy = policy.value().as_str().unwrap_or_default();
            cx.errors.not_supported(spec.path.to(PodSpec::RESTART_POLICY), policy, &["Always"]);
        }
        if spec.new.field(PodSpec::ACTIVE_DEADLINE_SECONDS).is_set() {
            let detail = "activeDeadlineSeconds in ReplicationController is not Supported";
            cx.errors.forbidden(spec.path.to(PodSpec::ACTIVE_DEADLINE_SECONDS), detail);
        }
    });
}

/// No part of the pods is more than all of them.
pub fn counts(status: At<'_, ReplicationControllerStatus>, cx: &mut Cx<'_>) {
    type Status = ReplicationControllerStatus;
    let counts = [Status::REPLICAS, Status::FULLY_LABELED_REPLICAS, Status::READY_REPLICAS, Status::AVAILABLE_REPLICAS];
    replica_counts(status, counts, cx);
}
