//! A tree brought under a schema: what decoding its JSON would have given, without writing the JSON.

use super::decode::FieldCursor;
use super::encode::write_float;
use crate::error::{DecodeError, StrictProblem};
use crate::gotypes;
use crate::shape::{self, Frame, Problems, Refusals, Written};
use crate::{Decoded, Strictness};
use pintle_schema::{Form, Map, Str, Struct, Type, Value};
use std::borrow::Cow;

/// The checks and changes of decoding on a tree whose numbers have no spelling: `2.0` is an integer. For trees out of
/// YAML, strategic patches, apply and conversion.
///
/// # Errors
/// A value has not the type or format of its field.
pub fn conform(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, false)
}

/// The same for a tree out of JSON, where `2.0` is no integer. For JSON patches and merge patches.
///
/// # Errors
/// A value has not the type or format of its field.
pub fn conform_json(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, true)
}

fn run(schema: &Struct, value: Value, strictness: Strictness, as_written: bool) -> Result<Decoded, DecodeError> {
    let problems = Problems { wanted: strictness == Strictness::Collect, list: Vec::new() };
    let mut walk = Walk { as_written, problems, refusals: Refusals::default() };
    let value = walk.structure(schema, value, &Frame::Root);
    match walk.refusals.take() {
        Some(error) => Err(error),
        None => Ok(Decoded { value, problems: walk.problems.list }),
    }
}

struct Walk {
    /// A float is none of the integers, even if it is whole.
    as_written: bool,
    problems: Problems,
    refusals: Refusals,
}

impl Walk {
    fn value(&mut self, ty: &Type, value: Value, frame: &Frame<'_>) -> Value {
        match (ty, value) {
            (_, Value::Null) => Value::Null,
            // The wrapper gives the list its name.
            (Type::Struct(schema), value) if schema.form == Form::Wrapper => {
                match (schema.fields.first().map(|field| &field.ty), value) {
                    (Some(list @ Type::List(_)), value @ Value::List(_)) => self.value(list, value, frame),
                    (_, value) => self.scalar(ty, &value, frame),
                }
            }
            (Type::Bytes, Value::List(items)) => shape::bytes_of(&items, frame, &mut self.refusals),
            (Type::Struct(schema), value) => self.structure(schema, value, frame),
            (Type::List(list), Value::List(items)) => {
                let items = items.into_iter().enumerate().map(|(at, item)| {
                    let value = self.value(&list.elem, item, &Frame::Item { parent: frame, at });
                    if value.is_null() { shape::null_item(&list.elem) } else { value }
                });
                Value::List(items.collect())
            }
            (Type::Map(map), Value::Map(entries)) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let value = self.value(&map.elem, item, &Frame::Key { parent: frame, key: &key });
                    let value = if value.is_null() { shape::null_item(&map.elem) } else { value };
                    (key, value)
                });
                Value::Map(Map::from_entries(entries.collect()))
            }
            (Type::Any | Type::RawExtension | Type::Json | Type::FieldsV1, value) => value,
            (Type::String | Type::Enum(_), Value::String(text)) => Value::String(text),
            (ty, value) => self.scalar(ty, &value, frame),
        }
    }

    fn scalar(&mut self, ty: &Type, value: &Value, frame: &Frame<'_>) -> Value {
        let literal;
        let written = match value {
            Value::Null => return Value::Null,
            Value::Bool(value) => Written::Bool(*value),
            Value::Int(int) => {
                literal = int.to_string();
                Written::Number(&literal)
            }
            Value::Float(float) => {
                literal = self.literal(*float);
                Written::Number(&literal)
            }
            Value::String(text) => Written::String(Cow::Borrowed(text)),
            Value::List(_) => Written::Array,
            Value::Map(_) => Written::Object,
        };
        shape::scalar(ty, written, frame, &mut self.refusals)
    }

    fn literal(&self, float: f64) -> String {
        let mut bytes = Vec::new();
        write_float(float, &mut bytes);
        let mut literal = String::from_utf8(bytes).unwrap_or_default();
        if self.as_written && !literal.contains(['.', 'e']) {
            literal.push_str(".0");
        }
        literal
    }

    fn structure(&mut self, schema: &Struct, value: Value, frame: &Frame<'_>) -> Value {
        match (schema.form, value) {
            (_, Value::Null) => Value::Null,
            (Form::Plain, Value::Map(map)) => self.object(schema, map, frame),
            (Form::Plain, other) => {
                self.refusals.note(shape::unmarshal_error(other.json_kind(), &gotypes::of_struct(schema), frame));
                Value::Null
            }
            (Form::Wrapper, value) => match schema.fields.first() {
                Some(field) => self.value(&field.ty, value, frame),
                None => value,
            },
            (_, value) => {
                let wanted = std::mem::replace(&mut self.problems.wanted, false);
                let outer = self.refusals.nest();
                let value = self.props(schema, value, frame);
                self.refusals.unnest(outer);
                self.problems.wanted = wanted;
                value
            }
        }
    }

    fn props(&mut self, schema: &Struct, value: Value, frame: &Frame<'_>) -> Value {
        let field = schema.fields.iter().find(|field| match value {
            Value::Map(_) => field.ty.as_struct().is_some(),
            Value::List(_) => matches!(field.ty, Type::List(_)),
            _ => matches!(field.ty, Type::Bool),
        });
        match (field, value) {
            (Some(field), value @ (Value::Map(_) | Value::List(_))) => self.value(&field.ty, value, frame),
            (_, value @ Value::Bool(_)) if schema.form == Form::PropsOrBool => value,
            _ => {
                if schema.form == Form::PropsOrBool {
                    self.refusals.end_with(DecodeError::Format("boolean or JSON schema expected".to_owned()));
                }
                Value::Null
            }
        }
    }

    fn object(&mut self, schema: &Struct, map: Map, frame: &Frame<'_>) -> Value {
        let mut entries: Vec<(Str, Value)> = Vec::with_capacity(map.len());
        let mut cursor = FieldCursor::new();
        for (key, value) in map {
            match cursor.find(schema, &key) {
                Some((field, _)) => {
                    let inner = Frame::Field { parent: frame, owner: schema, name: field.name.as_str() };
                    let value = self.value(&field.ty, value, &inner);
                    if !value.is_null() || field.nullable {
                        entries.push((field.name.to_key(), value));
                    }
                }
                None if schema.preserve_unknown => entries.push((key, value)),
                None => self.problems.add(StrictProblem::UnknownField(frame.path_to(&key))),
            }
        }
        Value::Map(Map::from_entries(entries))
    }
}
