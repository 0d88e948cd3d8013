//! Rules of ControllerRevision.

use pintle_schema::{RawExtension, Value};
use pintle_validation::{At, Cx};

/// What is kept is an object.
pub fn data(data: At<'_, RawExtension>, cx: &mut Cx<'_>) {
    match data.new.value() {
        Value::Null => cx.errors.required(data.path, "data is mandatory"),
        Value::Map(_) => {}
        _ => cx.errors.required(data.path, "data must be a valid JSON object"),
    }
}
