//! Whether two values mean the same to an update: unchanged values are not validated again.

use pintle_schema::{Map, Str, Value};
use std::collections::HashMap;

/// Whether two canonical values mean the same: an empty list is an absent one. Canonical values omit empty maps
/// without a meaning, so a present one is a struct that was sent without fields.
#[inline(always)]
pub fn same(a: &Value, b: &Value) -> bool {
    // Most values are leaves: they are compared inline.
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Map(a), Value::Map(b)) => same_maps(a.entries(), b.entries()),
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::List(a), Value::List(b)) => same_lists(a, b),
        (a, b) => same_otherwise(a, b),
    }
}

#[inline(never)]
fn same_otherwise(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::List(items)) | (Value::List(items), Value::Null) => items.is_empty(),
        (a, b) => a == b,
    }
}

#[inline(never)]
fn same_lists(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

#[inline(never)]
fn same_maps(a: &[Entry], b: &[Entry]) -> bool {
    // Canonical values have their keys in one order; entries differ only in omitted ones.
    let (mut rest_of_a, mut rest_of_b) = (a.iter(), b.iter());
    loop {
        let (left, right) = (rest_of_a.as_slice(), rest_of_b.as_slice());
        match (rest_of_a.next(), rest_of_b.next()) {
            (Some((x, v)), Some((y, w))) if is_same_key(x, y) => {
                if !same(v, w) {
                    return false;
                }
            }
            (None, None) => return true,
            _ => return same_entries(left, right),
        }
    }
}

/// Keys of one schema usually share their text.
#[inline]
fn is_same_key(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.as_ptr() == b.as_ptr() || a == b)
}

/// Whether a field of two objects means the same.
pub fn same_at(a: &Value, b: &Value, field: &str) -> bool {
    same(a.get(field).unwrap_or(&Value::Null), b.get(field).unwrap_or(&Value::Null))
}

/// Visits the keys at which two maps do not mean the same; other values have no keys.
pub(crate) fn each_difference(a: &Value, b: &Value, mut visit: impl FnMut(&str)) {
    let [a, b] = [a, b].map(|map| map.as_map().map_or(&[][..], Map::entries));
    let (mut next, mut common) = (0, 0);
    let mut places = KeyIndex::of(b);
    for (key, value) in a {
        // Both usually have the same keys in the same order.
        let place = match b.get(next) {
            Some((other, _)) if is_same_key(key, other) => Some(next),
            _ => places.find(key),
        };
        if let Some((at, (_, other))) = place.and_then(|at| Some((at, b.get(at)?))) {
            (next, common) = (at + 1, common + 1);
            if !same(value, other) {
                visit(key);
            }
        } else if !same(value, &Value::Null) {
            visit(key);
        }
    }
    if common < b.len() {
        let mut places = KeyIndex::of(a);
        let gone = |entry: &&Entry| places.find(&entry.0).is_none() && !same(&entry.1, &Value::Null);
        b.iter().filter(gone).for_each(|(key, _)| visit(key));
    }
}

type Entry = (Str, Value);

fn same_entries(a: &[Entry], b: &[Entry]) -> bool {
    let (mut in_a, mut in_b) = (KeyIndex::of(a), KeyIndex::of(b));
    a.iter().all(|(key, value)| match in_b.find(key).and_then(|at| b.get(at)) {
        Some((_, other)) => same(value, other),
        None => same(value, &Value::Null),
    }) && b.iter().all(|(key, value)| in_a.find(key).is_some() || same(value, &Value::Null))
}

/// The number of entries up to which a lookup scans them.
const FEW: usize = 24;

/// The positions of the keys of a map. The index of a large one is built on first use: two maps of a hundred thousand
/// keys may have none in common.
pub(crate) struct KeyIndex<'a> {
    entries: &'a [Entry],
    index: Option<HashMap<&'a str, usize>>,
}

impl<'a> KeyIndex<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        KeyIndex { entries, index: None }
    }

    /// Those of a value; values other than maps have no keys.
    pub(crate) fn of_value(value: Option<&'a Value>) -> Self {
        KeyIndex::of(value.and_then(Value::as_map).map_or(&[][..], Map::entries))
    }

    pub(crate) fn get(&mut self, key: &str) -> Option<&'a Value> {
        let at = self.find(key)?;
        self.entries.get(at).map(|(_, value)| value)
    }

    fn find(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() <= FEW {
            return self.entries.iter().position(|(other, _)| is_same_key(key, other));
        }
        let entries = self.entries;
        let index = || entries.iter().enumerate().map(|(at, (key, _))| (key.as_str(), at)).collect();
        self.index.get_or_insert_with(index).get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{each_difference, same};
    use pintle_schema::value;

    #[test]
    fn what_is_empty_is_absent() {
        assert!(same(&value!({"a": 1, "b": []}), &value!({"a": 1})));
        assert!(same(&value!({"a": 1, "b": null}), &value!({"a": 1})));
        assert!(!same(&value!({"a": 1, "b": {}}), &value!({"b": null, "a": 1})));
        assert!(!same(&value!({"a": 1, "b": [1]}), &value!({"a": 1})));
        assert!(!same(&value!({"a": {"b": 1}}), &value!({"a": {"b": 2}})));
        assert!(!same(&value!([1, 2]), &value!([2, 1])));
    }

    #[test]
    fn differences_are_told_by_key() {
        let keys = |a, b| {
            let mut keys = Vec::new();
            each_difference(&a, &b, |key| keys.push(key.to_owned()));
            keys
        };
        let old = value!({"a": 1, "b": {"c": 1}, "d": [1], "e": 2});
        assert_eq!(keys(old.clone(), old.clone()), [""; 0]);
        assert_eq!(keys(value!({"e": 2, "d": [1], "b": {"c": 1}, "a": 1}), old.clone()), [""; 0]);
        assert_eq!(keys(value!({"a": 1, "b": {"c": 2}, "f": 1, "e": 2}), old.clone()), ["b", "f", "d"]);
        assert_eq!(keys(old, value!(null)), ["a", "b", "d", "e"]);
        assert_eq!(keys(value!({"a": []}), value!({"b": []})), [""; 0]);
    }

    #[test]
    fn an_empty_struct_is_there() {
        assert!(same(&value!({"a": {"b": 1, "c": 2}}), &value!({"a": {"c": 2, "b": 1}})));
        assert!(!same(&value!({"a": 1, "b": {}}), &value!({"a": 1})));
        assert!(!same(&value!({"a": 1}), &value!({"a": 1, "b": {"c": {}}})));
    }
}
