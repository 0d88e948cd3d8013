//! Applies a schema to a tree, with the result of decoding its JSON, without encoding it.

use super::decode::FieldCursor;
use super::encode::write_float;
use super::raw;
use crate::cbor::misfit as cbor;
use crate::compat::types;
use crate::error::{DecodeError, StrictProblem};
use crate::limits;
use crate::shape::{self, DecodeErrors, Frame, Problems, Written};
use crate::{Decoded, Strictness};
use pintle_schema::{Form, Map, Str, Struct, Type, Value, base64};
use std::borrow::Cow;

/// The checks and conversions of decoding for a tree without number spellings: `2.0` is an integer. For trees from
/// YAML, apply and conversion.
///
/// # Errors
/// A value does not match the type or format of its field.
pub fn conform(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, TreeOrigin::Tree)
}

/// The same for a tree from JSON, where `2.0` is not an integer. For JSON patches and merge patches.
///
/// # Errors
/// A value does not match the type or format of its field.
pub fn conform_json(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, TreeOrigin::Written)
}

/// The same as [`conform`] for a tree from CBOR, whose decoder has its own messages.
///
/// # Errors
/// A value does not match the type or format of its field.
pub(crate) fn conform_cbor(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, TreeOrigin::Cbor)
}

/// The same as [`conform`] where kube-apiserver converts a tree without decoding, which has its own messages for
/// wrong types. For strategic merge patches.
///
/// # Errors
/// A value does not match the type or format of its field.
pub fn restore(schema: &Struct, value: Value, strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, value, strictness, TreeOrigin::Restored)
}

/// The fields of a tree from JSON that match a schema, each by itself. For stored metadata with values of wrong types, of which
/// kube-apiserver keeps the rest.
pub fn conforming_fields(schema: &Struct, tree: &Value) -> Value {
    let conforms = |(name, value): &(&Str, &Value)| {
        let alone = Map::from_entries(vec![((*name).clone(), (*value).clone())]);
        conform_json(schema, Value::Map(alone), Strictness::Ignore).is_ok()
    };
    let fields = tree.as_map().into_iter().flat_map(Map::iter);
    let kept = fields.filter(conforms).map(|(name, value)| (name.clone(), value.clone()));
    Value::Map(Map::from_entries(kept.collect()))
}

fn run(schema: &Struct, value: Value, strictness: Strictness, manner: TreeOrigin) -> Result<Decoded, DecodeError> {
    let problems = Problems::new(strictness);
    let mut walk = Walk { manner, problems, unknown: Vec::new(), unknown_bytes: 0, refusals: DecodeErrors::default() };
    let value = walk.structure(schema, value, &Frame::Root);
    walk.unknown.sort_unstable();
    walk.problems.list.extend(walk.unknown.into_iter().map(StrictProblem::Message));
    match walk.refusals.take() {
        Some(error) => Err(error),
        None => Ok(Decoded { value, problems: walk.problems.list }),
    }
}

/// The origin of the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeOrigin {
    Tree,
    /// From JSON: a float is not an integer, even if it is integral.
    Written,
    /// From CBOR: a float is not an integer, and keys are in CBOR's order.
    Cbor,
    /// Never encoded: wrong types are reported as mismatches of Go values.
    Restored,
}

struct Walk {
    manner: TreeOrigin,
    problems: Problems,
    /// Messages about unknown fields, if they are sorted at the end and neither quoted nor limited in number.
    unknown: Vec<String>,
    unknown_bytes: usize,
    refusals: DecodeErrors,
}

impl Walk {
    fn value(&mut self, ty: &Type, value: Value, frame: &Frame<'_>) -> Value {
        match (ty, value) {
            (_, Value::Null) => Value::Null,
            // A patch may move the value anywhere, with its spelling of numbers.
            (Type::Json | Type::Any, mut value) if self.manner == TreeOrigin::Written => {
                raw::open_all(&mut value);
                if matches!(ty, Type::Json) { raw::sorted(value) } else { value }
            }
            (ty, Value::Raw(text)) if self.manner == TreeOrigin::Written && takes_numbers(ty) && is_number(&text) => {
                shape::scalar(ty, Written::Number(&text), frame, &mut self.refusals)
            }
            (ty, value @ Value::Raw(_)) if !matches!(ty, Type::RawExtension | Type::FieldsV1) => {
                self.value(ty, raw::opened(&value).into_owned(), frame)
            }
            // The wrapper names the list.
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
                let is_restored = self.manner == TreeOrigin::Restored;
                let entries = entries.into_iter().map(|(key, item)| {
                    // kube-apiserver's paths in the result of a strategic merge patch have no keys of maps.
                    let value = match is_restored {
                        true => self.value(&map.elem, item, frame),
                        false => self.value(&map.elem, item, &Frame::Key { parent: frame, key: &key }),
                    };
                    let value = if value.is_null() { shape::null_item(&map.elem) } else { value };
                    (key, value)
                });
                Value::Map(Map::from_entries(entries.collect()))
            }
            (Type::RawExtension, value) if self.manner == TreeOrigin::Written => raw::written(&value),
            (Type::RawExtension, value) => raw::respelled(value),
            (Type::Json, value) => raw::sorted(value),
            (Type::Any, value) if self.manner == TreeOrigin::Cbor => raw::sorted(value),
            (Type::Any, value) => value,
            (Type::FieldsV1, value) if self.manner == TreeOrigin::Cbor => raw::fields_of(raw::sorted(value)),
            (Type::FieldsV1, value) => raw::fields_of(value),
            (Type::String | Type::Enum(_), Value::String(text)) => Value::String(text),
            (ty, value) => self.scalar(ty, &value, frame),
        }
    }

    fn scalar(&mut self, ty: &Type, value: &Value, frame: &Frame<'_>) -> Value {
        let misfit = match self.manner {
            TreeOrigin::Tree | TreeOrigin::Written => None,
            TreeOrigin::Cbor => cbor::of_value(ty, value, frame),
            TreeOrigin::Restored => misfit(ty, value, frame).map(DecodeError::WrongType),
        };
        if let Some(misfit) = misfit {
            self.refusals.note(|| misfit);
            return Value::Null;
        }
        if self.manner == TreeOrigin::Restored
            && let Some(cut) = cut(ty, value)
        {
            return Value::Int(cut);
        }
        // A custom decoder does not know its field.
        let frame = if self.manner == TreeOrigin::Restored { &Frame::Root } else { frame };
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
            Value::Raw(_) => return self.scalar(ty, &raw::opened(value), frame),
        };
        shape::scalar(ty, written, frame, &mut self.refusals)
    }

    fn literal(&self, float: f64) -> String {
        let mut bytes = Vec::new();
        write_float(float, &mut bytes);
        let mut literal = String::from_utf8(bytes).unwrap_or_default();
        if matches!(self.manner, TreeOrigin::Written | TreeOrigin::Cbor) && literal.parse::<i64>().is_ok() {
            literal.push_str(".0");
        }
        literal
    }

    fn structure(&mut self, schema: &Struct, value: Value, frame: &Frame<'_>) -> Value {
        match (schema.form, value) {
            (_, Value::Null) => Value::Null,
            (Form::Plain, Value::Map(map)) => self.object(schema, map, frame),
            (Form::Plain, other) if self.manner == TreeOrigin::Restored => {
                let misfit = || format!("cannot restore struct from: {}", go_kind(&other));
                self.refusals.note(|| DecodeError::WrongType(misfit()));
                Value::Null
            }
            (Form::Plain, other) if self.manner == TreeOrigin::Cbor => {
                self.refusals.note(|| cbor::of_struct(schema, &other, frame));
                Value::Null
            }
            (Form::Plain, other) => {
                self.refusals.note(|| shape::unmarshal_error(other.json_kind(), &types::of_struct(schema), frame));
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
                shape::neither(schema)
            }
        }
    }

    /// Conversion lists all unknown fields, with their paths.
    fn unknown_restored(&mut self, key: &str, frame: &Frame<'_>) {
        if !self.problems.wanted || self.unknown_bytes >= limits::UNKNOWN_BYTES {
            return;
        }
        let text = format!("unknown field \"{}\"", frame.path_to(key));
        self.unknown_bytes += text.len();
        self.unknown.push(text);
    }

    fn object(&mut self, schema: &Struct, map: Map, frame: &Frame<'_>) -> Value {
        let mut entries: Vec<(Str, Value)> = Vec::with_capacity(map.len());
        let mut cursor = FieldCursor::new();
        for (at, (key, value)) in map.into_iter().enumerate() {
            match cursor.find(schema, &key) {
                Some((field, _)) => {
                    let inner = Frame::Field { parent: frame, owner: schema, name: field.name.as_str() };
                    let value = self.value(&field.ty, value, &inner);
                    if !value.is_null() || field.nullable {
                        entries.push((field.name.to_key(), value));
                    }
                }
                None if schema.preserve_unknown => {
                    let mut value = value;
                    if self.manner == TreeOrigin::Written {
                        raw::open_all(&mut value);
                    }
                    entries.push((key, value));
                }
                // kube-apiserver's decoder stops at the first one.
                None if self.manner == TreeOrigin::Cbor => {
                    if self.problems.list.is_empty() {
                        self.problems.add(|| cbor::unknown(at));
                    }
                }
                None if self.manner == TreeOrigin::Restored => {
                    self.unknown_restored(&key, frame);
                }
                None => self.problems.add(|| StrictProblem::UnknownField(frame.path_to(&key))),
            }
        }
        Value::Map(Map::from_entries(entries))
    }
}

fn is_number(raw: &str) -> bool {
    raw.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Whether the check of a type depends on the spelling of a number.
fn takes_numbers(ty: &Type) -> bool {
    matches!(ty, Type::Int32 | Type::Int64 | Type::Float64 | Type::IntOrString | Type::Quantity)
}

/// Go's kind of a value in a tree.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "slice",
        Value::Map(_) => "map",
        Value::Raw(_) => go_kind(&raw::opened(value)),
    }
}

/// Go's conversion of a number in a tree to an integer field, which truncates instead of rejecting.
fn cut(ty: &Type, value: &Value) -> Option<i64> {
    let whole = match value {
        Value::Int(int) => *int,
        // Out of range, the processor returns the minimum.
        Value::Float(float) if (-TWO_TO_63..TWO_TO_63).contains(float) => *float as i64,
        Value::Float(_) => i64::MIN,
        _ => return None,
    };
    match ty {
        Type::Int32 => Some(i64::from(whole as i32)),
        Type::Int64 => Some(whole),
        _ => None,
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Why Go cannot assign a value of a tree to the type; `None` if it can, or if the type has a custom decoder. The
/// only structs here are wrappers, which are slices.
fn misfit(ty: &Type, value: &Value, frame: &Frame<'_>) -> Option<String> {
    let unrecognized = |kind: &str| Some(format!("unrecognized type: {kind}"));
    let unconverted = |kind: &str| Some(format!("cannot convert {} to {kind}", go_kind(value)));
    match (ty, value) {
        (Type::String | Type::Enum(_), Value::String(_)) | (Type::Bool, Value::Bool(_)) => None,
        // Go converts integers to strings; JSON does not.
        (Type::String | Type::Enum(_), Value::Int(_)) => unconverted(&types::name(ty, frame.field())),
        (Type::String | Type::Enum(_), _) => unrecognized("string"),
        (Type::Bool, _) => unrecognized("bool"),
        (Type::Int32 | Type::Int64 | Type::Float64, Value::Int(_)) | (Type::Float64, Value::Float(_)) => None,
        (Type::Int32 | Type::Int64, Value::Float(float)) if float.fract() == 0.0 => None,
        (Type::Int32, Value::Float(_)) => unconverted("int32"),
        (Type::Int64, Value::Float(_)) => unconverted("int64"),
        (Type::Int32, _) => unrecognized("int32"),
        (Type::Int64, _) => unrecognized("int64"),
        (Type::Float64, _) => unrecognized("float64"),
        (Type::Bytes, Value::String(text)) => {
            base64::decode(text).err().map(|error| format!("error decoding from json: {error}"))
        }
        (Type::List(_) | Type::Bytes | Type::Struct(_), _) => {
            Some(format!("cannot restore slice from {}", go_kind(value)))
        }
        (Type::Map(_), _) => Some(format!("cannot restore map from {}", go_kind(value))),
        _ => None,
    }
}
