//! The rules for `metadata` of objects of every kind, on create and on update.
//! Guarantees the same rules for built-in kinds and custom resources. Must never know the name rules of a kind: the
//! caller passes them.

use crate::check::{NULL, at};
use crate::comparison::Comparison;
use crate::error::{ErrorKind, ErrorList};
use crate::same::{KeyIndex, each_difference, same};
use pintle_schema::{Map, Value, names};
use std::borrow::Cow;
use std::collections::HashSet;

/// Validates a name, or with `true` the prefix of a generated name; returns one message per error.
pub type NameCheck<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

const TOTAL_ANNOTATION_BYTES: usize = 256 << 10;
const FIELD_MANAGER_BYTES: usize = 128;
const SUBRESOURCE_BYTES: usize = 256;

/// Kinds that cannot be owners.
const BANNED_OWNERS: [(&str, &str); 1] = [("v1", "Event")];

/// A field of metadata with rules.
#[derive(Clone, Copy)]
enum Field {
    Name,
    GenerateName,
    Namespace,
    Uid,
    Generation,
    CreationTimestamp,
    DeletionTimestamp,
    DeletionGracePeriodSeconds,
    Labels,
    Annotations,
    OwnerReferences,
    Finalizers,
    ManagedFields,
}

impl Field {
    const ALL: [Field; 13] = [
        Field::Name,
        Field::GenerateName,
        Field::Namespace,
        Field::Uid,
        Field::Generation,
        Field::CreationTimestamp,
        Field::DeletionTimestamp,
        Field::DeletionGracePeriodSeconds,
        Field::Labels,
        Field::Annotations,
        Field::OwnerReferences,
        Field::Finalizers,
        Field::ManagedFields,
    ];

    /// The immutable fields.
    const FIXED: [Field; 6] = [
        Field::Name,
        Field::Namespace,
        Field::Uid,
        Field::CreationTimestamp,
        Field::DeletionTimestamp,
        Field::DeletionGracePeriodSeconds,
    ];

    const fn name(self) -> &'static str {
        match self {
            Field::Name => "name",
            Field::GenerateName => "generateName",
            Field::Namespace => "namespace",
            Field::Uid => "uid",
            Field::Generation => "generation",
            Field::CreationTimestamp => "creationTimestamp",
            Field::DeletionTimestamp => "deletionTimestamp",
            Field::DeletionGracePeriodSeconds => "deletionGracePeriodSeconds",
            Field::Labels => "labels",
            Field::Annotations => "annotations",
            Field::OwnerReferences => "ownerReferences",
            Field::Finalizers => "finalizers",
            Field::ManagedFields => "managedFields",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Metadata, the metadata that it replaces, and the fields in which the two differ: rules look at these only.
#[derive(Clone, Copy)]
pub(crate) struct Changes<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
    pub fields: u16,
}

impl<'a> Changes<'a> {
    pub fn of(new: &'a Value, old: &'a Value) -> Self {
        let mut fields = 0;
        each_difference(new, old, |key| {
            let field = Field::ALL.iter().find(|field| field.name() == key);
            fields |= field.map_or(0, |field| field.bit());
        });
        if old.is_null() {
            // Missing fields of a new object are validated too.
            fields |= Field::Name.bit() | Field::Namespace.bit();
        }
        Changes { new, old, fields }
    }

    /// Whether no rule applies.
    pub fn is_empty(&self) -> bool {
        self.fields == 0
    }

    fn has(&self, field: Field) -> bool {
        self.fields & field.bit() != 0
    }

    /// The value of a changed field; null if it was removed.
    fn get(&self, field: Field) -> Option<&'a Value> {
        self.has(field).then(|| at(self.new, field.name()))
    }

    fn text(&self, field: Field) -> Option<&'a str> {
        Some(self.get(field)?.as_str().unwrap_or_default())
    }

    fn was(&self, field: Field) -> &'a Value {
        at(self.old, field.name())
    }
}

/// The rules for a new object.
pub fn validate_create(metadata: &Value, namespaced: bool, name_check: NameCheck<'_>, errors: &mut ErrorList) {
    validate_anew(metadata, &Value::Null, namespaced, name_check, errors);
}

/// The rules for a new object of a built-in kind whose labels are validated elsewhere.
pub fn validate_create_but_labels(
    metadata: &Value,
    namespaced: bool,
    name_check: NameCheck<'_>,
    errors: &mut ErrorList,
) {
    let mut changes = Changes::of(metadata, &NULL);
    changes.fields &= !Field::Labels.bit();
    anew(changes, namespaced, name_check, &mut false, errors);
    kube_finalizers(changes, errors);
}

/// The rules for a new object that replaces another: unchanged fields are skipped.
pub fn validate_anew(
    metadata: &Value,
    old: &Value,
    namespaced: bool,
    name_check: NameCheck<'_>,
    errors: &mut ErrorList,
) {
    anew(Changes::of(metadata, old), namespaced, name_check, &mut false, errors);
}

/// The same; `right` says that the rules that new and changed objects share have run without errors.
pub(crate) fn anew(
    changes: Changes<'_>,
    namespaced: bool,
    name_check: NameCheck<'_>,
    right: &mut bool,
    errors: &mut ErrorList,
) {
    if let Some(prefix) = changes.text(Field::GenerateName).filter(|prefix| !prefix.is_empty()) {
        invalid_each(errors, "metadata.generateName", prefix, name_check(prefix, true));
    }
    match changes.text(Field::Name) {
        None => {}
        Some("") => errors.required("metadata.name", "name or generateName is required"),
        Some(name) => invalid_each(errors, "metadata.name", name, name_check(name, false)),
    }
    match (namespaced, changes.text(Field::Namespace)) {
        (_, None) | (false, Some("")) => {}
        (true, Some("")) => errors.required("metadata.namespace", ""),
        (true, Some(name)) => invalid_each(errors, "metadata.namespace", name, names::dns1123_label(name)),
        (false, Some(_)) => errors.forbidden("metadata.namespace", "not allowed on this type"),
    }
    if let Some(generation) = changes.get(Field::Generation).and_then(Value::as_i64).filter(|number| *number < 0) {
        errors.invalid("metadata.generation", generation, "must be greater than or equal to 0");
    }
    in_common(changes, right, errors, |errors| {
        if changes.has(Field::Finalizers) {
            validate_finalizers(changes.new, errors);
        }
    });
}

/// The rules that new and changed objects share: they are run once, if they find no errors.
fn in_common(changes: Changes<'_>, right: &mut bool, errors: &mut ErrorList, between: impl FnOnce(&mut ErrorList)) {
    let from = errors.0.len();
    if !*right {
        validate_changed_labels(changes.get(Field::Labels), changes.was(Field::Labels), "metadata.labels", errors);
        validate_annotations(changes.get(Field::Annotations), "metadata.annotations", errors);
        if changes.has(Field::OwnerReferences) {
            validate_owners(changes.new, errors);
        }
    }
    between(errors);
    if !*right && changes.has(Field::ManagedFields) {
        validate_managed_fields(changes.new, errors);
    }
    *right = errors.0.len() == from;
}

/// The rules for an object that replaces a stored one.
pub fn validate_update(metadata: &Value, old: &Value, errors: &mut ErrorList) {
    update(Changes::of(metadata, old), &mut false, errors);
}

/// Both, for an object that replaces another. Causes that both find occur twice.
pub fn validate_anew_and_update(
    metadata: &Value,
    old: &Value,
    namespaced: bool,
    name_check: NameCheck<'_>,
    errors: &mut ErrorList,
) {
    both(Changes::of(metadata, old), namespaced, name_check, errors);
}

/// The same for objects that were compared.
pub fn validate_compared(
    comparison: &Comparison<'_>,
    namespaced: bool,
    name_check: NameCheck<'_>,
    errors: &mut ErrorList,
) {
    both(comparison.metadata(), namespaced, name_check, errors);
}

fn both(changes: Changes<'_>, namespaced: bool, name_check: NameCheck<'_>, errors: &mut ErrorList) {
    let mut right = false;
    anew(changes, namespaced, name_check, &mut right, errors);
    update(changes, &mut right, errors);
}

/// The same; `right` as in `anew`.
pub(crate) fn update(changes: Changes<'_>, right: &mut bool, errors: &mut ErrorList) {
    let Changes { new, old, .. } = changes;
    if changes.has(Field::Finalizers) && !old.str_at(&["deletionTimestamp"]).is_empty() {
        no_new_finalizers(new, old, errors);
    }
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    if let Some(generation) = changes.get(Field::Generation).map(number)
        && generation < number(changes.was(Field::Generation))
    {
        errors.invalid("metadata.generation", generation, "must not be decremented");
    }
    for field in Field::FIXED {
        // No value and the zero value are equal, except behind a pointer.
        let is_unset = |value: &Value| match field {
            Field::DeletionGracePeriodSeconds => value.is_null(),
            _ => value.is_zero(),
        };
        if let Some(value) = changes.get(field)
            && !(is_unset(value) && is_unset(changes.was(field)))
        {
            let shown = match field {
                // An absent text is an empty one.
                Field::Name | Field::Namespace | Field::Uid if value.is_null() => Value::from(""),
                _ => value.clone(),
            };
            errors.immutable(format!("metadata.{}", field.name()), shown);
        }
    }
    in_common(changes, right, errors, |_| {});
}

/// Label keys and values.
pub fn validate_labels(labels: Option<&Value>, field: &str, errors: &mut ErrorList) {
    validate_changed_labels(labels, &Value::Null, field, errors);
}

/// Labels that are new or have a new value.
fn validate_changed_labels(labels: Option<&Value>, old: &Value, field: &str, errors: &mut ErrorList) {
    let mut old = KeyIndex::of_value(Some(old));
    for (key, value) in labels.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        if old.get(key).is_some_and(|old| same(old, value)) {
            continue;
        }
        invalid_each(errors, field, key, names::label_key(key));
        let value = value.as_str().unwrap_or("");
        invalid_each(errors, field, value, names::label_value(value));
    }
}

/// Annotation keys, and the total size of annotations.
pub fn validate_annotations(annotations: Option<&Value>, field: &str, errors: &mut ErrorList) {
    let mut total = 0;
    for (key, value) in annotations.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        // Annotation keys may contain capitals; otherwise the rule is that of label keys.
        let lower: Cow<'_, str> = match key.bytes().any(|byte| byte.is_ascii_uppercase()) || !key.is_ascii() {
            true => key.to_lowercase().into(),
            false => Cow::Borrowed(key),
        };
        invalid_each(errors, field, key, names::label_key(&lower));
        total += key.len() + value.as_str().map_or(0, str::len);
    }
    if total > TOTAL_ANNOTATION_BYTES {
        errors.too_long(field, TOTAL_ANNOTATION_BYTES);
    }
}

fn validate_owners(metadata: &Value, errors: &mut ErrorList) {
    let mut controller: Option<(&str, &str)> = None;
    let owners = metadata.get("ownerReferences").and_then(Value::as_list).unwrap_or(&[]);
    // kube-apiserver's path of an owner reference has no index.
    let field = "metadata.ownerReferences";
    for owner in owners {
        let text = |key: &str| owner.str_at(&[key]);
        let version = text("apiVersion");
        let version = version.split_once('/').map_or(version, |(_, version)| version);
        if version.is_empty() || version.contains('/') {
            errors.invalid(format!("{field}.apiVersion"), text("apiVersion"), "version must not be empty");
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                errors.invalid(format!("{field}.{key}"), text(key), "must not be empty");
            }
        }
        if BANNED_OWNERS.contains(&(text("apiVersion"), text("kind"))) {
            let detail = format!("/{}, Kind={} is disallowed from being an owner", text("apiVersion"), text("kind"));
            errors.invalid(field, owner.clone(), detail);
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let this = (text("kind"), text("name"));
            match controller {
                Some(first) => errors.invalid(
                    "metadata.ownerReferences",
                    metadata.get("ownerReferences").cloned().unwrap_or_default(),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                        first.0, first.1, this.0, this.1
                    ),
                ),
                None => controller = Some(this),
            }
        }
    }
}

fn validate_finalizers(metadata: &Value, errors: &mut ErrorList) {
    let finalizers = strings(metadata, "finalizers");
    for name in &finalizers {
        invalid_each(errors, "metadata.finalizers", name, names::label_key(name));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let value = metadata.get("finalizers").cloned().unwrap_or_default();
        errors.invalid("metadata.finalizers", value, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

/// The rules for the finalizers of built-in kinds, if they changed.
pub(crate) fn kube_finalizers(changes: Changes<'_>, errors: &mut ErrorList) {
    if changes.has(Field::Finalizers) {
        validate_kube_finalizers(changes.new, errors);
    }
}

/// Finalizers of built-in kinds have a domain, except the well-known ones.
pub fn validate_kube_finalizers(metadata: &Value, errors: &mut ErrorList) {
    for (at, name) in strings(metadata, "finalizers").into_iter().enumerate() {
        if !is_qualified_finalizer(name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(format!("metadata.finalizers[{at}]"), name, detail);
        }
    }
}

/// Whether a finalizer has a domain or is one of the well-known names.
pub fn is_qualified_finalizer(name: &str) -> bool {
    name.contains('/') || matches!(name, "kubernetes" | "orphan" | "foregroundDeletion")
}

fn no_new_finalizers(metadata: &Value, old: &Value, errors: &mut ErrorList) {
    let old = strings(old, "finalizers");
    let old: HashSet<&str> = old.into_iter().collect();
    let mut new: Vec<&str> = strings(metadata, "finalizers").into_iter().filter(|name| !old.contains(name)).collect();
    if new.is_empty() {
        return;
    }
    new.sort_unstable();
    let list = new.into_iter().map(names::quoted).collect::<Vec<_>>().join(", ");
    errors.forbidden(
        "metadata.finalizers",
        format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"
        ),
    );
}

/// The rules for `fieldManager` in options.
pub fn validate_field_manager(manager: &str, field: &str, errors: &mut ErrorList) {
    if manager.len() > FIELD_MANAGER_BYTES {
        errors.too_long(field, FIELD_MANAGER_BYTES);
    }
    for (at, c) in manager.char_indices() {
        if !names::is_printable(c) {
            errors.invalid(field, manager, format!("invalid character U+{:04X} (at position {at})", c as u32));
        }
    }
}

/// Whether the names in an entry of `managedFields` are valid.
fn names_are_right(entry: &Value) -> bool {
    let manager = entry.str_at(&["manager"]);
    manager.len() <= FIELD_MANAGER_BYTES
        && manager.chars().all(names::is_printable)
        && entry.str_at(&["subresource"]).len() <= SUBRESOURCE_BYTES
}

fn validate_managed_fields(metadata: &Value, errors: &mut ErrorList) {
    let entries = metadata.get("managedFields").and_then(Value::as_list).unwrap_or(&[]);
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !names_are_right(entry)) {
        let manager = entry.str_at(&["manager"]);
        validate_field_manager(manager, &format!("metadata.managedFields[{at}].manager"), errors);
        if entry.str_at(&["subresource"]).len() > SUBRESOURCE_BYTES {
            errors.too_long(format!("metadata.managedFields[{at}].subresource"), SUBRESOURCE_BYTES);
        }
    }
}

fn invalid_each(errors: &mut ErrorList, field: &str, value: &str, messages: Vec<impl Into<String>>) {
    for message in messages {
        errors.push(ErrorKind::Invalid, field, Some(value.into()), message);
    }
}

fn strings<'a>(metadata: &'a Value, field: &str) -> Vec<&'a str> {
    metadata.get(field).and_then(Value::as_list).unwrap_or(&[]).iter().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn create(metadata: Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        validate_create(&metadata, true, &|name, _| names::dns1123_subdomain(name), &mut errors);
        errors.0.iter().map(|error| error.line()).collect()
    }

    #[test]
    fn a_new_object() {
        assert_eq!(create(value!({"name": "a", "namespace": "b"})), [""; 0]);
        assert_eq!(
            create(value!({"namespace": "b"})),
            ["metadata.name: Required value: name or generateName is required"]
        );
        let banned = value!({"name": "a", "namespace": "b", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
        ]});
        assert!(create(banned)[0].contains("is disallowed from being an owner"));
        let two = value!({"name": "a", "namespace": "b", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "e", "uid": "u", "controller": true},
            {"apiVersion": "v1", "kind": "Pod", "name": "f", "uid": "v", "controller": true}
        ]});
        assert!(create(two)[0].ends_with("references for Pod/e and Pod/f"));
    }

    #[test]
    fn a_manager() {
        let long = "é".repeat(65);
        for (manager, wanted) in [
            ("kubectl 日本", vec![]),
            (
                "é\u{ad}b\u{a0}",
                vec!["invalid character U+00AD (at position 2)", "invalid character U+00A0 (at position 5)"],
            ),
            (long.as_str(), vec!["may not be more than 128 bytes"]),
        ] {
            let mut errors = ErrorList::default();
            validate_field_manager(manager, "fieldManager", &mut errors);
            let found: Vec<String> = errors.0.iter().map(|error| error.line()).collect();
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            assert!(found.iter().zip(wanted).all(|(found, wanted)| found.ends_with(wanted)), "{found:?}");
        }
    }

    #[test]
    fn an_update() {
        let old = value!({"name": "a", "uid": "u", "generation": 2, "finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let mut new = old.clone();
        new.set_at(&["uid"], "other");
        new.set_at(&["generation"], 1);
        new.set_at(&["finalizers"], value!(["x/y", "x/z"]));
        new.set_at(&["deletionGracePeriodSeconds"], 0);
        let mut errors = ErrorList::default();
        validate_update(&new, &old, &mut errors);
        let lines: Vec<String> = errors.0.iter().map(|error| error.line()).collect();
        assert_eq!(
            lines,
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x/z\"}",
                "metadata.generation: Invalid value: 1: must not be decremented",
                "metadata.uid: Invalid value: \"other\": field is immutable",
                "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
            ]
        );
        let mut errors = ErrorList::default();
        validate_update(&value!({"uid": "u"}), &value!({"name": "a", "uid": "u"}), &mut errors);
        let lines: Vec<String> = errors.0.iter().map(|error| error.line()).collect();
        assert_eq!(lines, ["metadata.name: Invalid value: \"\": field is immutable"]);
    }
}
