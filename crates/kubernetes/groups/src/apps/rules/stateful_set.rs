//! Rules of StatefulSet.

use super::workload;
use crate::core::rules::pod::annotations as annotations_of_pods;
use crate::rules::internal_form::in_full;
use crate::rules::{items, put_before, text_in};
use pintle_gates as gates;
use pintle_schema::{Value, names};
use pintle_types::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use pintle_types::core::v1::{PersistentVolumeClaim, PodSpec, PodTemplateSpec, Volume};
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_validation::{At, ErrorKind, FieldError, ValidationContext, metadata as general, same_at};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    workload::usable(selector, "", cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    workload::labels_match(spec.field(StatefulSetSpec::SELECTOR), template, cx);
}

/// The template matters only if its selector is valid, except for what a StatefulSet never allows.
pub fn template(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<StatefulSet>().field(StatefulSet::SPEC);
    let path = template.path.to(PodTemplateSpec::SPEC);
    let (restarts, deadline) =
        (path.to(PodSpec::RESTART_POLICY).to_string(), path.to(PodSpec::ACTIVE_DEADLINE_SECONDS).to_string());
    let keep = |error: &FieldError| match error.kind {
        ErrorKind::NotSupported => error.field == restarts && error.detail == "supported values: \"Always\"",
        ErrorKind::Forbidden => error.field == deadline,
        _ => false,
    };
    workload::only_with_valid_selector(spec.field(StatefulSetSpec::SELECTOR), template, keep, cx);
}

/// The labels and annotations of its pods are validated again, at the path of the template.
pub fn pods(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    drop_host_names(template, cx);
    claims_are_volumes(template, cx);
    let metadata = template.new.field(PodTemplateSpec::METADATA);
    let labels = template.path.to(ObjectMeta::LABELS).to_string();
    general::validate_labels(Some(metadata.field(ObjectMeta::LABELS).value()), &labels, &mut cx.errors);
    let annotations = template.path.to(ObjectMeta::ANNOTATIONS).to_string();
    general::validate_annotations(Some(metadata.field(ObjectMeta::ANNOTATIONS).value()), &annotations, &mut cx.errors);
    annotations_of_pods::of_template(template, cx);
}

/// Each claim that is made for a pod is a volume of its own, before those of the template and in place of any that has
/// its name. What was found in the template's volumes is put straight for that.
fn claims_are_volumes(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
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
    let found = cx.errors.0.len();
    for (at, name) in claimed.iter().enumerate() {
        let path = format!("{prefix}{at}].{}", Volume::NAME.name());
        match *name {
            "" => {
                // The volume's claim has the name too.
                cx.errors.required(format!("{prefix}{at}].persistentVolumeClaim.claimName"), "");
                cx.errors.required(path, "");
            }
            name => cx.errors.invalid_each(path, &Value::from(name), names::dns1123_label(name)),
        }
    }
    // Volumes are validated before all else of the pod.
    let inside = format!("{pod}.");
    put_before(found, |field| field.starts_with(&inside), cx);
}

/// The names of the host are the set's to give; those in the template are not validated.
fn drop_host_names(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    if !cx.errors.is_empty() {
        let pod = template.path.to(PodTemplateSpec::SPEC);
        let names = [pod.to(PodSpec::HOSTNAME), pod.to(PodSpec::SUBDOMAIN)].map(|path| path.to_string());
        cx.errors.0.retain(|error| !names.contains(&error.field));
    }
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

/// Nothing is said of a rolling update that does not take place.
pub fn rolling_update_alone(strategy: At<'_, StatefulSetUpdateStrategy>, cx: &mut ValidationContext<'_>) {
    let kind = strategy.new.field(StatefulSetUpdateStrategy::TYPE).value();
    workload::only_if_rolling(kind, &strategy.path.to(StatefulSetUpdateStrategy::ROLLING_UPDATE), cx);
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
    // Nothing is reported for a claim or a service but that it may not change.
    let ignored = [StatefulSetSpec::VOLUME_CLAIM_TEMPLATES.name(), StatefulSetSpec::SERVICE_NAME.name()];
    let ignored = ignored.map(|field| spec.path.child(field).to_string());
    cx.errors.0.retain(|error| !ignored.iter().any(|path| error.field.starts_with(path)));
    if FIXED.iter().any(|field| !same_at(spec.new.value(), old.value(), field)) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        cx.errors.forbidden(spec.path, detail);
    }
}
