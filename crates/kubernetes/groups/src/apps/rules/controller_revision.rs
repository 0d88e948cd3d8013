//! Rules of ControllerRevision.

use pintle_schema::RawExtension;
use pintle_validation::{At, ValidationContext};

/// The data is a JSON object.
pub fn data(data: At<'_, RawExtension>, cx: &mut ValidationContext<'_>) {
    match data.new.value().json_kind() {
        "null" => cx.errors.required(data.path, "data is mandatory"),
        "object" => {}
        _ => cx.errors.required(data.path, "data must be a valid JSON object"),
    }
}

/// The data is immutable, byte for byte.
pub fn data_is_fixed(data: At<'_, RawExtension>, cx: &mut ValidationContext<'_>) {
    if data.old.is_some_and(|old| old.value() != data.new.value()) {
        cx.errors.immutable(data.path, data.new.value().clone());
    }
}
