//! Small helpers for typed views that several kinds share.
//!
//! They read or write one field. None knows a kind.

use pintle_schema::{ApiValue, FieldName, Map, Str, Value, View, ViewMut};
use pintle_types::meta::v1::ObjectMeta;

/// Takes a field as the old object has it.
pub(crate) fn take_old<T, F>(new: &mut ViewMut<'_, T>, old: View<'_, T>, field: FieldName<T, F>) {
    if new.view().field(field).is_set() || old.field(field).is_set() {
        *new.by_ref().field(field).raw() = old.field(field).value().clone();
    }
}

/// Makes a field absent.
pub(crate) fn clear<T, F>(view: &mut ViewMut<'_, T>, field: FieldName<T, F>) {
    if view.view().field(field).is_set() {
        view.by_ref().field(field).clear();
    }
}

/// Sets a field that is absent.
pub(crate) fn set_if_absent<T, F: ApiValue>(view: &mut ViewMut<'_, T>, field: FieldName<T, F>, value: impl Into<F>) {
    if !view.view().field(field).is_set() {
        view.by_ref().field(field).set(value);
    }
}

pub(crate) fn annotation<'a>(metadata: View<'a, ObjectMeta>, key: &str) -> Option<&'a str> {
    metadata.field(ObjectMeta::ANNOTATIONS).value().get(key)?.as_str()
}

pub(crate) fn set_annotation(metadata: ViewMut<'_, ObjectMeta>, key: &str, value: impl Into<Value>) {
    metadata.field(ObjectMeta::ANNOTATIONS).raw().make_map().set(key, value);
}

/// Removes an annotation; no map of annotations is left empty.
pub(crate) fn remove_annotation(metadata: ViewMut<'_, ObjectMeta>, key: &str) {
    if annotation(metadata.view(), key).is_none() {
        return;
    }
    let annotations = metadata.field(ObjectMeta::ANNOTATIONS).raw();
    if let Some(map) = annotations.as_map_mut() {
        map.remove(key);
    }
    if annotations.is_zero() {
        *annotations = Value::Null;
    }
}

/// Adds an item to a list that may be absent.
pub(crate) fn push<T: ApiValue>(list: ViewMut<'_, Vec<T>>, item: &T) {
    let list = list.raw();
    if list.as_list().is_none() {
        *list = Value::List(Vec::new());
    }
    if let Some(items) = list.as_list_mut() {
        items.push(item.to_value());
    }
}

/// Gives entries of a map other names. An entry that would take the name of another is left out.
pub(crate) fn rename(object: &mut Value, names: &[(&'static str, &'static str)]) {
    let Some(map) = object.as_map_mut() else { return };
    for (from, to) in names {
        if let Some(value) = map.remove(from)
            && !map.contains_key(to)
        {
            map.push(Str::new_static(to), value);
        }
    }
}

/// Moves the entries of an inner map to where the map stood.
pub(crate) fn unwrap_into(object: &mut Value, inner: &str) {
    let Some(map) = object.as_map_mut() else { return };
    let Some(Value::Map(entries)) = map.remove(inner) else { return };
    for (key, value) in entries {
        map.set(key, value);
    }
}

/// Takes the entries of these names out of a map.
pub(crate) fn take_entries(object: &mut Value, names: &[&'static str]) -> Value {
    let Some(map) = object.as_map_mut() else { return Value::map() };
    names.iter().filter_map(|name| Some((Str::new_static(name), map.remove(name)?))).collect::<Map>().into()
}

/// Sets the generation one above the old object's.
pub(crate) fn next_generation(metadata: ViewMut<ObjectMeta>, old: View<ObjectMeta>) {
    metadata.field(ObjectMeta::GENERATION).set(old.field(ObjectMeta::GENERATION).get() + 1);
}
