//! Encodes CBOR items.
//! Guarantees the distinctions that JSON does not make, by the schema: bytes from texts, and integral floats from
//! integers.

use super::half;
use super::item::{ARRAY, AS_BASE64, BYTES, FALSE, MAP, NEGATIVE, NULL, PRIMITIVE, TAG, TRUE, UNSIGNED, put_head};
use crate::json::opened;
use pintle_schema::{Form, Map, Str, Struct, Type, Value, base64};

pub(super) fn structure(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    match (schema.form, value) {
        (Form::Plain, Value::Map(map)) => {
            entries(map, out, |key, item, out| put(schema.field(key).map(|field| &field.ty), item, out));
        }
        (Form::Wrapper, value) => put(schema.fields.first().map(|field| &field.ty), value, out),
        (_, value) => {
            let field = schema.fields.iter().find(|field| match value {
                Value::Map(_) => field.ty.as_struct().is_some(),
                Value::List(_) => matches!(field.ty, Type::List(_)),
                _ => false,
            });
            put(field.map(|field| &field.ty), value, out);
        }
    }
}

/// An object without a schema of its own, up to the items of its list at a key, and what comes after them.
pub(super) fn around(object: &Map, key: &str, count: usize) -> [Vec<u8>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    put_head(MAP, object.len() as u64, &mut parts[0]);
    let mut part = 0;
    for (name, value) in sorted(object) {
        text(name, &mut parts[part]);
        if name == key {
            put_head(ARRAY, count as u64, &mut parts[0]);
            part = 1;
            continue;
        }
        put(None, value, &mut parts[part]);
    }
    parts
}

/// The shorter key comes first.
pub(super) fn event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    put_head(MAP, 2, out);
    text("type", out);
    text(kind, out);
    text("object", out);
    out.extend_from_slice(object);
}

fn put(ty: Option<&Type>, value: &Value, out: &mut Vec<u8>) {
    match (ty, value) {
        (_, Value::Null) => put_head(PRIMITIVE, NULL, out),
        (_, Value::Bool(value)) => put_head(PRIMITIVE, if *value { TRUE } else { FALSE }, out),
        (Some(Type::Float64), Value::Int(int)) => float(*int as f64, out),
        (_, Value::Int(int)) => match u64::try_from(*int) {
            Ok(int) => put_head(UNSIGNED, int, out),
            Err(_) => put_head(NEGATIVE, !*int as u64, out),
        },
        (_, Value::Float(value)) => float(*value, out),
        (Some(Type::Bytes), Value::String(text)) => {
            let bytes = base64::decode(text).unwrap_or_default();
            put_head(TAG, AS_BASE64, out);
            put_head(BYTES, bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        }
        (_, Value::String(value)) => text(value, out),
        (Some(Type::Struct(schema)), value) => structure(schema, value, out),
        (ty, Value::List(items)) => {
            let item = match ty {
                Some(Type::List(list)) => Some(&list.elem),
                _ => None,
            };
            put_head(ARRAY, items.len() as u64, out);
            items.iter().for_each(|value| put(item, value, out));
        }
        (ty, Value::Map(map)) => {
            let item = match ty {
                Some(Type::Map(map)) => Some(&map.elem),
                _ => None,
            };
            entries(map, out, |_, value, out| put(item, value, out));
        }
        (_, Value::Raw(_)) => put(None, &opened(value), out),
    }
}

/// Encodes a map with keys in the order of their encoded bytes: by length first.
fn entries(map: &Map, out: &mut Vec<u8>, mut put: impl FnMut(&str, &Value, &mut Vec<u8>)) {
    put_head(MAP, map.len() as u64, out);
    for (key, value) in sorted(map) {
        text(key, out);
        put(key, value, out);
    }
}

fn sorted(map: &Map) -> Vec<(&Str, &Value)> {
    let mut sorted: Vec<_> = map.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| (a.len(), a.as_bytes()).cmp(&(b.len(), b.as_bytes())));
    sorted
}

fn text(text: &str, out: &mut Vec<u8>) {
    put_head(BYTES, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// The shortest float with the same value; decoded values are always finite.
fn float(float: f64, out: &mut Vec<u8>) {
    const HALF: u8 = PRIMITIVE << 5 | 25;
    if !float.is_finite() {
        return put_head(PRIMITIVE, NULL, out);
    }
    if let Some(half) = half::from_f64(float) {
        out.push(HALF);
        out.extend_from_slice(&half.to_be_bytes());
    } else if f64::from(float as f32) == float {
        out.push(HALF + 1);
        out.extend_from_slice(&(float as f32).to_be_bytes());
    } else {
        out.push(HALF + 2);
        out.extend_from_slice(&float.to_be_bytes());
    }
}
