//! What audit events have of a request: its id, and the objects that were sent. Guarantees that a request that is not audited costs one
//! check of an option. Must never emit an event: the observer does.

use crate::Api;
use crate::context::Context;
use crate::encoding::{self, Format, MediaTypeOptions};
use crate::response::set_before;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use pintle_audit::{Level, Record};
use pintle_codec::{Strictness, cbor, json, yaml};
use pintle_registry::{environment, metadata, set_type};
use pintle_resource::Resource;
use pintle_schema::{Struct, Value, canonicalize};

/// Identifies a request, in both directions.
pub const AUDIT_ID: &str = "audit-id";

/// The id of a request: the client's own, as it is, or a new one.
pub fn audit_id(api: &Api, headers: &HeaderMap) -> String {
    match headers.get(AUDIT_ID).map(|id| String::from_utf8_lossy(id.as_bytes())) {
        Some(id) if !id.is_empty() => id.into_owned(),
        _ => environment::new_uid(api.registry.environment.as_ref()),
    }
}

/// Sets the audit id of a response, before that of a backend.
pub fn set_audit_id<B>(response: &mut http::Response<B>, id: &str) {
    if let Ok(value) = HeaderValue::from_bytes(id.as_bytes()) {
        set_before(response.headers_mut(), &HeaderName::from_static(AUDIT_ID), value);
    }
}

/// Records a decoded object of a request, of the resource's own kind.
pub fn request_object(context: &Context, resource: &Resource, object: &Value) {
    let Some(record) = context.request.audit() else { return };
    record_identity(record, object);
    if record.level() >= Level::Request {
        let mut object = object.clone();
        resource.default_sent(&mut object, context.api.registry.environment.now_unix());
        set_type(&mut object, &resource.api_version(), &resource.kind);
        record.request_object(encoded(record, &resource.schema, object));
    }
}

/// Records a decoded object of a request that has a kind of its own, as the options of a delete and bodies of subresources.
pub fn request_body(context: &Context, schema: &Struct, api_version: &str, kind: &str, object: &Value) {
    let Some(record) = context.request.audit() else { return };
    record_identity(record, object);
    if record.level() >= Level::Request {
        let mut object = object.clone();
        set_type(&mut object, api_version, kind);
        record.request_object(encoded(record, schema, object));
    }
}

fn record_identity(record: &Record, object: &Value) {
    let text = |key| metadata::text(object, key);
    record.object(text("namespace"), text("name"), text("uid"), text("resourceVersion"));
}

fn encoded(record: &Record, schema: &Struct, mut object: Value) -> Bytes {
    canonicalize(schema, &mut object);
    if record.omits_managed_fields() {
        remove_managed_fields(&mut object);
    }
    let mut json = encoding::encode(&object, schema, MediaTypeOptions::JSON);
    json.truncate(json.trim_ascii_end().len());
    json
}

/// Records a patch.
pub fn request_patch(context: &Context, bytes: &Bytes, format: Format) {
    let Some(record) = context.request.audit().filter(|record| record.level() >= Level::Request) else { return };
    let json = match format {
        Format::Json => compact_json(bytes),
        _ => parsed(format, bytes).map(|patch| json::to_vec(&patch).into()),
    };
    json.into_iter().for_each(|json| record.request_object(json));
}

/// An object in a form that is text or CBOR.
pub(crate) fn parsed(format: Format, bytes: &[u8]) -> Option<Value> {
    match format {
        Format::Json => json::parse_spelled(bytes, Strictness::Ignore).ok().map(|parsed| parsed.value),
        Format::Yaml => yaml::parse(bytes, Strictness::Ignore).ok().map(|parsed| parsed.value),
        Format::Cbor => cbor::parse(bytes).ok(),
        Format::Protobuf => None,
    }
}

/// JSON without whitespace, if it is JSON.
pub(crate) fn compact_json(bytes: &[u8]) -> Option<Bytes> {
    json::parse_spelled(bytes, Strictness::Ignore).ok()?;
    let mut out = Vec::with_capacity(bytes.len());
    json::compact(bytes, &mut out);
    Some(out.into())
}

/// Removes the managed fields of an object, and of the objects of a list or table.
pub(crate) fn remove_managed_fields(object: &mut Value) {
    object.remove_at(&["metadata", "managedFields"]);
    for (list, inner) in [("items", None), ("rows", Some("object"))] {
        for item in object.get_mut(list).and_then(Value::as_list_mut).into_iter().flatten() {
            let item = match inner {
                Some(key) => item.get_mut(key),
                None => Some(item),
            };
            if let Some(item) = item {
                item.remove_at(&["metadata", "managedFields"]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managed_fields_are_left_out_of_objects_lists_and_tables() {
        let text = r#"{"metadata":{"a":1,"managedFields":[]},"items":[{"metadata":{"managedFields":[1]}}],"rows":[{"object":{"metadata":{"managedFields":[1]}}}]}"#;
        let mut value = parsed(Format::Json, text.as_bytes()).expect("JSON");
        remove_managed_fields(&mut value);
        let expected = r#"{"metadata":{"a":1},"items":[{"metadata":{}}],"rows":[{"object":{"metadata":{}}}]}"#;
        assert_eq!(json::to_string(&value), expected);
    }
}
