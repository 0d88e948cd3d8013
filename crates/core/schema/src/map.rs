//! `Map`: the ordered entries of an object or a map in a value.
//! Guarantees that lookups scan a small map and hash in a large one, so that walking two large maps together takes
//! linear time.
//! Must never contain two entries with the same key. `remove` moves the later entries: use a `MapEditor` for many
//! keys.

use crate::value::{Str, Value};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::OnceLock;

/// Up to this many entries, scanning is faster than hashing: types have fewer fields than this, and most maps fewer
/// keys.
const SCANNED_ENTRIES: usize = 64;

/// An ordered list of entries with distinct keys.
#[derive(Clone, Debug, Default)]
pub struct Map(Entries);

/// A large map is behind a pointer, so that its index does not enlarge every value.
#[derive(Clone, Debug)]
enum Entries {
    Scanned(Vec<(Str, Value)>),
    Indexed(Box<Indexed>),
}

impl Default for Entries {
    fn default() -> Self {
        Entries::Scanned(Vec::new())
    }
}

#[derive(Debug, Default)]
struct Indexed {
    list: Vec<(Str, Value)>,
    /// Built by the first lookup, updated by appending and removing, dropped when the list is borrowed mutably.
    index: OnceLock<Index>,
}

impl Clone for Indexed {
    fn clone(&self) -> Self {
        Indexed { list: self.list.clone(), index: OnceLock::new() }
    }
}

/// Positions of entries by the hashes of their keys.
#[derive(Debug)]
struct Index {
    hasher: DefaultHashBuilder,
    places: HashTable<usize>,
}

impl Index {
    fn of(list: &[(Str, Value)]) -> Index {
        let mut index = Index { hasher: DefaultHashBuilder::default(), places: HashTable::with_capacity(list.len()) };
        (0..list.len()).for_each(|at| index.insert(list, at));
        index
    }

    fn insert(&mut self, list: &[(Str, Value)], at: usize) {
        let hash = |at: &usize| list.get(*at).map_or(0, |(key, _)| self.hasher.hash_one(key.as_str()));
        self.places.insert_unique(hash(&at), at, hash);
    }

    fn find(&self, list: &[(Str, Value)], key: &str) -> Option<usize> {
        let is = |at: &usize| list.get(*at).is_some_and(|(other, _)| other == key);
        self.places.find(self.hasher.hash_one(key), is).copied()
    }
}

impl PartialEq for Map {
    /// Whether entries are equal in the same order. Equal keys of one schema usually share their text.
    fn eq(&self, other: &Map) -> bool {
        let is_same = |a: &str, b: &str| a.len() == b.len() && (a.as_ptr() == b.as_ptr() || a == b);
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| is_same(a.0, b.0) && a.1 == b.1)
    }
}

impl Map {
    pub fn new() -> Self {
        Map::default()
    }

    pub fn with_capacity(entries: usize) -> Self {
        Map(Entries::Scanned(Vec::with_capacity(entries)))
    }

    /// Creates a map of entries whose keys the caller knows to be distinct.
    pub fn from_entries(entries: Vec<(Str, Value)>) -> Self {
        match entries.len() {
            0..=SCANNED_ENTRIES => Map(Entries::Scanned(entries)),
            _ => Map(Entries::Indexed(Box::new(Indexed { list: entries, index: OnceLock::new() }))),
        }
    }

    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.0 {
            Entries::Scanned(list) => {
                // Most keys differ in length; keys of a schema usually share their text with the one requested.
                let is = |other: &str| other.len() == key.len() && (other.as_ptr() == key.as_ptr() || other == key);
                list.iter().find(|(other, _)| is(other)).map(|(_, value)| value)
            }
            Entries::Indexed(indexed) => indexed.get(key),
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.position(key)?;
        self.list_mut().get_mut(at).map(|(_, value)| value)
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Replaces the value of a key, or appends it; returns the previous value.
    pub fn set(&mut self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(slot) => Some(std::mem::replace(slot, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    /// Appends an entry whose key the caller knows to be absent.
    pub fn push(&mut self, key: Str, value: Value) {
        match &mut self.0 {
            Entries::Scanned(list) if list.len() < SCANNED_ENTRIES => list.push((key, value)),
            Entries::Scanned(list) => {
                let mut list = std::mem::take(list);
                list.push((key, value));
                *self = Map::from_entries(list);
            }
            Entries::Indexed(indexed) => indexed.push(key, value),
        }
    }

    /// Removes a key in time proportional to the size of the map.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        match &mut self.0 {
            Entries::Scanned(list) => Some(list.remove(at).1),
            Entries::Indexed(indexed) => Some(indexed.remove(at)),
        }
    }

    /// The value of a key, inserted as `Null` if it is absent.
    pub fn entry(&mut self, key: &str) -> &mut Value {
        let at = match self.position(key) {
            Some(at) => at,
            None => {
                self.push(Str::new(key), Value::Null);
                self.len() - 1
            }
        };
        &mut self.list_mut()[at].1
    }

    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Str, &Value)> + ExactSizeIterator {
        self.entries().iter().map(|(k, v)| (k, v))
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Str, &mut Value)> {
        self.list_mut().iter_mut().map(|(k, v)| (&*k, v))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Str> {
        self.entries().iter().map(|(k, _)| k)
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.entries().iter().map(|(_, v)| v)
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&Str, &mut Value) -> bool) {
        self.entries_mut().retain_mut(|(k, v)| keep(k, v));
    }

    /// The entries, for code that reorders or rebuilds them.
    pub fn entries_mut(&mut self) -> &mut Vec<(Str, Value)> {
        match &mut self.0 {
            Entries::Scanned(list) => list,
            Entries::Indexed(indexed) => {
                indexed.index = OnceLock::new();
                &mut indexed.list
            }
        }
    }

    #[inline]
    pub fn entries(&self) -> &[(Str, Value)] {
        match &self.0 {
            Entries::Scanned(list) => list,
            Entries::Indexed(indexed) => &indexed.list,
        }
    }

    /// The entries, for a caller that does not change their keys.
    fn list_mut(&mut self) -> &mut [(Str, Value)] {
        match &mut self.0 {
            Entries::Scanned(list) => list,
            Entries::Indexed(indexed) => &mut indexed.list,
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.0 {
            Entries::Scanned(list) => list.iter().position(|(other, _)| other == key),
            Entries::Indexed(indexed) => indexed.position(key),
        }
    }
}

impl Indexed {
    fn position(&self, key: &str) -> Option<usize> {
        self.index.get_or_init(|| Index::of(&self.list)).find(&self.list, key)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.list.get(self.position(key)?).map(|(_, value)| value)
    }

    fn remove(&mut self, at: usize) -> Value {
        let Indexed { list, index } = self;
        let (key, value) = list.remove(at);
        if let Some(index) = index.get_mut() {
            if let Ok(entry) = index.places.find_entry(index.hasher.hash_one(key.as_str()), |place| *place == at) {
                entry.remove();
            }
            index.places.iter_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
        }
        value
    }

    fn push(&mut self, key: Str, value: Value) {
        self.list.push((key, value));
        if let Some(index) = self.index.get_mut() {
            index.insert(&self.list, self.list.len() - 1);
        }
    }
}

impl IntoIterator for Map {
    type Item = (Str, Value);
    type IntoIter = std::vec::IntoIter<(Str, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            Entries::Scanned(list) => list.into_iter(),
            Entries::Indexed(indexed) => indexed.list.into_iter(),
        }
    }
}

impl FromIterator<(Str, Value)> for Map {
    /// Later entries replace earlier ones with the same key.
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(entries: I) -> Self {
        let mut map = Map::new();
        for (key, value) in entries {
            map.set(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on maps of all sizes around the limit, compared with a plain list of entries.
    #[test]
    fn small_and_large_maps_behave_alike() {
        for size in (0..=3).chain(SCANNED_ENTRIES - 2..=SCANNED_ENTRIES + 3).chain([500]) {
            let key = |at: usize| Str::from(format!("key-{at}"));
            let mut map: Map = (0..size).map(|at| (key(at), Value::from(at as i64))).collect();
            let mut list: Vec<(Str, Value)> = (0..size).map(|at| (key(at), Value::from(at as i64))).collect();
            assert_eq!(Map::from_entries(list.clone()), map);
            let same = |map: &Map, list: &[(Str, Value)]| {
                assert_eq!(map.entries(), list, "{size} entries");
                for (key, value) in list {
                    assert_eq!(map.get(key), Some(value), "{key} of {size} entries");
                }
                assert_eq!((map.get("absent"), map.contains_key("")), (None, false));
            };
            same(&map, &list);
            assert_eq!(map.set(key(size / 2), "changed").is_some(), size > 0);
            match list.get_mut(size / 2) {
                Some(entry) => entry.1 = "changed".into(),
                None => list.push((key(0), "changed".into())),
            }
            same(&map, &list);
            assert_eq!(map.remove("absent"), None);
            assert_eq!(map.remove(&key(size / 3)), Some(list.remove(size / 3).1));
            same(&map, &list);
            for at in 0..3 {
                *map.entry(&format!("new-{at}")) = Value::Bool(true);
                list.push((format!("new-{at}").into(), Value::Bool(true)));
                same(&map, &list);
            }
            map.entries_mut().reverse();
            list.reverse();
            same(&map, &list);
            assert_eq!(map.clone(), map);
            same(&map.clone(), &list);
            let keeps = |key: &str| !key.ends_with('7');
            map.retain(|key, _| keeps(key));
            list.retain(|(key, _)| keeps(key));
            same(&map, &list);
            map.iter_mut().for_each(|(_, value)| *value = Value::Null);
            assert!(map.values().all(|value| *value == Value::Null));
            assert_eq!(
                map.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
                list.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn an_index_makes_no_value_larger() {
        assert_eq!(size_of::<Map>(), size_of::<Vec<(Str, Value)>>());
    }
}
