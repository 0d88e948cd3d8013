//! `Lookup`: finds keys of a map without scanning it if it is large.
//! Structs have few keys; maps of the API may have as many as a request can contain, in any order.

use pintle_schema::{Map, Str, Value};

/// Up to this size scanning is fastest.
const FEW: usize = 16;

pub(super) struct Lookup<'a> {
    entries: &'a [(Str, Value)],
    /// The entries sorted by key, if there are many.
    sorted: Vec<&'a (Str, Value)>,
}

impl<'a> Lookup<'a> {
    pub fn new(map: Option<&'a Map>) -> Self {
        let entries = map.map(Map::entries).unwrap_or_default();
        let mut sorted = Vec::new();
        if entries.len() > FEW {
            sorted.extend(entries);
            sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Lookup { entries, sorted }
    }

    pub fn entries(&self) -> &'a [(Str, Value)] {
        self.entries
    }

    /// The value of a key. `near` is its expected index: canonical objects have their keys in one order, so that a
    /// key usually follows the previous one.
    pub fn get(&self, near: &mut usize, key: &str) -> Option<&'a Value> {
        if let Some((_, value)) = self.entries.get(*near).filter(|(other, _)| other == key) {
            *near += 1;
            return Some(value);
        }
        if !self.sorted.is_empty() {
            let at = self.sorted.binary_search_by(|(other, _)| other.as_str().cmp(key)).ok()?;
            return Some(&self.sorted[at].1);
        }
        let at = self.entries.iter().position(|(other, _)| other == key)?;
        *near = at + 1;
        Some(&self.entries[at].1)
    }
}
