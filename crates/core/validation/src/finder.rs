//! `Finder`: the old items that correspond to new ones.
//! Guarantees that many items are found through an index. Must never compare more of an item than the correlation says.

use crate::check::{self, Correlation, at};
use pintle_schema::Value;
use std::collections::HashMap;

/// Beyond this many items, an index by key is cheaper than searching for each.
const FEW: usize = 16;

/// Finds the old items that correspond to new ones.
pub struct Finder<'a> {
    correlation: &'a Correlation,
    old: &'a [Value],
    index: Option<HashMap<String, usize>>,
}

impl<'a> Finder<'a> {
    /// Finds among these.
    pub fn new(correlation: &'a Correlation, old: &'a [Value]) -> Self {
        Finder { correlation, old, index: None }
    }

    /// The old item of a new one, which has this index.
    #[inline]
    pub fn find(&mut self, index: usize, item: &Value) -> Option<&'a Value> {
        if self.old.is_empty() { None } else { self.find_among(index, item) }
    }

    fn find_among(&mut self, index: usize, item: &Value) -> Option<&'a Value> {
        let keys: &[Box<str>] = match self.correlation {
            Correlation::None => return None,
            Correlation::Whole => &[],
            Correlation::Keys(keys) => keys,
        };
        let is = |old: &&Value| match keys {
            [] => *old == item,
            keys => keys.iter().all(|key| at(old, key) == at(item, key)),
        };
        if let Some(old) = self.old.get(index).filter(is) {
            return Some(old);
        }
        if self.old.len() <= FEW {
            return self.old.iter().find(is);
        }
        let old = self.old;
        let places = self.index.get_or_insert_with(|| {
            old.iter().enumerate().rev().map(|(index, item)| (check::key_text(keys, item), index)).collect()
        });
        places.get(&check::key_text(keys, item)).and_then(|at| old.get(*at))
    }
}
