//! Correlation of new values with the stored object's values.
//!
//! Fields of objects are correlated by name, items of associative lists by their keys, items of other lists not at all. A value
//! without a counterpart is new.

use super::{Additional, Place, ValueSchema};
use pintle_schema::Value;
use std::collections::HashMap;

/// The old value, and the schema by which its parts are correlated.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    pub schema: &'a ValueSchema,
    pub old: &'a Value,
}

/// The items of an associative list by the text of their keys. Of items with the same keys the first one counts.
pub(crate) struct Index<'a> {
    schema: &'a ValueSchema,
    keys: &'a [pintle_schema::Str],
    items: HashMap<Vec<u8>, &'a Value>,
}

impl<'a> Correlated<'a> {
    /// The field of an object. Type and version of the whole object are converted, so they are new each time.
    pub(super) fn key(self, name: &str, place: &Place<'_>) -> Option<Correlated<'a>> {
        if place.is_root() && matches!(name, "kind" | "apiVersion") {
            return None;
        }
        self.field(name)
    }

    /// The field of an object.
    pub fn field(self, name: &str) -> Option<Correlated<'a>> {
        let schema = self.schema.property(name).or(match &self.schema.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })?;
        Some(Correlated { schema, old: self.old.as_map()?.get(name)? })
    }

    /// The items of a list, where they have keys.
    pub fn index(self) -> Option<Index<'a>> {
        let (keys, schema) = (self.schema.list_map_keys.as_deref()?, self.schema.items.as_deref()?);
        let mut items = HashMap::new();
        for item in self.old.as_list()? {
            items.entry(key_of(item, keys)).or_insert(item);
        }
        Some(Index { schema, keys, items })
    }

    /// Whether a value is the same as the old one.
    pub fn is_equal(self, value: &Value) -> bool {
        match (value, self.old) {
            (Value::List(new), Value::List(old)) if new.len() == old.len() => match self.index() {
                Some(index) => new.iter().all(|item| index.find(item).is_some_and(|old| old.is_equal(item))),
                None => new == old,
            },
            (Value::Map(new), Value::Map(old)) => {
                new.len() == old.len()
                    && new.iter().all(|(name, item)| self.field(name).is_some_and(|old| old.is_equal(item)))
            }
            (Value::List(_) | Value::Map(_), _) => false,
            (value, old) => value == old,
        }
    }
}

impl<'a> Index<'a> {
    pub fn find(&self, item: &Value) -> Option<Correlated<'a>> {
        let old = self.items.get(&key_of(item, self.keys))?;
        Some(Correlated { schema: self.schema, old })
    }
}

fn key_of(item: &Value, keys: &[pintle_schema::Str]) -> Vec<u8> {
    let mut text = Vec::new();
    for key in keys {
        match item.get(key) {
            Some(value) => pintle_codec::json::encode(value, &mut text),
            None => text.push(b'-'),
        }
        text.push(b'\n');
    }
    text
}
