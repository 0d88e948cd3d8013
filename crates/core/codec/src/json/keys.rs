//! Finds a key among the entries of a map that is being built.
//! Guarantees linear time: sorted keys cost one comparison each; many unsorted ones are found by hash.

use pintle_schema::{Str, Value};
use std::collections::HashMap;

const FEW: usize = 24;

/// An index of the keys of an append-only list of entries.
#[derive(Default)]
pub(crate) struct KeyIndex {
    /// Keys up to here are in ascending order.
    unsorted: bool,
    places: HashMap<Str, usize>,
}

impl KeyIndex {
    /// The index of a key in `entries`. An absent key must be pushed before the next call.
    pub(crate) fn find(&mut self, entries: &[(Str, Value)], key: &Str) -> Option<usize> {
        if !self.unsorted {
            match entries.last() {
                None => return None,
                Some((last, _)) if last < key => return None,
                Some(_) => self.unsorted = true,
            }
        }
        if entries.len() <= FEW {
            return entries.iter().position(|(known, _)| known == key);
        }
        for (at, (known, _)) in entries.iter().enumerate().skip(self.places.len()) {
            self.places.insert(known.clone(), at);
        }
        self.places.get(key).copied()
    }
}
