//! What there is to say of a definition that is right: formats that hold for nothing, and sets that apply cannot merge.

use super::Definition;
use crate::values::is_known_format;
use pintle_schema::Value;
use pintle_schema::names::quoted;
use std::collections::BTreeSet;

/// Warnings of a definition; of an update, those that the stored definition has not.
pub fn warnings(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let (new, old) = (Definition::of(new), old.map(Definition::of));
    let known = old.as_ref().map(unknown_formats).unwrap_or_default();
    let formats = unknown_formats(&new).into_iter().filter(|format| !known.contains(format));
    out.extend(formats.map(|format| format!("unrecognized format {}", quoted(&format))));
    let known = old.as_ref().map(sets).unwrap_or_default();
    for kind in sets(&new).into_iter().filter(|kind| !known.contains(kind)) {
        out.push(format!(
            "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL validation rules",
            quoted(kind)
        ));
    }
}

/// Each as often as it is used.
fn unknown_formats(definition: &Definition<'_>) -> Vec<String> {
    let mut found = Vec::new();
    definition.any(|schema| {
        if !schema.format.is_empty() && !is_known_format(&schema.kind, &schema.format) {
            found.push(schema.format.to_string());
        }
        false
    });
    found
}

/// The types of items of sets that are no scalars.
fn sets(definition: &Definition<'_>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    definition.any(|schema| {
        if let Some(item) = schema.item().filter(|_| schema.list_type.as_deref() == Some("set")) {
            match item.kind.as_str() {
                "array" => found.insert("array"),
                "object" => found.insert("object"),
                _ => false,
            };
        }
        false
    });
    found
}
