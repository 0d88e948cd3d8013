//! Helpers for typed views that several plugins use. Guarantee that other fields are unchanged. Must never depend on a
//! plugin or a kind.

use pintle_schema::{ApiValue, FieldName, Value, View, ViewMut};
use pintle_types::meta::v1::ObjectMeta;

/// Adds an item to a list that may be absent.
pub fn push<T: ApiValue>(list: ViewMut<'_, Vec<T>>, item: &T) {
    let list = list.raw();
    match list {
        Value::List(items) => items.push(item.to_value()),
        _ => *list = Value::List(vec![item.to_value()]),
    }
}

/// The value of an annotation.
pub fn annotation<'a>(metadata: View<'a, ObjectMeta>, key: &str) -> Option<&'a str> {
    metadata.field(ObjectMeta::ANNOTATIONS).value().get(key)?.as_str()
}

/// Sets an entry of a map of strings that may be absent.
pub fn set_entry<T, F>(view: ViewMut<'_, T>, field: FieldName<T, F>, key: &str, value: &str) {
    view.field(field).raw().make_map().set(key, value);
}
