//! Rules of claims to persistent volumes, and of their templates.

use super::persistent::{class_may_change, keeps_mode, no_debt, positive, quantity};
use crate::core::rules::resource_names::{is_native, not_negative};
use crate::rules::difference::difference;
use crate::rules::has_format;
use crate::rules::internal_form::in_full;
use pintle_gates as gates;
use pintle_schema::{ApiType, Map, Value, View, names};
use pintle_types::core::v1::{
    ClaimResourceStatus, PersistentVolumeAccessMode, PersistentVolumeClaim, PersistentVolumeClaimPhase,
    PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, ResourceName, TypedLocalObjectReference,
    TypedObjectReference, VolumeResourceRequirements,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext, metadata, same, same_at};

type Spec = PersistentVolumeClaimSpec;

/// The annotation of the storage class, which precedes the field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Modes are known, and the mode for a single pod stands alone. kube-apiserver's paths have no index.
pub fn access_modes(modes: At<'_, Vec<PersistentVolumeAccessMode>>, cx: &mut ValidationContext<'_>) {
    const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    for mode in modes.new.iter().map(|mode| mode.value().as_str().unwrap_or_default()) {
        if !MODES.contains(&mode) {
            cx.errors.unknown_name(modes.path, mode, MODES);
        }
    }
    let (mut single, mut other) = (false, false);
    for mode in modes.new.iter() {
        match mode.value().as_str().unwrap_or_default() {
            mode if mode == PersistentVolumeAccessMode::READ_WRITE_ONCE_POD.as_str() => single = true,
            mode => other |= MODES.contains(&mode),
        }
    }
    if single && other {
        cx.errors.forbidden(modes.path, "may not use ReadWriteOncePod with other access modes");
    }
}

/// A claim requests storage.
pub fn storage(resources: At<'_, VolumeResourceRequirements>, cx: &mut ValidationContext<'_>) {
    let path = resources.path.key("storage");
    let requests = resources.new.field(VolumeResourceRequirements::REQUESTS).value();
    match requests.get(ResourceName::STORAGE.as_str()) {
        None => cx.errors.required(path, ""),
        Some(amount) => _ = positive(amount, &path, cx),
    }
}

/// The object that the volume is filled from.
pub fn data_source(source: At<'_, Option<TypedLocalObjectReference>>, cx: &mut ValidationContext<'_>) {
    let Some(At { new: source, path, .. }) = source.some() else { return };
    let kind = source.field(TypedLocalObjectReference::KIND).as_str();
    let group = source.field(TypedLocalObjectReference::API_GROUP).or_zero();
    source_object(source.field(TypedLocalObjectReference::NAME).as_str(), kind, group, path, cx);
}

/// The object that the volume is filled from, which may be in another namespace.
pub fn data_source_ref(source: At<'_, Option<TypedObjectReference>>, cx: &mut ValidationContext<'_>) {
    let Some(At { new: source, path, .. }) = source.some() else { return };
    let kind = source.field(TypedObjectReference::KIND).as_str();
    let group = source.field(TypedObjectReference::API_GROUP).or_zero();
    source_object(source.field(TypedObjectReference::NAME).as_str(), kind, group, path, cx);
    let namespace = source.field(TypedObjectReference::NAMESPACE).or_zero();
    if !namespace.as_str().is_empty() {
        has_format("dns1123-label", namespace.value(), &path.to(TypedObjectReference::NAMESPACE), cx);
    }
}

fn source_object(
    name: &str,
    kind: &str,
    group: View<'_, String>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    if name.is_empty() {
        cx.errors.required(path.to(TypedObjectReference::NAME), "");
    }
    if kind.is_empty() {
        cx.errors.required(path.to(TypedObjectReference::KIND), "");
    }
    if !group.as_str().is_empty() {
        if !had_group(path, cx) {
            has_format("dns1123-subdomain", group.value(), &path.to(TypedObjectReference::API_GROUP), cx);
        }
    } else if kind != "PersistentVolumeClaim" {
        cx.errors.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
}

/// Whether an update replaces a claim that names a group already: then any text may be the group.
fn had_group(path: &FieldPath<'_>, cx: &ValidationContext<'_>) -> bool {
    let Some(old) = cx.old_root::<PersistentVolumeClaim>() else { return false };
    let spec = old.field(PersistentVolumeClaim::SPEC);
    let of_source = spec
        .field(Spec::DATA_SOURCE)
        .some()
        .is_some_and(|old| old.field(TypedLocalObjectReference::API_GROUP).is_set());
    let of_wide =
        spec.field(Spec::DATA_SOURCE_REF).some().is_some_and(|old| old.field(TypedObjectReference::API_GROUP).is_set());
    // Templates of claims are validated in any case; they are deeper.
    (of_source || of_wide) && path.parent().to_string() == PersistentVolumeClaim::SPEC.name()
}

/// `dataSource` and `dataSourceRef` are equal.
pub fn sources_agree(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let source = spec.new.field(Spec::DATA_SOURCE);
    let wide = spec.new.field(Spec::DATA_SOURCE_REF);
    let is_abroad =
        wide.some().is_some_and(|wide| !wide.field(TypedObjectReference::NAMESPACE).or_zero().as_str().is_empty());
    if is_abroad {
        if source.is_set() {
            cx.errors.invalid(
                spec.path,
                Value::map(),
                "may not be specified when dataSourceRef.namespace is specified",
            );
        }
    } else if source.is_set() && wide.is_set() {
        let fields = [
            TypedObjectReference::API_GROUP.name(),
            TypedObjectReference::KIND.name(),
            TypedObjectReference::NAME.name(),
        ];
        if !fields.iter().all(|field| same_at(source.value(), wide.value(), field)) {
            cx.errors.invalid(spec.path, Value::map(), "must match dataSourceRef");
        }
    }
}

/// A template has labels and annotations, and no other metadata.
pub fn template_metadata(metadata: At<'_, ObjectMeta>, cx: &mut ValidationContext<'_>) {
    let annotations = metadata.path.to(ObjectMeta::ANNOTATIONS).to_string();
    let own = metadata.new;
    metadata::validate_annotations(Some(own.field(ObjectMeta::ANNOTATIONS).value()), &annotations, &mut cx.errors);
    let labels = metadata.path.to(ObjectMeta::LABELS).to_string();
    metadata::validate_labels(Some(own.field(ObjectMeta::LABELS).value()), &labels, &mut cx.errors);
    let allowed = [ObjectMeta::ANNOTATIONS.name(), ObjectMeta::LABELS.name()];
    let grace = ObjectMeta::DELETION_GRACE_PERIOD_SECONDS.name();
    let others = ObjectMeta::schema().fields.iter().map(|field| field.name.as_str());
    for field in others.filter(|field| !allowed.contains(field)) {
        // Pointers and lists are there even if there is nothing in them.
        let is_set = match own.value().get(field).unwrap_or(&Value::Null) {
            Value::Null => cx.was_sent_empty(&metadata.path.child(field)),
            Value::List(_) => true,
            value => field == grace || !value.is_zero(),
        };
        if is_set {
            let name = if field == ObjectMeta::UID.name() { "uID" } else { field };
            cx.errors.forbidden(metadata.path.child(name), "cannot be set");
        }
    }
}

/// A claim stays as it is, but for the size and the attributes of a bound one.
pub fn keeps_spec(claim: At<'_, PersistentVolumeClaim>, cx: &mut ValidationContext<'_>) {
    let Some(old) = claim.old else { return };
    let upgraded = class_annotation(claim.new, old, cx);
    let (spec, old_spec) = (claim.new.field(PersistentVolumeClaim::SPEC), old.field(PersistentVolumeClaim::SPEC));
    if same(spec.value(), old_spec.value()) {
        return;
    }
    let path = FieldPath::new(PersistentVolumeClaim::SPEC.name());
    let status = claim.new.field(PersistentVolumeClaim::STATUS);
    let phase = status.field(PersistentVolumeClaimStatus::PHASE).value().as_str();
    let is_bound = phase == Some(PersistentVolumeClaimPhase::BOUND.as_str());
    let requests = path.to(Spec::RESOURCES);
    let has_requests =
        spec.field(Spec::RESOURCES).field(VolumeResourceRequirements::REQUESTS).value().as_map().is_some()
            || cx.was_sent_empty(&requests.to(VolumeResourceRequirements::REQUESTS));
    let may_grow = is_bound && has_requests;
    if let Some(difference) = changed(spec, old_spec, (is_bound, may_grow), upgraded) {
        let detail =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        cx.errors.forbidden(path, format!("{detail}\n{difference}"));
    }
    shrinks(claim.new, old, cx);
    keeps_mode(spec.value(), old_spec.value(), cx);
    let class = Spec::VOLUME_ATTRIBUTES_CLASS_NAME;
    if same_at(spec.value(), old_spec.value(), class.name()) {
        return;
    }
    let path = path.to(class);
    let current = old.field(PersistentVolumeClaim::STATUS);
    if class_may_change(&path, cx)
        && current.field(PersistentVolumeClaimStatus::CURRENT_VOLUME_ATTRIBUTES_CLASS_NAME).is_set()
    {
        let to = match spec.field(class).some().map(View::as_str) {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        let detail = format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
        cx.errors.forbidden(path, detail);
    }
}

fn class_annotation_of(claim: View<'_, PersistentVolumeClaim>) -> Option<&str> {
    let annotations = claim.field(PersistentVolumeClaim::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    annotations.get(CLASS_ANNOTATION).and_then(Value::as_str)
}

/// The annotation of the class is immutable, unless its value moves to the field. Returns whether the field may be set.
fn class_annotation(
    new: View<'_, PersistentVolumeClaim>,
    old: View<'_, PersistentVolumeClaim>,
    cx: &mut ValidationContext<'_>,
) -> bool {
    let (annotation, before) = (class_annotation_of(new), class_annotation_of(old));
    let class = |claim: View<'_, PersistentVolumeClaim>| {
        let class = claim.field(PersistentVolumeClaim::SPEC).field(Spec::STORAGE_CLASS_NAME);
        class.some().map(|class| class.as_str().to_owned())
    };
    let (wanted, had) = (class(new), class(old));
    let moves = before.is_some()
        && had.is_none()
        && wanted.as_deref() == before
        && (annotation.is_none() || annotation == before);
    if moves {
        return true;
    }
    let text = annotation.unwrap_or_default();
    if text != before.unwrap_or_default() {
        let path = FieldPath::new(PersistentVolumeClaim::METADATA.name());
        let path = path.to(ObjectMeta::ANNOTATIONS);
        cx.errors.immutable(path.child(CLASS_ANNOTATION), text);
    }
    // A class given later is that of the annotation, where there is one.
    had.is_none() && wanted.is_some() && before.is_none_or(|before| wanted.as_deref() == Some(before))
}

/// The difference of a claim's spec, without mutable fields.
fn changed(
    spec: View<'_, Spec>,
    old: View<'_, Spec>,
    (is_bound, may_grow): (bool, bool),
    class_is_set: bool,
) -> Option<String> {
    let (mut new, old) = (spec.value().clone(), old.value());
    let mut take = |path: &[&str]| match old.at(path) {
        Some(value) => new.set_at(path, value.clone()),
        None => _ = new.remove_at(path),
    };
    if old.str_at(&[Spec::VOLUME_NAME.name()]).is_empty() {
        take(&[Spec::VOLUME_NAME.name()]);
    }
    if class_is_set {
        take(&[Spec::STORAGE_CLASS_NAME.name()]);
    }
    if may_grow {
        let requests = [Spec::RESOURCES.name(), VolumeResourceRequirements::REQUESTS.name()];
        take(&[requests[0], requests[1], ResourceName::STORAGE.as_str()]);
    }
    if is_bound {
        take(&[Spec::VOLUME_ATTRIBUTES_CLASS_NAME.name()]);
    }
    let shown = |spec: &Value| in_full(View::<Spec>::new(spec));
    (!same(&new, old)).then(|| difference(&shown(old), &shown(&new)))
}

/// A claim asks for less only while it has not got it yet.
fn shrinks(new: View<'_, PersistentVolumeClaim>, old: View<'_, PersistentVolumeClaim>, cx: &mut ValidationContext<'_>) {
    let storage = ResourceName::STORAGE;
    let asked = |claim: View<'_, PersistentVolumeClaim>| {
        let resources = claim.field(PersistentVolumeClaim::SPEC).field(Spec::RESOURCES);
        let requests = resources.field(VolumeResourceRequirements::REQUESTS).value();
        requests.get(storage.as_str()).map(quantity).unwrap_or_default()
    };
    let size = asked(new);
    if size >= asked(old) {
        return;
    }
    let capacity = old.field(PersistentVolumeClaim::STATUS).field(PersistentVolumeClaimStatus::CAPACITY).value();
    let capacity = capacity.get(storage.as_str()).map(quantity).unwrap_or_default();
    let detail = match cx.enabled(&gates::RECOVER_VOLUME_EXPANSION_FAILURE) {
        false => "field can not be less than previous value",
        true if size <= capacity => "field can not be less than status.capacity",
        true => return,
    };
    cx.errors.forbidden("spec.resources.requests.storage", detail);
}

/// Sizes that the system reports, and how far it is with a resize.
pub fn status(status: At<'_, PersistentVolumeClaimStatus>, cx: &mut ValidationContext<'_>) {
    type Status = PersistentVolumeClaimStatus;
    for (name, amount) in entries(status.new.field(Status::CAPACITY).value()) {
        no_debt(amount, &status.path.to(Status::CAPACITY).key(name), cx);
    }
    if !cx.enabled(&gates::RECOVER_VOLUME_EXPANSION_FAILURE) {
        return;
    }
    let supported = [
        ClaimResourceStatus::CONTROLLER_RESIZE_IN_PROGRESS,
        ClaimResourceStatus::CONTROLLER_RESIZE_INFEASIBLE,
        ClaimResourceStatus::NODE_RESIZE_IN_PROGRESS,
        ClaimResourceStatus::NODE_RESIZE_INFEASIBLE,
        ClaimResourceStatus::NODE_RESIZE_PENDING,
    ];
    let path = status.path.to(Status::ALLOCATED_RESOURCE_STATUSES);
    for (name, progress) in entries(status.new.field(Status::ALLOCATED_RESOURCE_STATUSES).value()) {
        resource_key(name, &path, cx);
        let supported: Vec<&str> = supported.iter().map(ClaimResourceStatus::as_str).collect();
        if !supported.contains(&progress.as_str().unwrap_or_default()) {
            cx.errors.not_supported(path, name, &supported);
        }
    }
    let path = status.path.to(Status::ALLOCATED_RESOURCES);
    for (name, amount) in entries(status.new.field(Status::ALLOCATED_RESOURCES).value()) {
        let place = path.key(name);
        // Amounts between -1 and 0 are no whole debt.
        if resource_key(name, &path, cx) && no_debt(amount, &place, cx) {
            not_negative(amount, &place, cx);
        }
    }
}

fn entries(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list.as_map().into_iter().flat_map(Map::iter).map(|(name, value)| (&**name, value))
}

/// Of the native resources, a claim may have storage only. Returns whether the name is valid.
fn resource_key(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let before = cx.errors.0.len();
    cx.errors.invalid_each(path, &Value::from(name), names::label_key(name));
    if cx.errors.0.len() == before && is_native(name) && name != ResourceName::STORAGE.as_str() {
        cx.errors.not_supported(path, name, &[ResourceName::STORAGE.as_str()]);
    }
    cx.errors.0.len() == before
}
