//! `canonicalize`: brings a worked-on value into the form the wire shows.
//!
//! After it a struct has exactly the fields Go's JSON would print, in schema order, and a map's keys are sorted; so
//! encoding is a plain walk and equal objects are equal trees. It must not judge: wrong types pass as they are.

use crate::schema::{Field, Form, Presence, Struct, Type};
use crate::value::{Map, Str, Value};

/// Brings an object under a struct schema into canonical form.
pub fn canonicalize(schema: &Struct, value: &mut Value) {
    match schema.form {
        Form::Plain => struct_in_place(schema, value),
        Form::Wrapper => {
            if let Some(field) = schema.fields.first() {
                canonicalize_type(&field.ty, value);
            }
        }
        Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray => match value {
            Value::Map(_) => props(schema, value),
            Value::List(items) => {
                items.iter_mut().filter(|item| item.as_map().is_some()).for_each(|item| props(schema, item))
            }
            _ => {}
        },
    }
}

/// The canonical zero value of a type, as Go would print a field of it that nobody set.
pub fn zero(ty: &Type) -> Value {
    match ty {
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::IntOrString => Value::Int(0),
        Type::Float64 => Value::Float(0.0),
        Type::String | Type::Enum(_) => Value::String(Str::new_static("")),
        Type::Quantity => Value::String(Str::new_static("0")),
        Type::Duration => Value::String(Str::new_static("0s")),
        Type::Struct(schema) if schema.form == Form::Plain => {
            let mut value = Value::Map(Map::new());
            canonicalize(schema, &mut value);
            value
        }
        _ => Value::Null,
    }
}

fn props(schema: &Struct, value: &mut Value) {
    let inner = schema.fields.iter().find_map(|field| field.ty.as_struct());
    if let Some(inner) = inner {
        canonicalize(inner, value);
    }
}

fn struct_in_place(schema: &Struct, value: &mut Value) {
    if !matches!(value, Value::Map(_) | Value::Null) {
        return;
    }
    let map = value.make_map();
    let mut old = std::mem::take(map.entries_mut());
    let mut entries = Vec::with_capacity(old.len() + 2);
    take_fields(schema, &mut old, &mut entries);
    if schema.preserve_unknown {
        entries.extend(old.into_iter().filter(|(key, _)| !key.is_empty() || schema.field(key).is_none()));
    }
    *map.entries_mut() = entries;
}

/// Moves a struct's fields from `old` to `entries` in schema order. A taken slot keeps its place with an empty key.
fn take_fields(schema: &Struct, old: &mut Vec<(Str, Value)>, entries: &mut Vec<(Str, Value)>) {
    // Objects mostly come in schema order, so the search goes on where the last one ended.
    let mut expected = 0;
    for field in schema.fields.iter() {
        if field.inline {
            if let Some(inlined) = field.ty.as_struct() {
                take_fields(inlined, old, entries);
            }
            continue;
        }
        let found = find(old, expected, field.name.as_str());
        let value = match found {
            Some(at) => {
                expected = at + 1;
                Some(std::mem::take(&mut old[at].1))
            }
            None => None,
        };
        if let Some(value) = field_value(field, value) {
            entries.push((field.name.to_key(), value));
        }
    }
}

fn find(entries: &[(Str, Value)], expected: usize, name: &str) -> Option<usize> {
    if entries.get(expected).is_some_and(|(key, _)| key == name) {
        return Some(expected);
    }
    entries.iter().position(|(key, _)| key == name)
}

/// What JSON shows for a field that holds `value`; `None` when it shows nothing.
fn field_value(field: &Field, value: Option<Value>) -> Option<Value> {
    let mut value = value.unwrap_or(Value::Null);
    match field.presence {
        Presence::Pointer => {
            if value.is_null() {
                return None;
            }
            canonicalize_type(&field.ty, &mut value);
            Some(value)
        }
        Presence::PointerAlways => {
            if !value.is_null() {
                canonicalize_type(&field.ty, &mut value);
            }
            Some(value)
        }
        Presence::OmitEmpty => match &field.ty {
            Type::Struct(schema) if schema.form == Form::Plain => {
                canonicalize(schema, &mut value);
                Some(value)
            }
            Type::Quantity | Type::IntOrString | Type::Duration if value.is_null() => Some(zero(&field.ty)),
            Type::Quantity | Type::Duration => Some(value),
            Type::IntOrString | Type::Time | Type::MicroTime | Type::RawExtension | Type::Json => Some(value),
            _ if value.is_zero() => None,
            ty => {
                canonicalize_type(ty, &mut value);
                Some(value)
            }
        },
        Presence::Always => {
            // Nothing tells an empty list from an absent one in protobuf, so what is stored there comes back as null.
            let is_empty = matches!(field.ty, Type::List(_) | Type::Map(_)) && field.proto != 0 && value.is_zero();
            if value.is_null() || is_empty {
                return Some(zero(&field.ty));
            }
            canonicalize_type(&field.ty, &mut value);
            Some(value)
        }
        Presence::OmitZero => {
            canonicalize_type(&field.ty, &mut value);
            (!value.is_zero() && value != zero(&field.ty)).then_some(value)
        }
    }
}

fn canonicalize_type(ty: &Type, value: &mut Value) {
    match (ty, value) {
        (Type::Struct(schema), value) => canonicalize(schema, value),
        (Type::List(list), Value::List(items)) if is_composite(&list.elem) => {
            items.iter_mut().for_each(|item| canonicalize_type(&list.elem, item));
        }
        (Type::Map(map), Value::Map(entries)) => {
            if !entries.entries().is_sorted_by(|(a, _), (b, _)| a <= b) {
                entries.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            if is_composite(&map.elem) {
                entries.iter_mut().for_each(|(_, item)| canonicalize_type(&map.elem, item));
            }
        }
        _ => {}
    }
}

fn is_composite(ty: &Type) -> bool {
    matches!(ty, Type::Struct(_) | Type::List(_) | Type::Map(_))
}
