//! Warnings about valid definitions: unknown formats.

use super::Definition;
use crate::values::is_known_format;
use pintle_schema::Value;
use pintle_schema::names::quoted;

/// Warnings of a definition; of an update, those that the stored definition has not.
pub fn warnings(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let (new, old) = (Definition::of(new), old.map(Definition::of));
    let known = old.as_ref().map(unknown_formats).unwrap_or_default();
    let formats = unknown_formats(&new).into_iter().filter(|format| !known.contains(format));
    out.extend(formats.map(|format| format!("unrecognized format {}", quoted(&format))));
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
