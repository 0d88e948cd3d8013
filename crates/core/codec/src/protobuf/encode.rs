//! Encoding of protobuf messages.
//! Budget for a pod: one walk, no allocation except the growth of the buffer and base64.

use super::wire::{Wire, put_bytes, put_int, put_nested, put_tag};
use crate::json::encode::{Escape, write as write_json};
use crate::json::opened;
use pintle_schema::{Duration, Field, Form, Map, MicroTime, Presence, Struct, Time, Type, Value, base64};
use std::sync::LazyLock;

static EMPTY: LazyLock<Map> = LazyLock::new(Map::new);

pub(super) fn message(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    match schema.form {
        Form::Plain => fields(schema, value.as_map().unwrap_or(&EMPTY), out),
        Form::Wrapper => {
            if let Some(first) = schema.fields.first() {
                field(first, value, out);
            }
        }
        Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray => props(schema, value, out),
    }
}

/// One of the fields contains the value. A schema where a boolean is possible means `allows`.
fn props(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    for part in schema.fields.iter() {
        match (&part.ty, value) {
            (Type::Bool, value) => {
                let allows = matches!(value, Value::Map(_) | Value::Bool(true));
                put_int(part.proto, allows.into(), out);
            }
            (Type::Struct(inner), Value::Map(_)) => put_nested(part.proto, out, |out| message(inner, value, out)),
            (Type::List(_), Value::List(_)) => field(part, value, out),
            _ => {}
        }
    }
}

fn fields(schema: &Struct, map: &Map, out: &mut Vec<u8>) {
    let mut cursor = Cursor { map, next: 0, ordered: is_ordered(schema, map) };
    if schema.fields.iter().is_sorted_by_key(|field| field.proto) {
        for part in schema.fields.iter() {
            let value = cursor.find(part);
            put(part, value, map, out);
        }
        return;
    }
    // Searched in schema order, encoded in the order of numbers.
    let mut parts = Vec::with_capacity(schema.fields.len());
    for part in schema.fields.iter() {
        let value = cursor.find(part);
        if part.inline || !is_unwritten(part, value) {
            parts.push((part, value));
        }
    }
    parts.sort_by_key(|(part, _)| part.proto);
    parts.into_iter().for_each(|(part, value)| put(part, value, map, out));
}

/// Whether all entries are fields in schema order, as in canonical values of structs without inlined ones.
fn is_ordered(schema: &Struct, map: &Map) -> bool {
    let mut fields = schema.fields.iter();
    map.keys().all(|key| fields.any(|field| field.name.is(key)))
}

/// Finds fields in a map, expecting them in the requested order.
struct Cursor<'a> {
    map: &'a Map,
    next: usize,
    /// A field that is not next is absent.
    ordered: bool,
}

impl<'a> Cursor<'a> {
    fn find(&mut self, part: &Field) -> &'a Value {
        let entries = self.map.entries();
        if let Some((key, value)) = entries.get(self.next)
            && part.name.is(key)
        {
            self.next += 1;
            return value;
        }
        if self.ordered || part.inline {
            return &Value::Null;
        }
        match entries.iter().enumerate().find(|(_, (key, _))| part.name.is(key)) {
            Some((at, (_, value))) => {
                self.next = at + 1;
                value
            }
            None => &Value::Null,
        }
    }
}

fn put(part: &Field, value: &Value, map: &Map, out: &mut Vec<u8>) {
    if part.inline {
        inlined(part, map, out);
    } else if !is_unwritten(part, value) {
        field(part, value, out);
    }
}

/// A nested message whose fields are inlined in the owner's JSON.
fn inlined(part: &Field, map: &Map, out: &mut Vec<u8>) {
    let Some(inlined) = part.ty.as_struct().filter(|_| part.proto != 0) else { return };
    let absent = part.presence == Presence::Pointer && !map.iter().any(|(key, _)| inlined.field(key).is_some());
    if !absent {
        put_nested(part.proto, out, |out| fields(inlined, map, out));
    }
}

/// Whether a field without a value is omitted: others are encoded even if zero.
fn is_unwritten(part: &Field, value: &Value) -> bool {
    let pointer = matches!(part.presence, Presence::Pointer | Presence::PointerAlways);
    part.proto == 0 || (value.is_null() && (pointer || matches!(part.ty, Type::List(_) | Type::Map(_) | Type::Bytes)))
}

fn field(part: &Field, value: &Value, out: &mut Vec<u8>) {
    match (&part.ty, value) {
        (Type::List(list), Value::List(items)) => {
            items.iter().for_each(|item| single(part.proto, &list.elem, item, out));
        }
        (Type::Map(map), Value::Map(entries)) => entry_list(part.proto, &map.elem, entries, out),
        (Type::List(_) | Type::Map(_), _) => {}
        // Named lists are encoded only if present.
        (Type::Struct(schema), Value::Null) if schema.form == Form::Wrapper => {}
        (ty, value) => single(part.proto, ty, value, out),
    }
}

fn entry_list(number: u32, elem: &Type, entries: &Map, out: &mut Vec<u8>) {
    let entry = |key: &str, value: &Value, out: &mut Vec<u8>| {
        put_nested(number, out, |out| {
            put_bytes(1, key.as_bytes(), out);
            if !(matches!(elem, Type::Bytes) && value.is_null()) {
                single(2, elem, value, out);
            }
        });
    };
    if entries.entries().is_sorted_by(|(a, _), (b, _)| a <= b) {
        entries.iter().for_each(|(key, value)| entry(key, value, out));
        return;
    }
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    sorted.into_iter().for_each(|(key, value)| entry(key, value, out));
}

/// One value of a type; `Null` is the zero value.
fn single(number: u32, ty: &Type, value: &Value, out: &mut Vec<u8>) {
    match ty {
        Type::Bool => put_int(number, value.as_bool().unwrap_or(false).into(), out),
        Type::Int32 | Type::Int64 => put_int(number, value.as_i64().unwrap_or(0), out),
        Type::Float64 => {
            let float = match value {
                Value::Float(float) => *float,
                Value::Int(int) => *int as f64,
                _ => 0.0,
            };
            put_tag(number, Wire::Fixed64, out);
            out.extend_from_slice(&float.to_le_bytes());
        }
        Type::String | Type::Enum(_) => put_bytes(number, value.as_str().unwrap_or("").as_bytes(), out),
        Type::Bytes => {
            let bytes = base64::decode(value.as_str().unwrap_or("")).unwrap_or_default();
            put_bytes(number, &bytes, out);
        }
        Type::Quantity => {
            put_nested(number, out, |out| put_bytes(1, value.as_str().unwrap_or("0").as_bytes(), out));
        }
        Type::IntOrString => put_nested(number, out, |out| {
            let text = value.as_str();
            put_int(1, text.is_some().into(), out);
            put_int(2, value.as_i64().unwrap_or(0), out);
            put_bytes(3, text.unwrap_or("").as_bytes(), out);
        }),
        Type::Time => put_nested(number, out, |out| {
            // kube-apiserver never encodes the fraction of a time in whole seconds.
            if let Some(Ok(time)) = value.as_str().map(Time::parse) {
                timestamp(time.seconds, 0, out);
            }
        }),
        Type::MicroTime => put_nested(number, out, |out| {
            if let Some(Ok(time)) = value.as_str().map(MicroTime::parse) {
                timestamp(time.seconds, time.nanos, out);
            }
        }),
        Type::Duration => put_nested(number, out, |out| {
            let duration = value.as_str().and_then(|text| Duration::parse(text).ok()).unwrap_or_default();
            put_int(1, duration.nanos, out);
        }),
        Type::RawExtension | Type::Json | Type::FieldsV1 => put_nested(number, out, |out| match value {
            Value::Null => {}
            // A field set is kept with escapes that do not belong here.
            Value::Raw(text) if matches!(ty, Type::FieldsV1) && text.contains("\\u") => {
                put_nested(1, out, |out| write_json(&opened(value), Escape::Plain, out));
            }
            Value::Raw(text) => put_bytes(1, text.as_bytes(), out),
            value => put_nested(1, out, |out| write_json(value, Escape::Plain, out)),
        }),
        Type::Struct(schema) => put_nested(number, out, |out| message(schema, value, out)),
        // No message of the API contains these directly; JSON text is the least surprising.
        Type::Any | Type::List(_) | Type::Map(_) => {
            put_nested(number, out, |out| write_json(value, Escape::Plain, out));
        }
    }
}

fn timestamp(seconds: i64, nanos: u32, out: &mut Vec<u8>) {
    put_int(1, seconds, out);
    put_int(2, nanos.into(), out);
}
