//! `Value`: what expressions are evaluated to.
//!
//! Lists, maps and strings of an object are read in place: a value borrows the object and its schema. Values that
//! evaluation makes are shared, so that cloning is cheap. Nothing here copies an object.

mod equal;
mod list;
mod map;
mod opaque;
mod raw;
mod read;
mod shown;
mod text;
mod time;
mod write;

pub use equal::compare;
pub(crate) use equal::{contains, contains_within};
pub use list::List;
pub use map::{Entries, Key, Map};
pub use opaque::Opaque;
pub(crate) use raw::Scope;
pub use text::Text;
pub use time::{Duration, Timestamp};

use crate::ast::Literal;
use crate::types::{OPTIONAL, Type};
use pintle_schema::Str;
use std::sync::Arc;

/// A value. `'a` is the life of the objects it may be read from.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    Duration(Duration),
    Timestamp(Timestamp),
    Type(Type),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Value<'a>>>),
    /// An object that an expression made: `Object{spec: ...}`.
    Struct(Arc<Struct<'a>>),
    /// A library's value.
    Opaque(Arc<dyn Opaque>),
    /// Data that no schema describes, kept for equality alone.
    Preserved(&'a pintle_schema::Value),
}

/// An object that an expression made.
#[derive(Clone, Debug)]
pub struct Struct<'a> {
    pub name: Str,
    pub fields: Vec<(Str, Value<'a>)>,
}

impl<'a> Struct<'a> {
    /// The value of a field that was given.
    pub fn get(&self, field: &str) -> Option<&Value<'a>> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }
}

impl<'a> Value<'a> {
    /// A string, shared.
    pub fn string(text: impl Into<Str>) -> Value<'a> {
        Value::String(Text::Shared(text.into()))
    }

    /// A list of elements.
    pub fn list(elements: Vec<Value<'a>>) -> Value<'a> {
        Value::List(List::from(elements))
    }

    /// A map of entries; of a key given twice the last counts. Keys that are no keys give an error.
    pub fn map(entries: Vec<(Value<'a>, Value<'a>)>) -> Result<Value<'a>, crate::EvalError> {
        Ok(Value::Map(Map::Entries(Arc::new(Entries::new(entries)?))))
    }

    /// A library's value.
    pub fn opaque(value: impl Opaque) -> Value<'a> {
        Value::Opaque(Arc::new(value))
    }

    /// An optional that holds a value.
    pub fn some(value: Value<'a>) -> Value<'a> {
        Value::Optional(Some(Arc::new(value)))
    }

    /// A library's value as its Rust type.
    pub fn as_opaque<T: Opaque>(&self) -> Option<&T> {
        match self {
            Value::Opaque(value) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// A string's text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// What `type()` gives. Parameters of lists, maps and optionals are not known at run time.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Uint(_) => Type::Uint,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            Value::Duration(_) => Type::Duration,
            Value::Timestamp(_) => Type::Timestamp,
            Value::Type(_) => Type::Type(None),
            Value::List(_) => Type::list(Type::Dyn),
            Value::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Value::Optional(_) => Type::optional(Type::Dyn),
            Value::Struct(object) => Type::Struct(object.name.clone()),
            Value::Opaque(value) => value.type_of(),
            Value::Preserved(_) => Type::Opaque(Str::new_static("unknown"), Arc::from([])),
        }
    }

    /// The name of its type, without allocating.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Type(_) => "type",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Optional(_) => OPTIONAL,
            Value::Struct(object) => &object.name,
            Value::Opaque(value) => value.type_name(),
            Value::Preserved(_) => "unknown",
        }
    }

    /// What `size()` gives: characters, bytes, elements or entries. `None` for what has no size.
    pub fn size(&self) -> Option<u64> {
        match self {
            Value::String(text) => Some(text.chars().count() as u64),
            Value::Bytes(bytes) => Some(bytes.len() as u64),
            Value::List(list) => Some(list.len() as u64),
            Value::Map(map) => Some(map.len() as u64),
            Value::Opaque(value) => value.size(),
            _ => None,
        }
    }

    /// The size that costs are made of: 1 for what has no size, an optional's value's.
    pub fn cost_size(&self) -> u64 {
        match self {
            Value::Optional(Some(value)) => value.cost_size(),
            other => other.size().unwrap_or(1),
        }
    }

    /// Whether it is the zero of its type, as `optional.ofNonZeroValue` asks.
    pub fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(b) => !b,
            Value::Int(i) => *i == 0,
            Value::Uint(u) => *u == 0,
            Value::Double(d) => *d == 0.0,
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::Duration(duration) => duration.nanos == 0,
            Value::Timestamp(time) => time.is_zero(),
            // What a schema describes is never taken for zero.
            Value::List(list) => list.is_empty() && list.element_decl().is_none(),
            Value::Map(Map::Data(_, Some(_))) => false,
            Value::Map(map) => map.is_empty(),
            Value::Struct(object) => object.fields.iter().all(|(_, value)| value.is_zero()),
            Value::Opaque(value) => value.is_zero(),
            Value::Optional(_) | Value::Type(_) | Value::Preserved(_) => false,
        }
    }
}

impl From<&Literal> for Value<'_> {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(b) => Value::Bool(*b),
            Literal::Int(i) => Value::Int(*i),
            Literal::Uint(u) => Value::Uint(*u),
            Literal::Double(d) => Value::Double(*d),
            Literal::String(text) => Value::string(text.clone()),
            Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
        }
    }
}
