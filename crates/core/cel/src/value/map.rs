//! `Map`: the entries of an object, of a map in an object, or of a map literal.
//!
//! Looking a key up takes constant time in a large map. Numbers of different types that are equal are the same key.

use super::{Text, Value, read};
use crate::error::EvalError;
use crate::schema::{Decl, Shape, unescape};
use pintle_schema::{Map as DataMap, Str};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries up to which a scan is faster than hashing.
const SCANNED_ENTRIES: usize = 8;

/// A map, or an object read from data.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// Of an object, with its declaration if a schema describes it.
    Data(&'a DataMap, Option<&'a Decl>),
    /// Made by evaluation.
    Entries(Arc<Entries<'a>>),
}

/// A key in the form that equal keys share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Null,
    Bool(bool),
    /// Integers of both types.
    Int(i128),
    /// The bits of a number that is no integer.
    Double(u64),
    String(Str),
    Duration(i64),
}

impl Key {
    /// The key that a value is; `None` for what never equals another key.
    pub fn of(value: &Value<'_>) -> Option<Key> {
        Some(match value {
            Value::Null => Key::Null,
            Value::Bool(b) => Key::Bool(*b),
            Value::Int(i) => Key::Int((*i).into()),
            Value::Uint(u) => Key::Int((*u).into()),
            Value::Double(d) if d.is_nan() => return None,
            Value::Double(d) if d.fract() == 0.0 && *d >= -9.3e18 && *d <= 1.9e19 => Key::Int(*d as i128),
            Value::Double(d) => Key::Double(d.to_bits()),
            Value::String(text) => Key::String(text.to_shared()),
            Value::Duration(duration) => Key::Duration(duration.nanos),
            _ => return None,
        })
    }
}

/// The entries of a map that evaluation made.
#[derive(Clone, Debug, Default)]
pub struct Entries<'a> {
    list: Vec<(Value<'a>, Value<'a>)>,
    /// What any other key gives.
    default: Option<Box<Value<'a>>>,
    index: HashMap<Key, usize>,
    /// Whether keys may be given as identifiers.
    takes_identifiers: bool,
}

impl<'a> Entries<'a> {
    /// Entries of which the last counts when a key is given twice.
    pub fn new(entries: Vec<(Value<'a>, Value<'a>)>) -> Result<Self, EvalError> {
        let list = Vec::with_capacity(entries.len());
        let mut made = Entries { list, default: None, index: HashMap::new(), takes_identifiers: false };
        for (key, value) in entries {
            made.set(key, value);
        }
        Ok(made)
    }

    /// Gives keys that are not there a value when they are looked up.
    pub fn with_default(mut self, default: Value<'a>) -> Self {
        self.default = Some(Box::new(default));
        self
    }

    /// Looks a key with an escape (`a__dot__b`) up as the name that it stands for.
    pub fn taking_identifiers(mut self) -> Self {
        self.takes_identifiers = true;
        self
    }

    /// Sets a key.
    pub fn set(&mut self, key: Value<'a>, value: Value<'a>) {
        match self.position(&key) {
            Some(at) => self.list[at].1 = value,
            None => {
                if self.list.len() == SCANNED_ENTRIES {
                    let keys = self.list.iter().enumerate();
                    self.index = keys.filter_map(|(at, (key, _))| Some((Key::of(key)?, at))).collect();
                }
                if self.list.len() >= SCANNED_ENTRIES
                    && let Some(key) = Key::of(&key)
                {
                    self.index.insert(key, self.list.len());
                }
                self.list.push((key, value));
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let name = match key {
            Value::String(text) if self.takes_identifiers => unescaped(text.as_str()),
            _ => None,
        };
        let position = match &name {
            Some(name) => self.position(&Value::String(Text::Borrowed(name))),
            None => self.position(key),
        };
        match position {
            Some(at) => self.list.get(at).map(|(_, value)| value),
            None => self.default.as_deref(),
        }
    }

    fn position(&self, key: &Value<'_>) -> Option<usize> {
        if self.list.len() <= SCANNED_ENTRIES {
            if let Value::String(text) = key {
                return self.list.iter().position(|(other, _)| other.as_str() == Some(text.as_str()));
            }
            let key = Key::of(key)?;
            return self.list.iter().position(|(other, _)| Key::of(other).as_ref() == Some(&key));
        }
        self.index.get(&Key::of(key)?).copied()
    }

    /// The entries in the order they were given.
    pub fn iter(&self) -> impl Iterator<Item = &(Value<'a>, Value<'a>)> {
        self.list.iter()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The name that an identifier with escapes stands for.
fn unescaped(identifier: &str) -> Option<String> {
    match unescape(identifier)? {
        std::borrow::Cow::Owned(name) if name != identifier => Some(name),
        _ => None,
    }
}

impl<'a> Map<'a> {
    /// The number of entries, of an object those included that its schema does not name.
    pub fn len(&self) -> usize {
        match self {
            Map::Data(map, _) => map.len(),
            Map::Entries(entries) => entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key, `None` when absent. Of an object with declared fields the key is an escaped name, and null
    /// is absence.
    pub fn get(&self, key: &Value<'_>) -> Option<Result<Value<'a>, EvalError>> {
        match self {
            Map::Entries(entries) => entries.get(key).cloned().map(Ok),
            Map::Data(map, decl) => match key {
                Value::String(key) => get_data(map, *decl, key),
                _ if decl.is_some() => Some(Err(EvalError::no_overload())),
                _ => None,
            },
        }
    }

    /// The value of a string key.
    pub fn get_str(&self, key: &str) -> Option<Result<Value<'a>, EvalError>> {
        match self {
            Map::Entries(entries) => entries.get(&Value::String(Text::Borrowed(key))).cloned().map(Ok),
            Map::Data(map, decl) => get_data(map, *decl, key),
        }
    }

    /// The keys that can be looked up.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Entries(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Map::Data(map, decl) => {
                let fields = decl.and_then(Decl::fields);
                map.keys()
                    .filter_map(|name| match fields {
                        None => match decl.map(|decl| &decl.shape) {
                            Some(Shape::Map { .. }) | None => Some(Value::String(Text::Borrowed(name))),
                            _ => None,
                        },
                        Some(fields) => {
                            let field = fields.by_name(name)?;
                            Some(Value::String(Text::Borrowed(field.escaped.as_deref().unwrap_or(&field.name))))
                        }
                    })
                    .collect()
            }
        }
    }
}

fn get_data<'a>(map: &'a DataMap, decl: Option<&'a Decl>, key: &str) -> Option<Result<Value<'a>, EvalError>> {
    let Some(decl) = decl else {
        return map.get(key).map(|value| read::read(value, None));
    };
    match &decl.shape {
        Shape::Map { values } => map.get(key).map(|value| read::read(value, Some(values))),
        Shape::Object { fields } => {
            let field = fields.by_escaped(key)?;
            match map.get(&field.name)? {
                pintle_schema::Value::Null => None,
                value => Some(read::read(value, Some(&field.decl))),
            }
        }
        _ => None,
    }
}
