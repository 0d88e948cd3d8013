//! Rules of StatefulSet.

use super::workload;
use crate::core::rules::pod::annotations as annotations_of_pods;
use crate::rules::internal_form::in_full;
use crate::rules::items;
use pintle_gates as gates;
use pintle_schema::{Value, names};
use pintle_types::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use pintle_types::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec, Volume, VolumeSource,
};
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_validation::{At, Operation, ValidationContext, metadata as general, same_at};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    workload::usable(selector, "", cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    workload::labels_match(spec.field(StatefulSetSpec::SELECTOR), template, cx);
}

/// The template matters only if its selector is valid.
pub fn has_wrong_selector(spec: At<'_, StatefulSetSpec>, _: &ValidationContext<'_>) -> bool {
    workload::is_wrong(spec.new.field(StatefulSetSpec::SELECTOR))
}

/// Whether fields that must not change are only compared.
pub fn is_fixed(spec: At<'_, StatefulSetSpec>, cx: &ValidationContext<'_>) -> bool {
    spec.old.is_some() && cx.request.operation == Operation::Update && cx.request.subresource.is_empty()
}

/// The labels and annotations of its pods are validated again, at the path of the template, if its selector is valid.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    if workload::is_wrong(spec.field(StatefulSetSpec::SELECTOR)) {
        return;
    }
    let metadata = template.new.field(PodTemplateSpec::METADATA);
    let labels = template.path.to(ObjectMeta::LABELS).to_string();
    general::validate_labels(Some(metadata.field(ObjectMeta::LABELS).value()), &labels, &mut cx.errors);
    let annotations = template.path.to(ObjectMeta::ANNOTATIONS).to_string();
    general::validate_annotations(Some(metadata.field(ObjectMeta::ANNOTATIONS).value()), &annotations, &mut cx.errors);
    annotations_of_pods::of_template(template, cx);
}

/// The template as its pods get it. Each claim that is made for a pod is a volume, before those of the template and in place
/// of any that has its name, and the names of the host are the set's to give. `None` if that is the template itself.
pub fn as_pods_get_it(spec: At<'_, StatefulSetSpec>, _: &ValidationContext<'_>) -> Option<Value> {
    const SPEC: &str = PodTemplateSpec::SPEC.name();
    const HOST_NAMES: [&str; 2] = [PodSpec::HOSTNAME.name(), PodSpec::SUBDOMAIN.name()];
    let template = spec.new.field(StatefulSetSpec::TEMPLATE);
    let pod = template.field(PodTemplateSpec::SPEC);
    let mut claims: Vec<&str> = Vec::new();
    for claim in spec.new.field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES).iter() {
        let name = claim.field(PersistentVolumeClaim::METADATA).field(ObjectMeta::NAME).as_str();
        // A claim twice is one volume; a wrong name is reported each time.
        if !claims.contains(&name) || !names::dns1123_label(name).is_empty() {
            claims.push(name);
        }
    }
    if claims.is_empty() && HOST_NAMES.iter().all(|field| pod.value().get(field).is_none()) {
        return None;
    }
    let mut template = template.value().clone();
    for field in HOST_NAMES {
        template.remove_at(&[SPEC, field]);
    }
    let volumes = items(pod.field(PodSpec::VOLUMES)).iter();
    let others = volumes.filter(|volume| !claims.contains(&volume.str_at(&[Volume::NAME.name()]))).cloned();
    let volumes: Vec<Value> = claims.iter().map(|name| volume_of_claim(name)).chain(others).collect();
    if !volumes.is_empty() {
        template.set_at(&[SPEC, PodSpec::VOLUMES.name()], Value::from(volumes));
    }
    Some(template)
}

fn volume_of_claim(name: &str) -> Value {
    let mut volume = Value::map();
    volume.set_at(&[Volume::NAME.name()], name);
    let claim = [VolumeSource::PERSISTENT_VOLUME_CLAIM.name(), PersistentVolumeClaimVolumeSource::CLAIM_NAME.name()];
    volume.set_at(&claim, name);
    volume
}

/// Pods are replaced in turn, or when somebody deletes them.
pub fn strategy(strategy: At<'_, StatefulSetUpdateStrategy>, cx: &mut ValidationContext<'_>) {
    match strategy.new.field(StatefulSetUpdateStrategy::TYPE).value().as_str().unwrap_or_default() {
        "" => cx.errors.required(strategy.path, ""),
        "OnDelete" | "RollingUpdate" => {}
        _ => {
            let value = in_full(strategy.new);
            cx.errors.invalid(strategy.path, value, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// Pods cannot be replaced while none may be missing.
pub fn rolling_update(update: At<'_, RollingUpdateStatefulSetStrategy>, cx: &mut ValidationContext<'_>) {
    let unavailable = update.new.field(RollingUpdateStatefulSetStrategy::MAX_UNAVAILABLE);
    if cx.enabled(&gates::MAX_UNAVAILABLE_STATEFUL_SET) && unavailable.is_set() && workload::is_none(unavailable) {
        let path = update.path.to(RollingUpdateStatefulSetStrategy::MAX_UNAVAILABLE);
        cx.errors.invalid(path, unavailable.value().clone(), "cannot be 0");
    }
}

/// The fields that an update must not change.
const FIXED: [&str; 4] = [
    StatefulSetSpec::SELECTOR.name(),
    StatefulSetSpec::VOLUME_CLAIM_TEMPLATES.name(),
    StatefulSetSpec::SERVICE_NAME.name(),
    StatefulSetSpec::POD_MANAGEMENT_POLICY.name(),
];

/// Pods that exist keep their identity.
pub fn what_is_fixed(spec: At<'_, StatefulSetSpec>, cx: &mut ValidationContext<'_>) {
    let Some(old) = spec.old else { return };
    if FIXED.iter().any(|field| !same_at(spec.new.value(), old.value(), field)) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        cx.errors.forbidden(spec.path, detail);
    }
}
