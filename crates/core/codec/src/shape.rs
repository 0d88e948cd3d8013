//! The position of a decoder and its errors: field paths, Go's type names, rejections.
//! Guarantees that frames live on the decoder's stack and cost nothing until there is an error.

use crate::compat::types;
use crate::error::{DecodeError, StrictProblem};
use crate::json::encode::write_float;
use crate::json::keys::KeyIndex;
use crate::json::scan::Start;
use crate::{Strictness, limits};
use pintle_schema::{Duration, Form, Map, MicroTime, Quantity, Str, Struct, Time, Type, Value, base64};
use std::borrow::Cow;

/// One level of an object.
#[derive(Clone, Copy)]
pub(crate) enum Frame<'a> {
    Root,
    Field { parent: &'a Frame<'a>, owner: &'a Struct, name: &'a str },
    Item { parent: &'a Frame<'a>, at: usize },
    Key { parent: &'a Frame<'a>, key: &'a str },
}

impl Frame<'_> {
    /// The path in strict decoding errors: `spec.containers[0].name`.
    pub(crate) fn path(&self, out: &mut String) {
        match self {
            Frame::Root => {}
            Frame::Field { parent, name: key, .. } | Frame::Key { parent, key } => {
                parent.path(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Frame::Item { parent, at } => {
                parent.path(out);
                out.push_str(&format!("[{at}]"));
            }
        }
    }

    /// The path of a key below this position.
    pub(crate) fn path_to(&self, key: &str) -> String {
        let mut path = String::new();
        self.path(&mut path);
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        path
    }

    /// The innermost field, above lists and maps.
    pub(crate) fn field(&self) -> Option<(&Struct, &str)> {
        match self {
            Frame::Root => None,
            // kube-apiserver decodes the fields of an unstructured object one by one.
            Frame::Field { owner, .. } if owner.preserve_unknown => None,
            Frame::Field { owner, name, .. } => Some((owner, name)),
            Frame::Item { parent, .. } | Frame::Key { parent, .. } => parent.field(),
        }
    }

    /// The top-level field that contains this position.
    pub(crate) fn outermost(&self) -> Option<(&Struct, &str)> {
        match self {
            Frame::Root => None,
            Frame::Field { parent, owner, name } => parent.outermost().or(Some((owner, name))),
            Frame::Item { parent, .. } | Frame::Key { parent, .. } => parent.outermost(),
        }
    }

    /// Whether this is in an object that kube-apiserver decodes as a tree, from which it reads the typed fields.
    pub(crate) fn is_in_tree(&self) -> bool {
        self.outermost().is_some_and(|(owner, _)| owner.preserve_unknown)
    }

    /// The path in Go's type errors: fields only, inlined structs by their Go names.
    fn go_path(&self, out: &mut String) {
        match self {
            Frame::Root => {}
            Frame::Field { owner, .. } if owner.preserve_unknown => {}
            Frame::Field { parent, owner, name } => {
                parent.go_path(out);
                let mut inlined = Vec::new();
                find_inlined(owner, name, &mut inlined);
                for step in inlined.into_iter().chain([*name]) {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(step);
                }
            }
            Frame::Item { parent, .. } | Frame::Key { parent, .. } => parent.go_path(out),
        }
    }
}

/// The inlined structs that contain a field, outermost first.
fn find_inlined<'a>(owner: &'a Struct, name: &str, steps: &mut Vec<&'a str>) -> bool {
    if owner.fields.iter().any(|field| !field.inline && field.name.as_str() == name) {
        return true;
    }
    for inlined in owner.fields.iter().filter(|field| field.inline).filter_map(|field| field.ty.as_struct()) {
        steps.push(inlined.name.as_str());
        if find_inlined(inlined, name, steps) {
            return true;
        }
        steps.pop();
    }
    false
}

/// A scalar as it was written, or the kind of another value.
pub(crate) enum Written<'a> {
    Bool(bool),
    /// The literal.
    Number(&'a str),
    String(Cow<'a, str>),
    Array,
    Object,
}

impl Written<'_> {
    fn start(&self) -> Start {
        match self {
            Written::Bool(_) => Start::True,
            Written::Number(_) => Start::Number,
            Written::String(_) => Start::String,
            Written::Array => Start::Array,
            Written::Object => Start::Object,
        }
    }
}

/// Errors of a decoder: Go continues after most, and reports the first; some end decoding and take precedence.
#[derive(Default)]
pub(crate) struct DecodeErrors {
    first: Option<DecodeError>,
    last_word: Option<DecodeError>,
}

impl DecodeErrors {
    /// Records an error if it is the first; only then it is formatted.
    pub(crate) fn note(&mut self, error: impl FnOnce() -> DecodeError) {
        self.first.get_or_insert_with(error);
    }

    pub(crate) fn end_with(&mut self, error: DecodeError) {
        self.last_word.get_or_insert(error);
    }

    pub(crate) fn take(&mut self) -> Option<DecodeError> {
        self.last_word.take().or(self.first.take())
    }

    /// Runs a custom decoder of Go: its error ends the outer one.
    pub(crate) fn nest(&mut self) -> DecodeErrors {
        std::mem::take(self)
    }

    pub(crate) fn unnest(&mut self, mut outer: DecodeErrors) {
        if let Some(error) = self.take() {
            outer.end_with(error);
        }
        *self = outer;
    }
}

/// Unknown and duplicate fields, as many as kube-apiserver lists and each once.
#[derive(Default)]
pub(crate) struct Problems {
    pub(crate) wanted: bool,
    pub(crate) list: Vec<StrictProblem>,
    /// The size of all texts formatted so far, including duplicates.
    written: usize,
}

impl Problems {
    pub(crate) fn new(strictness: Strictness) -> Self {
        Problems { wanted: strictness == Strictness::Collect, ..Problems::default() }
    }

    /// Records a problem, which is formatted only if there is room: each text may be as long as the input.
    #[cold]
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> StrictProblem) {
        let has_room = self.list.len() < limits::STRICT_PROBLEMS && self.written < limits::STRICT_PROBLEM_BYTES;
        if !self.wanted || !has_room {
            return;
        }
        let problem = problem();
        self.written += problem.text().len();
        if !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }
}

/// `2006-01-02T15:04:05Z`: a text of this length and end is canonical.
const SECONDS_LENGTH: usize = 20;
/// `2006-01-02T15:04:05.000000Z`
const MICROS_LENGTH: usize = 27;

/// The value of a scalar of a type, `Null` if it is rejected.
pub(crate) fn scalar(ty: &Type, written: Written<'_>, frame: &Frame<'_>, refusals: &mut DecodeErrors) -> Value {
    let wrong_type = |refusals: &mut DecodeErrors| {
        if let Written::Number(literal) = &written
            && is_infinite(literal)
            && frame.is_in_tree()
        {
            return ended(DecodeError::infinite(literal), refusals);
        }
        refusals.note(|| unmarshal_error(written.start().word(), &types::name(ty, frame.field()), frame));
        Value::Null
    };
    match (ty, &written) {
        (Type::String | Type::Enum(_), Written::String(text)) => Value::String(Str::new(text)),
        (Type::Bool, Written::Bool(value)) => Value::Bool(*value),
        (Type::Int32, Written::Number(literal)) => match literal.parse::<i32>() {
            Ok(int) => Value::Int(int.into()),
            Err(_) => wrong_number(refusals, literal, "int32", frame),
        },
        (Type::Int64, Written::Number(literal)) => match literal.parse::<i64>() {
            Ok(int) => Value::Int(int),
            Err(_) if frame.is_in_tree() => int_of_tree(literal, frame, refusals),
            Err(_) => wrong_number(refusals, literal, "int64", frame),
        },
        (Type::Float64, Written::Number(literal)) => match literal.parse::<f64>() {
            Ok(float) if float.is_finite() => Value::Float(float),
            _ => wrong_number(refusals, literal, "float64", frame),
        },
        (Type::Bytes, Written::String(text)) => match base64::decode(text) {
            Ok(bytes) => Value::from(base64::encode(&bytes)),
            Err(error) => {
                refusals.note(|| DecodeError::Format(error.to_string()));
                Value::Null
            }
        },
        (Type::IntOrString, Written::String(text)) => Value::String(Str::new(text)),
        (Type::IntOrString, Written::Number(literal)) => match literal.parse::<i32>() {
            Ok(int) => Value::Int(int.into()),
            Err(_) => ended(unmarshal_error(&format!("number {literal}"), "int32", frame), refusals),
        },
        (Type::IntOrString, _) => ended(unmarshal_error(written.start().word(), "int32", frame), refusals),
        (Type::Quantity, written) => {
            let text = match written {
                Written::Bool(true) => "true",
                Written::Bool(false) => "false",
                Written::Number(literal) => literal,
                Written::String(text) => text.trim(),
                Written::Array => "[]",
                Written::Object => "{}",
            };
            match Quantity::parse(text) {
                Ok(quantity) => Value::String(quantity.into_str()),
                Err(error) => ended(DecodeError::Format(error.to_string()), refusals),
            }
        }
        (Type::Time, Written::String(text)) => match Time::parse(text) {
            Ok(time) if time.is_zero() => Value::NO_TIME,
            Ok(_) if text.len() == SECONDS_LENGTH && text.ends_with('Z') => Value::String(Str::new(text)),
            Ok(time) => Value::from(time.to_rfc3339()),
            Err(error) => ended(DecodeError::Format(error.to_string()), refusals),
        },
        (Type::MicroTime, Written::String(text)) => match MicroTime::parse(text) {
            Ok(time) if time.is_zero() => Value::NO_TIME,
            Ok(_) if text.len() == MICROS_LENGTH && text.ends_with('Z') => Value::String(Str::new(text)),
            Ok(time) => Value::from(time.to_rfc3339()),
            Err(error) => ended(DecodeError::Format(error.to_string()), refusals),
        },
        (Type::Duration, Written::String(text)) => match Duration::parse(text) {
            Ok(duration) => Value::from(duration.to_string()),
            Err(error) => ended(DecodeError::Format(error.to_string()), refusals),
        },
        (Type::Time | Type::MicroTime | Type::Duration, _) => {
            ended(unmarshal_error(written.start().word(), "string", frame), refusals)
        }
        _ => wrong_type(refusals),
    }
}

/// An integer of a tree, in which every number that is not written as one is a float: it is one still if it prints as one.
#[cold]
fn int_of_tree(literal: &str, frame: &Frame<'_>, refusals: &mut DecodeErrors) -> Value {
    match literal.parse::<f64>() {
        Ok(float) if float.is_finite() => {
            let mut printed = Vec::new();
            write_float(float, &mut printed);
            let printed = String::from_utf8_lossy(&printed);
            match printed.parse::<i64>() {
                Ok(int) => Value::Int(int),
                Err(_) => wrong_number(refusals, &printed, "int64", frame),
            }
        }
        _ => ended(DecodeError::infinite(literal), refusals),
    }
}

/// Whether a number is beyond the range of floats.
pub(crate) fn is_infinite(literal: &str) -> bool {
    literal.parse::<f64>().is_ok_and(|float| float.is_infinite())
}

/// Bytes written as an array of numbers, which Go also accepts.
pub(crate) fn bytes_of(items: &[Value], frame: &Frame<'_>, refusals: &mut DecodeErrors) -> Value {
    let mut bytes = Vec::with_capacity(items.len());
    for item in items {
        let refused = match item {
            Value::Null => {
                bytes.push(0);
                continue;
            }
            Value::Int(int) => match u8::try_from(*int) {
                Ok(byte) => {
                    bytes.push(byte);
                    continue;
                }
                Err(_) => format!("number {int}"),
            },
            Value::Float(float) => format!("number {float}"),
            other => other.json_kind().to_owned(),
        };
        refusals.note(|| unmarshal_error(&refused, "uint8", frame));
    }
    Value::from(base64::encode(&bytes))
}

#[cold]
fn ended(error: DecodeError, refusals: &mut DecodeErrors) -> Value {
    refusals.end_with(error);
    Value::Null
}

#[cold]
fn wrong_number(refusals: &mut DecodeErrors, literal: &str, go_type: &str, frame: &Frame<'_>) -> Value {
    refusals.note(|| unmarshal_error(&format!("number {literal}"), go_type, frame));
    Value::Null
}

/// `json: cannot unmarshal ...`, with the field if there is one.
#[cold]
pub(crate) fn unmarshal_error(value: &str, go_type: &str, frame: &Frame<'_>) -> DecodeError {
    let mut path = String::new();
    frame.go_path(&mut path);
    DecodeError::WrongType(match frame.field() {
        Some((owner, _)) => {
            format!(
                "json: cannot unmarshal {value} into Go struct field {}.{path} of type {go_type}",
                owner.name.as_str()
            )
        }
        None => format!("json: cannot unmarshal {value} into Go value of type {go_type}"),
    })
}

/// What a value means that is none of the forms of a union: one of a schema or a list of them is there, with neither.
pub(crate) fn neither(union: &Struct) -> Value {
    if union.form == Form::PropsOrArray { Value::List(Vec::new()) } else { Value::Null }
}

/// The meaning of `null` as an item of a list or a value of a map.
pub(crate) fn null_item(ty: &Type) -> Value {
    match ty {
        Type::Struct(schema) if schema.form == Form::Plain => Value::map(),
        Type::Bytes | Type::Struct(_) => Value::Null,
        _ => pintle_schema::zero(ty),
    }
}

/// The value of a duplicate field: Go decodes the second one into the first one's result. Maps contain both at first,
/// see [`settle_again`].
pub(crate) fn merge_again(ty: &Type, first: &mut Value, second: Value) {
    match (ty, first, second) {
        (Type::Struct(schema), Value::Map(first), Value::Map(second)) if schema.form == Form::Plain => {
            for (key, value) in second {
                match (schema.field(&key), first.get_mut(&key)) {
                    (Some(field), Some(slot)) => merge_again(&field.ty, slot, value),
                    _ => {
                        first.set(key, value);
                    }
                }
            }
        }
        (Type::Map(_), Value::Map(first), Value::Map(second)) => first.entries_mut().extend(second),
        // Scalars ignore null; nullable Go types are set to nil.
        (Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 | Type::String | Type::Enum(_), _, Value::Null) => {}
        (_, first, second) => *first = second,
    }
}

/// Completes [`merge_again`]: duplicate keys of maps keep their first position and their last value. Done once for
/// all duplicates of a field, so that decoding takes linear time.
pub(crate) fn settle_again(ty: &Type, value: &mut Value) {
    match (ty, value) {
        (Type::Struct(schema), Value::Map(fields)) if schema.form == Form::Plain => {
            for (key, value) in fields.iter_mut() {
                if let Some(field) = schema.field(key) {
                    settle_again(&field.ty, value);
                }
            }
        }
        (Type::Map(_), Value::Map(map)) => keep_last(map),
        _ => {}
    }
}

/// Keeps each key of a map once: at its first position, with its last value.
pub(crate) fn keep_last(map: &mut Map) {
    let mut index = KeyIndex::default();
    let mut kept: Vec<(Str, Value)> = Vec::with_capacity(map.len());
    for (key, value) in std::mem::take(map.entries_mut()) {
        match index.find(&kept, &key).and_then(|at| kept.get_mut(at)) {
            Some((_, slot)) => *slot = value,
            None => kept.push((key, value)),
        }
    }
    *map.entries_mut() = kept;
}
