//! The metadata of an object alone (`PartialObjectMetadata`), always in the order of their type.
//! Guarantees that metadata that are stored in that order are copied, not decoded.

use super::negotiation::MediaTypeOptions;
use memchr::memmem;
use pintle_cache::Object;
use pintle_codec::json;
use pintle_meta::meta::v1::ObjectMeta;
use pintle_schema::{ApiType, Value, canonicalize, value};

/// How the metadata of stored objects are shown alone.
#[derive(Clone, Copy)]
pub(super) struct MetadataForm {
    /// Annotations that are not shown.
    pub(super) hidden: &'static [&'static str],
    /// They are stored in the order of names, and shown in that of their type.
    pub(super) is_sorted: bool,
    /// The `apiVersion` that they are shown in.
    pub(super) version: &'static str,
}

pub(super) fn put_partial(object: &Object, form: MetadataForm, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(form.version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    put_metadata(object.encoded.metadata(), form, out);
    out.push(b'}');
}

fn put_metadata(metadata: &[u8], form: MetadataForm, out: &mut Vec<u8>) {
    let names = |hidden: &&str| memmem::find(metadata, hidden.as_bytes()).is_some();
    let schema = ObjectMeta::schema();
    let decoded = match form.is_sorted || form.hidden.iter().any(names) {
        true => json::decode_trusted(schema, metadata).ok(),
        false => None,
    };
    match decoded {
        Some(mut decoded) => {
            hide(&mut decoded, form.hidden);
            canonicalize(schema, &mut decoded);
            json::encode(&decoded, out);
        }
        None => out.extend_from_slice(metadata),
    }
}

/// An object's metadata (`PartialObjectMetadata`).
pub fn partial(object: &Value, wanted: MediaTypeOptions) -> Value {
    metadata_alone(object.get("metadata").cloned().unwrap_or_else(Value::map), wanted)
}

/// The same of metadata.
pub(super) fn metadata_alone(mut metadata: Value, wanted: MediaTypeOptions) -> Value {
    // Those of custom kinds are in another order.
    canonicalize(ObjectMeta::schema(), &mut metadata);
    value!({"kind": "PartialObjectMetadata", "apiVersion": (wanted.meta_version()), "metadata": metadata})
}

pub(super) fn hide(metadata: &mut Value, hidden: &[&str]) {
    let key = ObjectMeta::ANNOTATIONS.name();
    let Some(annotations) = metadata.get_mut(key).filter(|_| !hidden.is_empty()).and_then(Value::as_map_mut) else {
        return;
    };
    annotations.retain(|name, _| !hidden.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata.make_map().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_alone_have_the_order_of_their_type() {
        let sorted = value!({
            "annotations": {"a": "b", "secret": "x"}, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"},
            "managedFields": [{"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}, "manager": "m",
                "operation": "Update", "time": "2026-01-01T00:00:00Z"}],
            "name": "n", "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u"}], "uid": "v"
        });
        let owners = r#""ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"u"}]"#;
        let managers = r#""managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","#.to_owned()
            + r#""time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]"#;
        let head = r#"{"name":"n","uid":"v","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"},"#;
        let expected = |annotations: &str| format!("{head}\"annotations\":{annotations},{owners},{managers}}}");
        let put = |hidden: &'static [&'static str], is_sorted: bool| {
            let mut out = Vec::new();
            put_metadata(&json::to_vec(&sorted), MetadataForm { hidden, is_sorted, version: "" }, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let whole = expected(r#"{"a":"b","secret":"x"}"#);
        assert_eq!(put(&[], true), whole);
        assert_eq!(put(&["secret"], true), expected(r#"{"a":"b"}"#));
        assert_eq!(put(&[], false), json::to_string(&sorted), "copied");
        let object = value!({"metadata": (sorted.clone())});
        let shown = partial(&object, MediaTypeOptions::JSON);
        assert_eq!(shown.get("metadata").map(json::to_string), Some(whole));
    }
}
