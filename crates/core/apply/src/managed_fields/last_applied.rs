//! kubectl's annotation of its client-side apply: fields are migrated from it to server-side apply, and it is kept up
//! to date.
//! Must never be used for another manager than kubectl's server-side one.

use super::Write;
use crate::field_set::FieldSet;
use crate::typed::{self, Duplicates};
use pintle_codec::{Strictness, json};
use pintle_schema::{Struct, Value};

/// The manager.
pub const KUBECTL: &str = "kubectl";

/// The annotation.
pub const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The limit of all annotations of an object in bytes.
const TOTAL_ANNOTATION_BYTES: usize = 256 << 10;

impl Write<'_> {
    /// The fields that kubectl applied client-side and that the object still has: kubectl may take them over. `None`
    /// without the annotation.
    pub(super) fn applied_by_client(&self, live: &Value) -> Option<FieldSet> {
        let schema = self.versions.schema(self.api_version)?;
        let text = annotation(live).filter(|text| !text.is_empty())?;
        let applied = json::parse(text.as_bytes(), Strictness::Ignore).ok()?.value;
        if applied.str_at(&["apiVersion"]) != self.api_version || applied.str_at(&["kind"]).is_empty() {
            return None;
        }
        still_there(schema, live, &applied)
    }
}

fn still_there(schema: &Struct, live: &Value, applied: &Value) -> Option<FieldSet> {
    [live, applied].into_iter().try_for_each(|value| typed::validate(schema, value, Duplicates::Refused)).ok()?;
    let fields = typed::fields_of(schema, applied).ok()?;
    let changes = typed::compare(schema, applied, live).ok()?;
    Some(fields.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
}

fn annotation(object: &Value) -> Option<&str> {
    object.at(&["metadata", "annotations", ANNOTATION])?.as_str()
}

/// Whether the annotation is to be updated.
pub fn is_kept(manager: &str, object: &Value) -> bool {
    manager == KUBECTL && annotation(object).is_some_and(|text| !text.is_empty())
}

/// The configuration in the annotation: without the annotation itself, keys sorted.
pub fn recorded(config: &Value) -> Value {
    let mut config = config.clone();
    config.remove_at(&["metadata", "annotations", ANNOTATION]);
    if config.at(&["metadata", "annotations"]).is_some_and(Value::is_null) {
        config.remove_at(&["metadata", "annotations"]);
    }
    sort(&mut config);
    config
}

fn sort(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.entries_mut().sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            map.iter_mut().for_each(|(_, value)| sort(value));
        }
        Value::List(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

/// Writes the annotation, or removes it if the annotations would become too large.
pub fn record(object: &mut Value, text: String) {
    let annotations = object.map_entry("metadata").map_entry("annotations").make_map();
    annotations.set(ANNOTATION, text);
    let total: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if total > TOTAL_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}
