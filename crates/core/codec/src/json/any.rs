//! Decoding of any JSON without a schema.

use super::encode;
use super::keys::KeyIndex;
use super::scan::{Scanner, Start};
use crate::error::DecodeError;
use crate::limits;
use pintle_schema::{Map, Str, Value};

/// Receives duplicate keys. `path` is relative to the beginning of decoding.
pub(crate) trait Duplicates {
    fn enter_key(&mut self, key: &str);
    fn enter_item(&mut self, at: usize);
    fn leave(&mut self);
    fn duplicate(&mut self, key: &str);

    /// How numbers are decoded.
    fn number(&mut self, literal: &str) -> Value {
        number(literal)
    }
}

/// Ignores duplicate keys.
pub(crate) struct IgnoreDuplicateKeys;

impl Duplicates for IgnoreDuplicateKeys {
    fn enter_key(&mut self, _: &str) {}
    fn enter_item(&mut self, _: usize) {}
    fn leave(&mut self) {}
    fn duplicate(&mut self, _: &str) {}
}

/// Numbers whose spelling is not canonical are kept as raw JSON.
pub(crate) struct Spelled<H>(pub H);

impl<H: Duplicates> Duplicates for Spelled<H> {
    fn enter_key(&mut self, key: &str) {
        self.0.enter_key(key);
    }

    fn enter_item(&mut self, at: usize) {
        self.0.enter_item(at);
    }

    fn leave(&mut self) {
        self.0.leave();
    }

    fn duplicate(&mut self, key: &str) {
        self.0.duplicate(key);
    }

    fn number(&mut self, literal: &str) -> Value {
        let value = number(literal);
        let mut text = Vec::new();
        encode::write(&value, encode::Escape::Plain, &mut text);
        if text == literal.as_bytes() { value } else { Value::Raw(Str::new(literal)) }
    }
}

/// Decodes the next value. The outer error is a syntax error.
pub(crate) fn value(scanner: &mut Scanner<'_>, heard: &mut impl Duplicates) -> Result<Value, DecodeError> {
    let start = scanner.start()?;
    match start {
        Start::String => scanner.string().map(|text| Value::String(Str::from(text))),
        Start::Number => scanner.number().map(|literal| heard.number(literal)),
        Start::Object => object(scanner, heard),
        Start::Array => array(scanner, heard),
        Start::Null | Start::True | Start::False => {
            scanner.word(start)?;
            Ok(match start {
                Start::Null => Value::Null,
                start => Value::Bool(start == Start::True),
            })
        }
    }
}

/// An integer if it is written as one and fits, otherwise a float; infinite beyond the range of floats.
pub(crate) fn number(literal: &str) -> Value {
    match literal.parse() {
        Ok(int) => Value::Int(int),
        Err(_) => Value::Float(literal.parse().unwrap_or(0.0)),
    }
}

fn object(scanner: &mut Scanner<'_>, heard: &mut impl Duplicates) -> Result<Value, DecodeError> {
    scanner.open(limits::TREE_DEPTH)?;
    let mut entries = Vec::new();
    let mut index = KeyIndex::default();
    let mut next = scanner.first_key()?;
    while let Some(key) = next {
        let key = Str::from(key);
        let known = index.find(&entries, &key);
        if known.is_some() {
            heard.duplicate(&key);
        }
        heard.enter_key(&key);
        let item = value(scanner, heard)?;
        heard.leave();
        match known.and_then(|at| entries.get_mut(at)) {
            Some((_, slot)) => *slot = item,
            None => entries.push((key, item)),
        }
        next = scanner.next_key()?;
    }
    Ok(Value::Map(Map::from_entries(entries)))
}

fn array(scanner: &mut Scanner<'_>, heard: &mut impl Duplicates) -> Result<Value, DecodeError> {
    scanner.open(limits::TREE_DEPTH)?;
    let mut items = Vec::new();
    let mut more = scanner.first_item()?;
    while more {
        heard.enter_item(items.len());
        items.push(value(scanner, heard)?);
        heard.leave();
        more = scanner.next_item()?;
    }
    Ok(Value::List(items))
}
