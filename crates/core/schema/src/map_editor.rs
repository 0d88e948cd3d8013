//! `MapEditor`: many changes of one map by key.
//! Guarantees that all of them together take time linear in the sizes of the map and the changes.
//! Must never change the order of remaining entries.

use crate::value::{Map, Str, Value};
use std::collections::HashSet;

/// A map that is being changed. Removed entries are dropped with the editor: removing keys one by one would take time
/// proportional to the map for each.
pub struct MapEditor<'a> {
    map: &'a mut Map,
    removed: HashSet<Str>,
}

impl<'a> MapEditor<'a> {
    pub fn new(map: &'a mut Map) -> Self {
        MapEditor { map, removed: HashSet::new() }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.map.get_mut(key).filter(|_| !self.removed.contains(key))
    }

    /// Appends an entry whose key the caller knows to be absent.
    pub fn push(&mut self, key: Str, value: Value) {
        if self.removed.remove(&key) {
            self.map.remove(&key);
        }
        self.map.push(key, value);
    }

    /// Replaces the value of a key, or appends it.
    pub fn set(&mut self, key: Str, value: Value) {
        match self.get_mut(&key) {
            Some(slot) => *slot = value,
            None => self.push(key, value),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let value = self.get_mut(key).map(std::mem::take)?;
        self.removed.insert(Str::new(key));
        Some(value)
    }
}

impl Drop for MapEditor<'_> {
    fn drop(&mut self) {
        if !self.removed.is_empty() {
            self.map.retain(|key, _| !self.removed.contains(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same changes one by one.
    fn plainly(map: &mut Map, changes: &[(Str, Option<i64>)]) {
        for (key, change) in changes {
            match change {
                Some(value) => drop(map.set(key.clone(), Value::Int(*value))),
                None => drop(map.remove(key)),
            }
        }
    }

    #[test]
    fn an_edited_map_is_as_if_changed_one_by_one() {
        let mut seed: u64 = 1;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for size in [0, 3, 20, 30, 200] {
            for _ in 0..50 {
                let entries = (0..size).map(|at| (Str::from(format!("k{at}")), Value::Int(-1))).collect();
                let mut edited = Map::from_entries(entries);
                let mut expected = edited.clone();
                let changes: Vec<(Str, Option<i64>)> = (0..next(300))
                    .map(|_| {
                        let value = i64::try_from(next(1000)).ok().filter(|value| value % 3 > 0);
                        (Str::from(format!("k{}", next(250))), value)
                    })
                    .collect();
                plainly(&mut expected, &changes);
                let mut editor = MapEditor::new(&mut edited);
                for (key, change) in changes {
                    match change {
                        Some(value) => editor.set(key, Value::Int(value)),
                        None => drop(editor.remove(&key)),
                    }
                }
                drop(editor);
                assert_eq!(edited, expected);
            }
        }
    }
}
