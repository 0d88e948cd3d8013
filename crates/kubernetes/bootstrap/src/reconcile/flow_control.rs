//! Flow schemas and priority levels: specs are restored until an administrator takes them over.
//!
//! How many requests the exempt level lends and holds is always the administrator's.

use super::FLOW_CONTROL_AUTOUPDATE;
use pintle_schema::{ApiValue, Value, View, ViewMut};
use pintle_types::flowcontrol::v1::{FlowSchema, FlowSchemaSpec, PriorityLevelConfigurationSpec};
use pintle_types::meta::v1::ObjectMeta;

pub(super) fn mandatory(existing: &Value, wanted: &Value) -> Option<Value> {
    restored(existing, wanted, true)
}

/// An object without the annotation belongs to the server while its spec was never changed.
pub(super) fn suggested(existing: &Value, wanted: &Value) -> Option<Value> {
    let metadata = View::<FlowSchema>::new(existing).field(FlowSchema::METADATA);
    let annotations = metadata.field(ObjectMeta::ANNOTATIONS).get();
    let is_automatic = match annotations.get(FLOW_CONTROL_AUTOUPDATE).map(String::as_str) {
        Some("true") => true,
        Some("false") => false,
        _ => metadata.field(ObjectMeta::GENERATION).get() == 1,
    };
    restored(existing, wanted, is_automatic)
}

/// Records whether the server manages the spec, and restores it if so.
fn restored(existing: &Value, wanted: &Value, is_automatic: bool) -> Option<Value> {
    let mut changed = existing.clone();
    let is_spec_changed = is_automatic && restore_spec(&mut changed, wanted)?;

    let mut annotations =
        View::<FlowSchema>::new(existing).field(FlowSchema::METADATA).field(ObjectMeta::ANNOTATIONS).get();
    let old = annotations.insert(FLOW_CONTROL_AUTOUPDATE.to_owned(), is_automatic.to_string());
    let is_marked = old.is_some_and(|old| old == is_automatic.to_string());
    if !is_marked {
        ViewMut::<FlowSchema>::new(&mut changed)
            .field(FlowSchema::METADATA)
            .field(ObjectMeta::ANNOTATIONS)
            .set(annotations);
    }
    (is_spec_changed || !is_marked).then_some(changed)
}

/// Returns whether the spec differed; `None` when it cannot be decoded.
fn restore_spec(object: &mut Value, wanted: &Value) -> Option<bool> {
    let wanted_spec = wanted.get("spec")?;
    let is_level = wanted.get("kind").and_then(Value::as_str) == Some("PriorityLevelConfiguration");
    let slot = object.as_map_mut()?.entry("spec");
    let restored = if is_level {
        let old = PriorityLevelConfigurationSpec::from_value(slot).ok()?;
        let mut wanted = PriorityLevelConfigurationSpec::from_value(wanted_spec).ok()?;
        if let (Some(old), Some(wanted)) = (&old.exempt, &mut wanted.exempt) {
            *wanted = old.clone();
        }
        (old != wanted).then(|| wanted.to_value())
    } else {
        let old = FlowSchemaSpec::from_value(slot).ok()?;
        let wanted = FlowSchemaSpec::from_value(wanted_spec).ok()?;
        (old != wanted).then(|| wanted.to_value())
    };
    let is_changed = restored.is_some();
    if let Some(restored) = restored {
        *slot = restored;
    }
    Some(is_changed)
}
