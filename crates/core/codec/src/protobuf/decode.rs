//! Decoding of protobuf messages.
//! Guarantees that scalars have the form that JSON decoding gives them: quantities, times and durations as canonical
//! text.

use super::wire::{Payload, Reader, broken, wrong_wire};
use crate::error::DecodeError;
use crate::json::scan::{Scanner, as_text};
use crate::json::{any, raw};
use crate::limits;
use crate::shape::keep_last;
use pintle_schema::{
    Duration, Field, Form, Map, MicroTime, Presence, Quantity, Str, Struct, Time, Type, Value, base64,
};

type Read<T> = Result<T, DecodeError>;

pub(super) fn message(schema: &Struct, bytes: &[u8]) -> Read<Value> {
    structure(schema, bytes, limits::PROTOBUF_DEPTH)
}

pub(super) fn list(metadata: &Struct, item: &Struct, bytes: &[u8]) -> Read<Value> {
    let depth = limits::PROTOBUF_DEPTH.saturating_sub(1);
    let (mut reader, mut meta, mut items) = (Reader::new(bytes), Value::map(), Vec::new());
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Bytes(bytes)) => meta = structure(metadata, bytes, depth)?,
            (2, Payload::Bytes(bytes)) => items.push(structure(item, bytes, depth)?),
            _ => {}
        }
    }
    let mut list = Map::new();
    list.set("metadata", meta);
    list.set("items", Value::List(items));
    Ok(Value::Map(list))
}

fn structure(schema: &Struct, bytes: &[u8], depth: usize) -> Read<Value> {
    let Some(depth) = depth.checked_sub(1) else { return Err(broken("exceeded max depth")) };
    match schema.form {
        Form::Plain => {
            // A field takes at least two bytes: an empty message allocates nothing.
            let mut entries = Vec::with_capacity(schema.fields.len().min(16).min(bytes.len() / 2));
            fields(schema, bytes, depth, &mut entries)?;
            Ok(Value::Map(Map::from_entries(entries)))
        }
        Form::Wrapper => {
            let mut entries = Vec::new();
            fields(schema, bytes, depth, &mut entries)?;
            // A list without items is absent.
            Ok(entries.pop().map_or(Value::Null, |(_, value)| value))
        }
        Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray => props(schema, bytes, depth),
    }
}

fn props(schema: &Struct, bytes: &[u8], depth: usize) -> Read<Value> {
    let mut entries = Vec::new();
    fields(schema, bytes, depth, &mut entries)?;
    // A list comes before a schema where both are possible, a schema before a boolean.
    let find = |is: fn(&Value) -> bool| entries.iter().map(|(_, value)| value).find(|value| is(value)).cloned();
    let value = find(|value| matches!(value, Value::List(_))).or_else(|| find(|value| matches!(value, Value::Map(_))));
    let allows = find(|value| matches!(value, Value::Bool(_)));
    Ok(match (schema.form, value) {
        (_, Some(value)) => value,
        (Form::PropsOrBool, None) => allows.unwrap_or(Value::Bool(false)),
        _ => Value::Null,
    })
}

/// Decodes the fields of a message into the entries of its object.
fn fields(schema: &Struct, bytes: &[u8], depth: usize, entries: &mut Vec<(Str, Value)>) -> Read<()> {
    let mut reader = Reader::new(bytes);
    let mut expected = 0;
    // Fields come in the order of their numbers: one after all others is new.
    let mut fresh = 0;
    // Maps are encoded sorted: an unsorted one may contain a key twice.
    let mut unsorted = false;
    while let Some((number, payload)) = reader.next()? {
        let Some(at) = find(schema, number, expected) else { continue };
        let field = &schema.fields[at];
        // The items of a list have the same number, so the next field may be the same one.
        expected = at;
        let is_new = at >= fresh;
        fresh = fresh.max(at + 1);
        if field.inline {
            if let (Some(inlined), Payload::Bytes(bytes)) = (field.ty.as_struct(), payload) {
                let Some(depth) = depth.checked_sub(1) else { return Err(broken("exceeded max depth")) };
                fields(inlined, bytes, depth, entries)?;
            }
            continue;
        }
        unsorted |= add(schema, field, payload, depth, is_new, entries)?;
    }
    if unsorted {
        let is_map = |key: &str| schema.field(key).is_some_and(|field| matches!(field.ty, Type::Map(_)));
        let maps = entries.iter_mut().filter(|(key, _)| is_map(key));
        maps.filter_map(|(_, value)| value.as_map_mut()).for_each(keep_last);
    }
    Ok(())
}

fn find(schema: &Struct, number: u32, expected: usize) -> Option<usize> {
    let is = |field: &Field| field.proto == number;
    let (before, ahead) = schema.fields.split_at(expected.min(schema.fields.len()));
    ahead.iter().position(is).map(|at| at + expected).or_else(|| before.iter().position(is))
}

/// Adds the content of a field; returns whether it is a map entry out of order.
fn add(
    schema: &Struct,
    field: &Field,
    payload: Payload<'_>,
    depth: usize,
    is_new: bool,
    entries: &mut Vec<(Str, Value)>,
) -> Read<bool> {
    // Repeated fields usually follow each other.
    let known = match entries.last() {
        _ if is_new => None,
        Some((key, _)) if field.name.is(key) => Some(entries.len() - 1),
        _ => entries.iter().position(|(key, _)| field.name.is(key)),
    };
    match &field.ty {
        Type::List(list) => {
            let items = items_of(field, known, entries);
            match (&list.elem, payload) {
                // Numbers may be packed.
                (Type::Int32 | Type::Int64 | Type::Bool, Payload::Bytes(packed)) => unpack(&list.elem, packed, items)?,
                (elem, payload) => items.push(single(elem, payload, depth)?.ok_or_else(|| wrong(schema, field))?),
            }
        }
        Type::Map(map) => {
            let Payload::Bytes(bytes) = payload else { return Err(wrong(schema, field)) };
            let (key, value) = entry(&map.elem, bytes, depth)?.ok_or_else(|| wrong(schema, field))?;
            return Ok(add_entry(field, known, key, value, entries));
        }
        ty => {
            let mut value = single(ty, payload, depth)?.ok_or_else(|| wrong(schema, field))?;
            if value.is_null() && field.points_to_time() {
                value = Value::NO_TIME;
            }
            // A zero value that is not a pointer is added only by the canonical form, if at all.
            let shown = matches!(field.presence, Presence::Pointer | Presence::PointerAlways)
                || matches!(ty, Type::Struct(_) | Type::IntOrString | Type::Bytes)
                || !value.is_zero();
            if shown && !value.is_null() {
                put(field, known, value, entries);
            }
        }
    }
    Ok(false)
}

#[cold]
fn wrong(schema: &Struct, field: &Field) -> DecodeError {
    wrong_wire(schema.name.as_str(), field.name.as_str())
}

/// The list of a field's items, created for the first one.
fn items_of<'e>(field: &Field, known: Option<usize>, entries: &'e mut Vec<(Str, Value)>) -> &'e mut Vec<Value> {
    let at = known.unwrap_or_else(|| {
        entries.push((field.name.to_key(), Value::List(Vec::new())));
        entries.len() - 1
    });
    let value = &mut entries[at].1;
    if !matches!(value, Value::List(_)) {
        *value = Value::List(Vec::new());
    }
    match value {
        Value::List(items) => items,
        _ => unreachable!("made a list just above"),
    }
}

/// Appends an entry, even if its key exists; returns whether it is out of order.
fn add_entry(field: &Field, known: Option<usize>, key: Str, value: Value, entries: &mut Vec<(Str, Value)>) -> bool {
    match known.and_then(|at| entries.get_mut(at)) {
        Some((_, Value::Map(map))) => {
            let unsorted = map.entries().last().is_none_or(|(last, _)| *last >= key);
            map.push(key, value);
            unsorted
        }
        _ => {
            put(field, known, Value::Map(Map::from_entries(vec![(key, value)])), entries);
            false
        }
    }
}

fn put(field: &Field, known: Option<usize>, value: Value, entries: &mut Vec<(Str, Value)>) {
    match known.and_then(|at| entries.get_mut(at)) {
        Some((_, slot)) => *slot = value,
        None => entries.push((field.name.to_key(), value)),
    }
}

fn unpack(elem: &Type, packed: &[u8], items: &mut Vec<Value>) -> Read<()> {
    let mut value = 0u64;
    let mut shift = 0;
    for byte in packed {
        if shift > 63 {
            return Err(broken("integer overflow"));
        }
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            items.push(int(elem, value));
            (value, shift) = (0, 0);
        }
    }
    if shift != 0 { Err(super::wire::unexpected_end()) } else { Ok(()) }
}

fn int(ty: &Type, value: u64) -> Value {
    match ty {
        Type::Bool => Value::Bool(value != 0),
        Type::Int32 => Value::Int((value as i32).into()),
        _ => Value::Int(value as i64),
    }
}

/// A map's entry; `None` if a part has the wrong wire type.
fn entry(elem: &Type, bytes: &[u8], depth: usize) -> Read<Option<(Str, Value)>> {
    let mut key = Str::default();
    let mut value = None;
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Bytes(bytes)) => key = text(bytes),
            (2, payload) => match single(elem, payload, depth)? {
                Some(read) => value = Some(read),
                None => return Ok(None),
            },
            (1, _) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some((key, value.unwrap_or_else(|| crate::shape::null_item(elem)))))
}

/// Text from any bytes: Go does not check it, and JSON shows U+FFFD for invalid bytes.
fn text(bytes: &[u8]) -> Str {
    match std::str::from_utf8(bytes) {
        Ok(text) => Str::new(text),
        Err(_) => Str::from(as_text(bytes)),
    }
}

/// A value of a type; `None` if the payload's wire type does not match. The recursion passes through here, so code
/// with large stack frames is in functions of its own.
fn single(ty: &Type, payload: Payload<'_>, depth: usize) -> Read<Option<Value>> {
    match (ty, payload) {
        (Type::Struct(schema), Payload::Bytes(bytes)) => structure(schema, bytes, depth).map(Some),
        (ty, payload) => scalar(ty, payload),
    }
}

#[inline(never)]
fn scalar(ty: &Type, payload: Payload<'_>) -> Read<Option<Value>> {
    let bytes = match (ty, payload) {
        (Type::Bool | Type::Int32 | Type::Int64, Payload::Varint(value)) => return Ok(Some(int(ty, value))),
        (Type::Float64, Payload::Fixed64(bits)) => return Ok(Some(Value::Float(f64::from_bits(bits)))),
        (Type::Bool | Type::Int32 | Type::Int64 | Type::Float64, _) => return Ok(None),
        (_, Payload::Bytes(bytes)) => bytes,
        _ => return Ok(None),
    };
    let value = match ty {
        Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 | Type::Struct(_) => return Ok(None),
        Type::String | Type::Enum(_) => Value::String(text(bytes)),
        Type::Bytes => Value::from(base64::encode(bytes)),
        Type::Quantity => quantity_text(bytes)?,
        Type::IntOrString => int_or_string(bytes)?,
        Type::Time => match timestamp(bytes)? {
            Some((seconds, nanos)) => Value::from(Time { seconds, nanos }.to_rfc3339()),
            None => Value::Null,
        },
        Type::MicroTime => match timestamp(bytes)? {
            Some((seconds, nanos)) => Value::from(MicroTime { seconds, nanos }.to_rfc3339()),
            None => Value::Null,
        },
        Type::Duration => {
            let mut nanos = 0;
            let mut reader = Reader::new(bytes);
            while let Some((number, payload)) = reader.next()? {
                if let (1, Payload::Varint(value)) = (number, payload) {
                    nanos = value as i64;
                }
            }
            Value::from(Duration { nanos }.to_string())
        }
        Type::RawExtension => match first_bytes(bytes)? {
            Some(json) if !json.is_empty() => read_json(json, raw::value)?,
            _ => Value::Null,
        },
        Type::Json => match first_bytes(bytes)? {
            Some(json) if !json.is_empty() => tree(json)?,
            _ => Value::Null,
        },
        // Invalid JSON is rejected when it is decoded as a field set, and a string is not one.
        Type::FieldsV1 => {
            let json = first_bytes(bytes)?.unwrap_or_default();
            let read: Read<Value> = read_json(json, |scanner| raw::fields(scanner, false));
            read.unwrap_or_else(|_| Value::String(Str::from(String::from_utf8_lossy(json))))
        }
        Type::Any | Type::List(_) | Type::Map(_) => tree(bytes)?,
    };
    Ok(Some(value))
}

/// The bytes of field 1.
fn first_bytes(bytes: &[u8]) -> Read<Option<&[u8]>> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.next()? {
        if let (1, Payload::Bytes(bytes)) = (number, payload) {
            found = Some(bytes);
        }
    }
    Ok(found)
}

fn tree(json: &[u8]) -> Read<Value> {
    read_json(json, |scanner| any::value(scanner, &mut any::IgnoreDuplicateKeys))
}

fn read_json(json: &[u8], read: impl FnOnce(&mut Scanner<'_>) -> Read<Value>) -> Read<Value> {
    let text = as_text(json);
    let mut scanner = Scanner::of(&text, json);
    let value = read(&mut scanner)?;
    scanner.end()?;
    Ok(value)
}

fn quantity_text(bytes: &[u8]) -> Read<Value> {
    let text = as_text(first_bytes(bytes)?.unwrap_or(b""));
    if text.is_empty() {
        return Ok(Value::String(Str::new_static("0")));
    }
    match Quantity::parse(&text) {
        Ok(quantity) => Ok(Value::String(quantity.into_str())),
        Err(error) => Err(DecodeError::Format(error.to_string())),
    }
}

fn int_or_string(bytes: &[u8]) -> Read<Value> {
    let (mut is_text, mut int, mut string) = (false, 0, Str::default());
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Varint(value)) => is_text = value == 1,
            (2, Payload::Varint(value)) => int = value as i32,
            (3, Payload::Bytes(bytes)) => string = text(bytes),
            _ => {}
        }
    }
    Ok(if is_text { Value::String(string) } else { Value::Int(int.into()) })
}

/// Seconds and nanoseconds; `None` for a message without fields, which is no time.
fn timestamp(bytes: &[u8]) -> Read<Option<(i64, u32)>> {
    let (mut seconds, mut nanos) = (0i64, 0u32);
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Varint(value)) => seconds = value as i64,
            (2, Payload::Varint(value)) => nanos = value as u32,
            _ => {}
        }
    }
    if bytes.is_empty() || (seconds == Time::ZERO.seconds && nanos == 0) {
        return Ok(None);
    }
    // Years that RFC 3339 cannot express could not be decoded again.
    if !limits::WRITABLE_SECONDS.contains(&seconds) || nanos >= 1_000_000_000 {
        return Err(DecodeError::Format("timestamp out of range".to_owned()));
    }
    Ok(Some((seconds, nanos)))
}
