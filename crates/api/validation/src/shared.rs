//! What rules of several kinds have in common: selectors, numbers, names.
//!
//! Each function judges one value at one path; none knows the kind it is used for.

use pintle_schema::View;
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, Cx, FieldPath};
use std::collections::BTreeMap;

/// A plain selector that must choose something.
pub fn non_empty_selector(selector: At<'_, BTreeMap<String, String>>, cx: &mut Cx<'_>) {
    if selector.new.value().is_zero() {
        cx.errors.required(selector.path, "");
    }
}

/// A number that must not be negative; for places that no tag reaches.
pub fn non_negative(number: i64, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    if number < 0 {
        cx.errors.invalid(path, number, "must be greater than or equal to 0");
        cx.errors.origin("minimum");
    }
}

/// A number that must not be greater than another field's.
pub fn at_most(number: i64, most: i64, path: &FieldPath<'_>, detail: &str, cx: &mut Cx<'_>) {
    if number > most {
        cx.errors.invalid(path, number, detail);
    }
}

/// Whether labels have all that a plain selector asks for; an empty one asks for nothing.
pub fn selects(selector: View<'_, BTreeMap<String, String>>, metadata: View<'_, ObjectMeta>) -> bool {
    let labels = metadata.field(ObjectMeta::LABELS).value();
    let mut wanted = selector.value().as_map().into_iter().flat_map(|map| map.iter());
    wanted.all(|(key, value)| labels.get(key) == Some(value))
}

/// Keys and values of labels at any place.
pub fn labels(labels: At<'_, BTreeMap<String, String>>, cx: &mut Cx<'_>) {
    let path = labels.path.to_string();
    pintle_validation::metadata::validate_labels(Some(labels.new.value()), &path, &mut cx.errors);
}

/// A field that updates must leave as it is, told with the new value.
pub fn immutable<T>(field: At<'_, T>, cx: &mut Cx<'_>) {
    if field.old.is_some() && !field.unchanged() {
        cx.errors.immutable(field.path, field.new.value().clone());
    }
}
