//! The metadata that the server itself sets, on create and on update.
//!
//! Typed where the field has a type; the schema is ObjectMeta for every kind.

use crate::environment::{Environment, new_uid};
use pintle_meta::meta::v1::ObjectMeta;
use pintle_resource::Path;
use pintle_schema::{ApiType, Value, View, time};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Typed view of an object's metadata.
pub fn view(object: &Value) -> View<'_, ObjectMeta> {
    static NONE: Value = Value::Null;
    View::new(object.get("metadata").unwrap_or(&NONE))
}

/// A text of the metadata; "" when it is not set.
pub fn text<'a>(object: &'a Value, field: &'static str) -> &'a str {
    object.str_at(&["metadata", field])
}

/// Sets a field of the metadata.
pub fn set(object: &mut Value, field: &'static str, value: impl Into<Value>) {
    object.map_entry("metadata").set_at(&[field], value);
}

/// Takes a field of the metadata away.
pub fn clear(object: &mut Value, field: &'static str) {
    object.remove_at(&["metadata", field]);
}

/// The generation; 0 if it is not counted.
pub fn generation(object: &Value) -> i64 {
    object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0)
}

/// The finalizers.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or(&[]);
    list.iter().filter_map(Value::as_str).collect()
}

/// Sets the finalizers; an empty list is omitted.
pub fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    match finalizers.is_empty() {
        true => clear(object, "finalizers"),
        false => set(object, "finalizers", finalizers),
    }
}

/// Whether the object is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// The present time as metadata holds it.
pub fn now_text(environment: &dyn Environment) -> String {
    time::Time::from_seconds(environment.now_unix()).to_rfc3339()
}

/// Sets the identity of a new object, and clears fields that only the server may set.
pub fn fill_new(object: &mut Value, environment: &dyn Environment) {
    clear_on_create(object);
    identify(object, environment);
}

/// Clears the fields of a new object that only the server may set.
pub fn clear_on_create(object: &mut Value) {
    let fields =
        ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"];
    fields.iter().for_each(|field| clear(object, field));
}

/// Sets the identity of a new object: uid and creation time.
pub fn identify(object: &mut Value, environment: &dyn Environment) {
    set(object, "uid", new_uid(environment));
    set(object, "creationTimestamp", now_text(environment));
}

/// Drops duplicate owner references, and warns of them.
pub fn dedup_owners(object: &mut Value, after_admission: bool, warnings: &mut Vec<String>) {
    let Some(owners) = object.at_mut(&["metadata", "ownerReferences"]).and_then(Value::as_list_mut) else { return };
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut dropped: Vec<String> = Vec::new();
    // Only those with equal texts are compared: there may be a hundred thousand owners, all with one uid.
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let hashing = RandomState::new();
    for owner in std::mem::take(owners) {
        let texts = ["apiVersion", "kind", "name", "uid"].map(|field| owner.str_at(&[field]));
        let same = places.entry(hashing.hash_one(texts)).or_default();
        match same.iter().any(|at| kept.get(*at) == Some(&owner)) {
            true => dropped.push(owner.str_at(&["uid"]).to_owned()),
            false => {
                same.push(kept.len());
                kept.push(owner);
            }
        }
    }
    *owners = kept;
    if dropped.is_empty() {
        return;
    }
    let when = if after_admission { " after mutating admission happens" } else { "" };
    warnings.push(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        dropped.join(", ")
    ));
}

/// Copies the immutable fields from the stored object.
pub fn carry_over(object: &mut Value, old: &Value) {
    copy(object, old, "creationTimestamp");
    copy(object, old, "generation");
    if text(object, "uid").is_empty() {
        copy(object, old, "uid");
    }
    if is_terminating(old) {
        copy(object, old, "deletionTimestamp");
    }
    if object.at(&["metadata", "deletionGracePeriodSeconds"]).is_none_or(Value::is_null) {
        copy(object, old, "deletionGracePeriodSeconds");
    }
}

/// Copies all metadata except managedFields and resourceVersion from the stored object.
pub fn keep_all(object: &mut Value, old: &Value) {
    let mut metadata = old.get("metadata").cloned().unwrap_or_else(Value::map);
    for field in ["managedFields", "resourceVersion"] {
        match object.remove_at(&["metadata", field]) {
            Some(value) => metadata.set_at(&[field], value),
            None => drop(metadata.remove_at(&[field])),
        }
    }
    object.set_at(&["metadata"], metadata);
}

fn copy(object: &mut Value, old: &Value, field: &'static str) {
    match old.at(&["metadata", field]) {
        Some(value) => set(object, field, value.clone()),
        None => clear(object, field),
    }
}

/// Takes the value at a path from the stored object, absent when it is absent there.
pub fn keep_path(object: &mut Value, old: &Value, path: Path) {
    match old.at(path) {
        Some(value) if object.at(path) == Some(value) => {}
        Some(value) => object.set_at(path, value.clone()),
        None => drop(object.remove_at(path)),
    }
}

/// Brings the metadata of an object that is canonical otherwise into canonical form.
pub fn canonicalize(object: &mut Value) {
    pintle_schema::canonicalize(ObjectMeta::schema(), object.map_entry("metadata"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn owner(name: String, controller: Option<bool>) -> Value {
        let mut owner = value!({"apiVersion": "v1", "kind": "ConfigMap", "name": (name), "uid": "u"});
        controller.into_iter().for_each(|controller| owner.set_at(&["controller"], controller));
        owner
    }

    fn deduplicated(owners: Vec<Value>) -> (Value, usize) {
        let mut object = value!({"metadata": {"ownerReferences": (Value::List(owners))}});
        let mut warnings = Vec::new();
        dedup_owners(&mut object, false, &mut warnings);
        let kept = object.at(&["metadata", "ownerReferences"]).cloned().unwrap_or_default();
        (kept, warnings.first().map_or(0, |warning| warning.matches(", u").count() + 1))
    }

    #[test]
    fn owners_that_differ_in_one_field_stay() {
        let name = || "a".to_owned();
        let each = || vec![owner(name(), None), owner(name(), Some(true)), owner(name(), Some(false))];
        assert_eq!(deduplicated(each()), (Value::List(each()), 0));
        assert_eq!(deduplicated([each(), each()].concat()), (Value::List(each()), 3));
    }

    #[test]
    fn many_owners_of_one_uid_are_compared_by_hash() {
        // Comparing each with each would take minutes.
        let many: Vec<Value> = (0..100_000).map(|number| owner(format!("o{number}"), None)).collect();
        let (kept, dropped) = deduplicated(many);
        assert_eq!((kept.as_list().map(<[Value]>::len), dropped), (Some(100_000), 0));
    }
}
