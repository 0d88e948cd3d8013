//! CBOR as kube-apiserver writes and reads it: the JSON form of an object in another encoding.
//! Guarantees a deterministic encoding: texts are byte strings; bytes, which JSON shows as base64, are byte strings
//! with a tag; the shortest heads and floats; keys in the order of RFC 8949, 4.2.1.

mod decode;
mod encode;
mod half;
mod item;
pub(crate) mod misfit;
#[cfg(test)]
mod tests;

use crate::error::DecodeError;
use crate::json::TypeMeta;
use crate::{Decoded, Strictness, json};
use pintle_schema::{Map, Str, Struct, Value};

/// The head of tag 55799, with which every encoded object begins.
pub const SELF_DESCRIBED: &[u8; 3] = &[0xd9, 0xd9, 0xf7];

/// Appends a canonical object.
pub fn encode(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(SELF_DESCRIBED);
    encode::structure(schema, value, out);
}

/// Encodes an object whose list at `key` is left empty: what comes before its items, which are `count`, and after them.
/// [`encode_item`] appends items.
pub fn encode_around(object: &Map, key: &str, count: usize) -> [Vec<u8>; 2] {
    let [head, tail] = encode::around(object, key, count);
    [[&SELF_DESCRIBED[..], &head].concat(), tail]
}

/// Appends a canonical object that is an item of a list.
pub fn encode_item(schema: &Struct, item: &Value, out: &mut Vec<u8>) {
    encode::structure(schema, item, out);
}

/// Appends a watch event with an encoded object.
pub fn encode_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(SELF_DESCRIBED);
    encode::event(kind, object, out);
}

/// Decodes an object of a schema. Duplicate keys are rejected.
///
/// # Errors
/// The input is not CBOR, exceeds a limit, or a value does not match the type or format of its field.
pub fn decode(schema: &Struct, bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    json::conform_cbor(schema, decode::document(bytes)?, strictness)
}

/// Decodes any CBOR to the tree of the equivalent JSON.
///
/// # Errors
/// The input is not CBOR, exceeds a limit, or has no JSON form.
pub fn parse(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode::document(bytes).map(json::sorted)
}

/// The apiVersion and kind of an object.
///
/// # Errors
/// The input cannot be decoded, is not a map, or one of the two is not a text.
pub fn type_meta(bytes: &[u8]) -> Result<TypeMeta, DecodeError> {
    let value = parse(bytes)?;
    let wrong =
        |what: &str, place: &str| DecodeError::WrongType(format!("cbor: cannot unmarshal {what} into Go {place}"));
    if value.as_map().is_none() && !value.is_null() {
        return Err(wrong(item::kind(&value), "value of type v1.TypeMeta"));
    }
    let text = |key: &str| match value.get(key) {
        None | Some(Value::Null) => Ok(Str::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(wrong(item::kind(other), &format!("struct field v1.TypeMeta.{key} of type string"))),
    };
    Ok(TypeMeta { api_version: text("apiVersion")?, kind: text("kind")? })
}
