//! Objects that name an owner of an unknown kind, by that kind: they are checked again when it is added. Guarantees that an
//! object is recorded once, and only while it exists. Must never keep the text of a reference, which may be long.

use crate::resource_index::ObjectKey;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The hash of an apiVersion and a kind. If two have the same, an object is checked once too often.
type Awaited = u64;

#[derive(Default)]
pub struct Undecided {
    awaited: HashMap<ObjectKey, Awaited>,
    objects: HashMap<Awaited, HashSet<ObjectKey>>,
    hashing: RandomState,
}

impl Undecided {
    pub fn insert(&mut self, place: &ObjectKey, api_version: &str, kind: &str) {
        self.remove(place);
        let awaited = self.hashing.hash_one((api_version, kind));
        self.awaited.insert(place.clone(), awaited);
        self.objects.entry(awaited).or_default().insert(place.clone());
    }

    pub fn remove(&mut self, place: &ObjectKey) {
        let Some(awaited) = self.awaited.remove(place) else { return };
        if let Some(objects) = self.objects.get_mut(&awaited) {
            objects.remove(place);
            if objects.is_empty() {
                self.objects.remove(&awaited);
            }
        }
    }

    /// Removes and returns the objects that waited for a kind.
    pub fn take(&mut self, api_version: &str, kind: &str) -> HashSet<ObjectKey> {
        let objects = self.objects.remove(&self.hashing.hash_one((api_version, kind))).unwrap_or_default();
        for place in &objects {
            self.awaited.remove(place);
        }
        objects
    }

    pub fn is_empty(&self) -> bool {
        self.awaited.is_empty() && self.objects.is_empty()
    }

    pub fn clear(&mut self) {
        self.awaited.clear();
        self.objects.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_waits_for_one_kind() {
        let place = |name: &str| ObjectKey { kind: 0, key: name.into() };
        let mut undecided = Undecided::default();
        undecided.insert(&place("a"), "v1", "K");
        undecided.insert(&place("a"), "v1", "L");
        undecided.insert(&place("b"), "v1", "L");
        undecided.insert(&place("c"), "v1", "L");
        undecided.remove(&place("c"));
        assert!(undecided.take("v1", "K").is_empty());
        assert_eq!(undecided.take("v1", "L"), HashSet::from([place("a"), place("b")]));
        assert!(undecided.is_empty());
    }
}
