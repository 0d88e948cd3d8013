//! Warnings of workloads: those of the pod template, and those of the kind.
//!
//! Warnings never reject a request. Texts are kube-apiserver's.

use crate::core::rules::template_warnings::{has_new_spec, name_for_pods, template_in};
use crate::core::rules::volume::warnings::of_claim_spec;
use crate::rules::warnings::Written;
use pintle_schema::Value;
use pintle_types::apps::v1::{
    DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use pintle_types::core::v1::PersistentVolumeClaim;
use pintle_validation::{FieldPath, same};

pub fn deployment(written: &Written<'_>, warnings: &mut Vec<String>) {
    name_for_pods(written, warnings);
    if has_new_spec(written) {
        template_in(written.object, &[Deployment::SPEC.name(), DeploymentSpec::TEMPLATE.name()], warnings);
    }
}

pub fn replica_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    name_for_pods(written, warnings);
    if has_new_spec(written) {
        template_in(written.object, &[ReplicaSet::SPEC.name(), ReplicaSetSpec::TEMPLATE.name()], warnings);
    }
}

/// The generation of a daemon set counts more than its template.
pub fn daemon_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    let fields = [DaemonSet::SPEC.name(), DaemonSetSpec::TEMPLATE.name()];
    let template = |object: &Value| object.at(&fields).cloned().unwrap_or_default();
    let is_new = written.old.is_none_or(|old| !same(&template(old), &template(written.object)));
    if is_new && written.subresource.is_empty() {
        template_in(written.object, &fields, warnings);
    }
}

/// Warnings of the pods of a stateful set, of the claims that it makes for them, and of a history without an end.
pub fn stateful_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    if has_new_spec(written) {
        template_in(written.object, &[StatefulSet::SPEC.name(), StatefulSetSpec::TEMPLATE.name()], warnings);
    }
    if !written.subresource.is_empty() {
        return;
    }
    let spec = written.view::<StatefulSet>().field(StatefulSet::SPEC);
    let path = FieldPath::new(StatefulSet::SPEC.name());
    let list = path.to(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES);
    for (index, claim) in spec.field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES).iter().enumerate() {
        let claim = claim.field(PersistentVolumeClaim::SPEC);
        let place = list.index(index);
        // kube-apiserver names no field of a new claim, and one with a capital of another.
        if written.is_new() {
            of_claim_spec(claim, &place, warnings);
        } else {
            of_claim_spec(claim, &place.child("Spec"), warnings);
        }
    }
    if spec.field(StatefulSetSpec::REVISION_HISTORY_LIMIT).get().is_some_and(|limit| limit < 0) {
        let detail = "a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(format!("{}: {detail}", path.to(StatefulSetSpec::REVISION_HISTORY_LIMIT)));
    }
}
