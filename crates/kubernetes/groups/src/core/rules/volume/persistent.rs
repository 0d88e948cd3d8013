//! Rules of persistent volumes, and of those that an attachment describes in place.

use super::{first_source, is_later};
use crate::rules::difference::difference;
use crate::rules::has_format;
use crate::rules::internal_form::in_full;
use pintle_gates as gates;
use pintle_schema::{Map, Quantity, Str, Value, View};
use pintle_types::core::v1::{
    CSIPersistentVolumeSource, HostPathVolumeSource, NodeSelectorRequirement, PersistentVolume,
    PersistentVolumeReclaimPolicy, PersistentVolumeSource, PersistentVolumeSpec, ResourceList, ResourceName,
    VolumeNodeAffinity,
};
use pintle_validation::{At, FieldPath, ValidationContext, same, same_at};

/// The sources of a persistent volume in kube-apiserver's order: the first one that is set counts.
const ORDER: &[&str] = &[
    PersistentVolumeSource::HOST_PATH.name(),
    PersistentVolumeSource::GCE_PERSISTENT_DISK.name(),
    PersistentVolumeSource::AWS_ELASTIC_BLOCK_STORE.name(),
    PersistentVolumeSource::GLUSTERFS.name(),
    PersistentVolumeSource::FLOCKER.name(),
    PersistentVolumeSource::NFS.name(),
    PersistentVolumeSource::RBD.name(),
    PersistentVolumeSource::QUOBYTE.name(),
    PersistentVolumeSource::CEPHFS.name(),
    PersistentVolumeSource::ISCSI.name(),
    PersistentVolumeSource::CINDER.name(),
    PersistentVolumeSource::FC.name(),
    PersistentVolumeSource::FLEX_VOLUME.name(),
    PersistentVolumeSource::AZURE_FILE.name(),
    PersistentVolumeSource::VSPHERE_VOLUME.name(),
    PersistentVolumeSource::PHOTON_PERSISTENT_DISK.name(),
    PersistentVolumeSource::PORTWORX_VOLUME.name(),
    PersistentVolumeSource::AZURE_DISK.name(),
    PersistentVolumeSource::SCALE_IO.name(),
    PersistentVolumeSource::LOCAL.name(),
    PersistentVolumeSource::STORAGEOS.name(),
    PersistentVolumeSource::CSI.name(),
];

/// Whether the volume is one that a VolumeAttachment describes.
pub fn is_inline(cx: &ValidationContext<'_>) -> bool {
    cx.request.api_version.starts_with("storage.k8s.io/")
}

/// The same for the spec of one.
pub fn is_inline_volume(_: At<'_, PersistentVolumeSpec>, cx: &ValidationContext<'_>) -> bool {
    is_inline(cx)
}

fn source<'a>(spec: View<'a, PersistentVolumeSpec>) -> View<'a, PersistentVolumeSource> {
    spec.field(PersistentVolumeSpec::PERSISTENT_VOLUME_SOURCE)
}

/// A class of attributes has a name, and is for volumes of CSI drivers.
pub fn attributes_class(spec: At<'_, PersistentVolumeSpec>, cx: &mut ValidationContext<'_>) {
    let Some(class) = spec.new.field(PersistentVolumeSpec::VOLUME_ATTRIBUTES_CLASS_NAME).some() else { return };
    if !cx.enabled(&gates::VOLUME_ATTRIBUTES_CLASS) {
        return;
    }
    let path = spec.path.to(PersistentVolumeSpec::VOLUME_ATTRIBUTES_CLASS_NAME);
    if class.as_str().is_empty() {
        cx.errors.required(path, "an empty string is disallowed");
    } else {
        has_format("dns1123-subdomain", class.value(), &path, cx);
    }
    if !source(spec.new).field(PersistentVolumeSource::CSI).is_set() {
        let path = spec.path.to(PersistentVolumeSource::CSI);
        cx.errors.required(path, "has to be specified when using volumeAttributesClassName");
    }
}

/// The capacity of a volume has the resource `storage` only, with a positive amount.
pub fn capacity(capacity: At<'_, ResourceList>, cx: &mut ValidationContext<'_>) {
    if is_inline(cx) {
        return;
    }
    let storage = ResourceName::STORAGE;
    let amounts = capacity.new.value();
    if amounts.is_zero() {
        cx.errors.required(capacity.path, "");
    }
    if amounts.get(storage.as_str()).is_none() || amounts.as_map().is_some_and(|amounts| amounts.len() > 1) {
        cx.errors.not_supported(capacity.path, amounts.clone(), &[storage.as_str()]);
    }
    for (name, amount) in amounts.as_map().into_iter().flat_map(Map::iter) {
        let path = capacity.path.key(name);
        no_debt(amount, &path, cx);
        positive(amount, &path, cx);
    }
}

/// An amount that is a whole number and not negative.
pub fn no_debt(amount: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let whole = units(&quantity(amount), 0);
    if whole < 0 {
        cx.errors.invalid(path, whole, "must be a valid resource quantity");
    }
    whole >= 0
}

/// How many units of ten to the power of `scale` a quantity is, as kube-apiserver counts: past 64 bits, a number
/// with few digits counts as nothing, and of one with many the lowest bits are reported.
pub fn units(quantity: &Quantity, scale: i64) -> i64 {
    let decimal = quantity.decimal();
    // What is smaller than a unit is rounded.
    if decimal.round_away(scale) != decimal {
        return if scale == 0 { quantity.value() } else { quantity.milli_value() };
    }
    let units = decimal.in_units(scale);
    if let Some(units) = units.and_then(|units| i64::try_from(units).ok()) {
        return units;
    }
    // The number before the suffix, or before the exponent.
    let number = quantity.as_str().trim_start_matches('-').split(|c: char| !c.is_ascii_digit()).next();
    match (number.is_some_and(|number| number.parse::<i64>().is_ok()), units) {
        (true, _) => 0,
        (false, Some(units)) => units as i64,
        (false, None) if scale == 0 => quantity.value(),
        (false, None) => quantity.milli_value(),
    }
}

/// Whether an amount is a number of whole units.
pub fn is_whole(amount: &Quantity) -> bool {
    units(amount, -3) % 1000 == 0
}

/// Validates that an amount is positive; returns whether it is.
pub fn positive(amount: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let is_positive = quantity(amount).signum() > 0;
    if !is_positive {
        cx.errors.invalid(path, amount.clone(), "must be greater than zero");
    }
    is_positive
}

/// A quantity of a resource list.
pub fn quantity(amount: &Value) -> Quantity {
    View::<Quantity>::new(amount).get()
}

/// The reclaim policy.
pub fn reclaim_policy(policy: At<'_, PersistentVolumeReclaimPolicy>, cx: &mut ValidationContext<'_>) {
    const SUPPORTED: &[&str] = &["Delete", "Recycle", "Retain"];
    let Some(text) = policy.new.value().as_str().filter(|text| !text.is_empty()) else { return };
    if is_inline(cx) {
        if text != PersistentVolumeReclaimPolicy::RETAIN.as_str() {
            cx.errors.forbidden(policy.path, "may only be Retain in the context of inline volumes");
        }
    } else if !SUPPORTED.contains(&text) {
        cx.errors.unknown_name(policy.path, text, SUPPORTED);
    }
}

/// An inline volume has no node affinity.
pub fn node_affinity(affinity: At<'_, Option<VolumeNodeAffinity>>, cx: &mut ValidationContext<'_>) {
    if affinity.new.is_set() && is_inline(cx) {
        cx.errors.forbidden(affinity.path, "may not be specified in the context of inline volumes");
    }
}

/// Whether a field is a source beside the one that counts: it is not looked into, unless it may stand there.
pub fn is_later_source(source: At<'_, PersistentVolumeSource>, field: &str, _: &ValidationContext<'_>) -> bool {
    field != PersistentVolumeSource::FLEX_VOLUME.name() && is_later(source.new.value(), field, ORDER)
}

/// A persistent volume has one source.
pub fn one_source(source: At<'_, PersistentVolumeSource>, cx: &mut ValidationContext<'_>) {
    type Source = PersistentVolumeSource;
    // The source is inlined in the spec.
    let spec: View<'_, PersistentVolumeSpec> = View::new(source.new.value());
    let free = [Source::FLEX_VOLUME.name()];
    first_source(source.new.value(), ORDER, &free, source.path, cx, |first, cx| {
        let is_placed = spec.field(PersistentVolumeSpec::NODE_AFFINITY).is_set() && !is_inline(cx);
        if first == Source::LOCAL.name() && !is_placed {
            let path = source.path.to(PersistentVolumeSpec::NODE_AFFINITY);
            cx.errors.required(path, "Local volume requires node affinity");
        }
    });
}

/// Rules that depend on the source.
pub fn fits_source(spec: At<'_, PersistentVolumeSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = PersistentVolumeSpec;
    let (new, path) = (spec.new, spec.path);
    let source = source(new);
    let host_path = source.field(PersistentVolumeSource::HOST_PATH).some();
    let recycles = || new.field(Spec::PERSISTENT_VOLUME_RECLAIM_POLICY).value().as_str() == Some("Recycle");
    if host_path.is_some_and(|host| is_root(host.field(HostPathVolumeSource::PATH).as_str())) && recycles() {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        cx.errors.forbidden(path.to(Spec::PERSISTENT_VOLUME_RECLAIM_POLICY), detail);
    }
}

/// Whether a path is the root, in any spelling.
fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

/// The source of a volume is immutable, and so are the fields that depend on it.
pub fn keeps_source(volume: At<'_, PersistentVolume>, cx: &mut ValidationContext<'_>) {
    type Spec = PersistentVolumeSpec;
    let Some(old) = volume.old.map(|old| old.field(PersistentVolume::SPEC)) else { return };
    let new = volume.new.field(PersistentVolume::SPEC);
    let is_changed = |spec: &Value| ORDER.iter().any(|name| !same_at(spec, old.value(), name));
    if is_changed(new.value()) {
        let settled = without_new_secret(new.value(), old.value());
        if is_changed(&settled) {
            let difference = difference(&in_full(source(old)), &in_full(source(View::new(&settled))));
            let detail = format!("spec.persistentvolumesource is immutable after creation\n{difference}");
            cx.errors.forbidden("spec.persistentvolumesource", detail);
        }
    }
    let kept = |field: &str| same_at(new.value(), old.value(), field);
    keeps_mode(new.value(), old.value(), cx);
    let (affinity, old_affinity) = (new.field(Spec::NODE_AFFINITY), old.field(Spec::NODE_AFFINITY));
    if !cx.enabled(&gates::MUTABLE_PV_NODE_AFFINITY) && old_affinity.is_set() {
        let is_kept = kept(Spec::NODE_AFFINITY.name())
            || same(affinity.value(), &with_new_labels(old_affinity.value(), affinity.value()));
        if !is_kept {
            let detail = "field is immutable, except for updating from beta label to GA";
            cx.errors.invalid(Spec::NODE_AFFINITY.name(), in_full(affinity), detail);
        }
    }
    let class = Spec::VOLUME_ATTRIBUTES_CLASS_NAME;
    if kept(class.name()) {
        return;
    }
    let path = FieldPath::new(PersistentVolume::SPEC.name());
    if class_may_change(&path.to(class), cx) && old.field(class).is_set() && !new.field(class).is_set() {
        cx.errors.forbidden(path.to(class), "update from non-nil value to nil is forbidden");
    }
}

/// The mode of a volume stays, and so does that which a claim asks for. kube-apiserver's path begins at the field.
pub fn keeps_mode(new: &Value, old: &Value, cx: &mut ValidationContext<'_>) {
    let mode = PersistentVolumeSpec::VOLUME_MODE.name();
    if !same_at(new, old, mode) {
        cx.errors.immutable(mode, new.get(mode).cloned().unwrap_or_default());
    }
}

/// Returns whether the attributes class may change, and reports an error if not.
pub fn class_may_change(class: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let may = cx.enabled(&gates::VOLUME_ATTRIBUTES_CLASS);
    if !may {
        let detail = "update is forbidden when the VolumeAttributesClass feature gate is disabled";
        cx.errors.forbidden(class, detail);
    }
    may
}

/// The spec as it is compared: a secret for expansion may be added to a CSI volume without one.
fn without_new_secret(new: &Value, old: &Value) -> Value {
    let secret = [PersistentVolumeSource::CSI.name(), CSIPersistentVolumeSource::CONTROLLER_EXPAND_SECRET_REF.name()];
    let mut settled = new.clone();
    if old.get(secret[0]).is_some() && old.at(&secret).is_none_or(Value::is_null) {
        settled.remove_at(&secret);
    }
    settled
}

/// Node labels that have got another name, with that name.
const RENAMED: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// An old affinity in which labels have the names of the new one, where these are the names that they have got.
fn with_new_labels(old: &Value, new: &Value) -> Value {
    match old {
        Value::List(items) => {
            let beside = |at: usize| new.as_list().and_then(|new| new.get(at)).unwrap_or(&Value::Null);
            let items = items.iter().enumerate().map(|(at, item)| with_new_labels(item, beside(at)));
            Value::from(items.collect::<Vec<Value>>())
        }
        Value::Map(map) => {
            let entry = |(field, old): (&Str, &Value)| {
                let new = new.get(field);
                let value = match old {
                    Value::String(label)
                        if field.as_str() == NodeSelectorRequirement::KEY.name() && is_renamed(label, new) =>
                    {
                        new.cloned()?
                    }
                    old => with_new_labels(old, new.unwrap_or(&Value::Null)),
                };
                Some((field.clone(), value))
            };
            map.iter().filter_map(entry).collect::<Map>().into()
        }
        other => other.clone(),
    }
}

/// Whether a label has got a name. To kube-apiserver, one that has kept its name has got none.
fn is_renamed(label: &str, new: Option<&Value>) -> bool {
    let renamed = RENAMED.iter().find(|(old, _)| *old == label).map_or("", |(_, new)| *new);
    renamed == new.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::is_root;

    #[test]
    fn roots() {
        assert!(is_root("/") && is_root("//.") && is_root("/a/..") && is_root("/.."));
        assert!(!is_root("") && !is_root("a/..") && !is_root("/a"));
    }
}
