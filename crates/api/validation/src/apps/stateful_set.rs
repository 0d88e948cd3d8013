//! Rules of StatefulSet.

use super::workload;
use crate::shared::{at_most, items, text_in};
use crate::shown::in_full;
use pintle_schema::{Value, names};
use pintle_types::apps::v1::{
    PodManagementPolicyType, RollingUpdateStatefulSetStrategy, StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy,
};
use pintle_types::core::v1::{PersistentVolumeClaim, PodSpec, PodTemplateSpec, Volume};
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_validation::{At, Cx, ErrorKind, metadata as general, same_at};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut Cx<'_>) {
    workload::selector(selector, "statefulset", Some(""), cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    workload::labels_match(spec.field(StatefulSetSpec::SELECTOR), template, cx);
}

/// Its pods run until it removes them. What they are labeled with is judged once more, with the template's own path.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    claims_are_volumes(template, cx);
    let metadata = template.new.field(PodTemplateSpec::METADATA);
    let labels = template.path.to(ObjectMeta::LABELS).to_string();
    general::validate_labels(Some(metadata.field(ObjectMeta::LABELS).value()), &labels, &mut cx.errors);
    let annotations = template.path.to(ObjectMeta::ANNOTATIONS).to_string();
    general::validate_annotations(Some(metadata.field(ObjectMeta::ANNOTATIONS).value()), &annotations, &mut cx.errors);
    workload::pods_run_on(template, "StatefulSet", cx);
}

/// Each claim that is made for a pod is a volume of its own, before those of the template and in place of any that has
/// its name. What was found in the template's volumes is put straight for that.
fn claims_are_volumes(template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    let claims = spec.field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES);
    let claimed: Vec<&str> = claims
        .iter()
        .map(|claim| claim.field(PersistentVolumeClaim::METADATA).field(ObjectMeta::NAME).as_str())
        .collect();
    if claimed.is_empty() {
        return;
    }
    let volumes = items(template.new.field(PodTemplateSpec::SPEC).field(PodSpec::VOLUMES));
    let is_claimed = |at: usize| claimed.contains(&text_in(volumes, at, Volume::NAME));
    let pod = template.path.to(PodTemplateSpec::SPEC);
    let prefix = format!("{}[", pod.to(PodSpec::VOLUMES));
    for error in &mut cx.errors.0 {
        let Some((index, rest)) = error.field.strip_prefix(&prefix).and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let Ok(index) = index.parse::<usize>() else { continue };
        let place = claimed.len() + (0..index).filter(|before| !is_claimed(*before)).count();
        let field = if is_claimed(index) { String::new() } else { format!("{prefix}{place}]{rest}") };
        error.field = field;
    }
    let mounts = pod.to_string();
    cx.errors.0.retain(|error| {
        let is_mount = error.kind == ErrorKind::NotFound && error.field.starts_with(&mounts);
        let found = error.value.as_ref().and_then(Value::as_str).is_some_and(|name| claimed.contains(&name));
        !(error.field.is_empty() || is_mount && found)
    });
    for (at, name) in claimed.iter().enumerate() {
        let path = format!("{prefix}{at}].{}", Volume::NAME.name());
        match *name {
            "" => cx.errors.required(path, ""),
            name => cx.errors.invalid_each(path, &Value::from(name), names::dns1123_label(name)),
        }
    }
}

/// How pods are started is one of two ways.
pub fn pod_management(policy: At<'_, PodManagementPolicyType>, cx: &mut Cx<'_>) {
    match policy.new.value().as_str().unwrap_or_default() {
        "" => cx.errors.required(policy.path, ""),
        "OrderedReady" | "Parallel" => {}
        other => cx.errors.invalid(policy.path, other, "must be 'OrderedReady' or 'Parallel'"),
    }
}

/// Settings of a rolling update stand where there is one.
pub fn strategy(strategy: At<'_, StatefulSetUpdateStrategy>, cx: &mut Cx<'_>) {
    let rolling = strategy.new.field(StatefulSetUpdateStrategy::ROLLING_UPDATE);
    match strategy.new.field(StatefulSetUpdateStrategy::TYPE).value().as_str().unwrap_or_default() {
        "" => cx.errors.required(strategy.path, ""),
        "OnDelete" if rolling.is_set() => {
            let path = strategy.path.to(StatefulSetUpdateStrategy::ROLLING_UPDATE);
            cx.errors.invalid(path, in_full(rolling), "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" | "RollingUpdate" => {}
        _ => {
            let value = in_full(strategy.new);
            cx.errors.invalid(strategy.path, value, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// Pods cannot be replaced while none may be missing.
pub fn rolling_update(update: At<'_, RollingUpdateStatefulSetStrategy>, cx: &mut Cx<'_>) {
    let unavailable = update.new.field(RollingUpdateStatefulSetStrategy::MAX_UNAVAILABLE);
    if cx.enabled("MaxUnavailableStatefulSet") && unavailable.is_set() && workload::is_none(unavailable) {
        let path = update.path.to(RollingUpdateStatefulSetStrategy::MAX_UNAVAILABLE);
        cx.errors.invalid(path, unavailable.value().clone(), "cannot be 0");
    }
}

/// Claims are kept or deleted.
pub fn claim_retention(policy: At<'_, StatefulSetPersistentVolumeClaimRetentionPolicy>, cx: &mut Cx<'_>) {
    type Policy = StatefulSetPersistentVolumeClaimRetentionPolicy;
    for field in [Policy::WHEN_DELETED, Policy::WHEN_SCALED] {
        let fate = policy.new.field(field).value().as_str().unwrap_or_default();
        if !["Retain", "Delete"].contains(&fate) {
            cx.errors.not_supported(policy.path.to(field), fate, &["Retain", "Delete"]);
        }
    }
}

/// What may not change once a set is made.
const FIXED: [&str; 4] = [
    StatefulSetSpec::SELECTOR.name(),
    StatefulSetSpec::VOLUME_CLAIM_TEMPLATES.name(),
    StatefulSetSpec::SERVICE_NAME.name(),
    StatefulSetSpec::POD_MANAGEMENT_POLICY.name(),
];

/// Pods that exist keep their identity.
pub fn what_is_fixed(spec: At<'_, StatefulSetSpec>, cx: &mut Cx<'_>) {
    let Some(old) = spec.old else { return };
    // Nothing is told of a claim or a service but that it may not change.
    let unjudged = [StatefulSetSpec::VOLUME_CLAIM_TEMPLATES.name(), StatefulSetSpec::SERVICE_NAME.name()];
    let unjudged = unjudged.map(|field| spec.path.child(field).to_string());
    cx.errors.0.retain(|error| !unjudged.iter().any(|path| error.field.starts_with(path)));
    if FIXED.iter().any(|field| !same_at(spec.new.value(), old.value(), field)) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        cx.errors.forbidden(spec.path, detail);
    }
}

/// No part of the pods is more than all of them.
pub fn counts(status: At<'_, StatefulSetStatus>, cx: &mut Cx<'_>) {
    type Status = StatefulSetStatus;
    let all = i64::from(status.new.field(Status::REPLICAS).get());
    for field in
        [Status::READY_REPLICAS, Status::CURRENT_REPLICAS, Status::UPDATED_REPLICAS, Status::AVAILABLE_REPLICAS]
    {
        let part = i64::from(status.new.field(field).get());
        at_most(part, all, &status.path.to(field), "cannot be greater than status.replicas", cx);
    }
    let ready = i64::from(status.new.field(Status::READY_REPLICAS).get());
    let available = i64::from(status.new.field(Status::AVAILABLE_REPLICAS).get());
    let path = status.path.to(Status::AVAILABLE_REPLICAS);
    at_most(available, ready, &path, "cannot be greater than status.readyReplicas", cx);
}

/// Its counter of name clashes only grows.
pub fn clashes_add_up(status: At<'_, StatefulSetStatus>, cx: &mut Cx<'_>) {
    status.field(StatefulSetStatus::COLLISION_COUNT, |count| workload::never_falls(count, cx));
}
