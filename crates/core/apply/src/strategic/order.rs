//! The order of the items of a merged list.
//! Guarantees that listed items have the patch's order and live-only items keep theirs; between the two, the live
//! list's order decides where it has both, otherwise listed items come first. Work is linear except for sorting.

use super::{no_merge_key, not_a_map};
use crate::PatchError;
use pintle_schema::{Str, Value};
use std::collections::HashMap;

/// The identity of a list item: the value of its merge key, or the scalar itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    String(Str),
}

impl Key {
    /// `None` for lists and maps, which have no identity.
    pub fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Null => Key::Null,
            Value::Bool(b) => Key::Bool(*b),
            Value::Int(i) => Key::Int(*i),
            // The two zeros are equal numbers.
            Value::Float(f) => Key::Float(if *f == 0.0 { 0 } else { f.to_bits() }),
            Value::String(text) => Key::String(text.clone()),
            Value::List(_) | Value::Map(_) | Value::Raw(_) => return None,
        })
    }
}

/// The index of the first item with each key.
pub struct Places {
    first: HashMap<Key, usize>,
    not_a_map: Option<usize>,
    /// An invalid item; reported only if the list is used as an order.
    flaw: Result<(), PatchError>,
}

impl Places {
    /// Reads a list: with a merge key as a list of maps, without one as a list of scalars.
    pub fn of(items: &[Value], merge_key: &str) -> Self {
        let mut places = Places { first: HashMap::with_capacity(items.len()), not_a_map: None, flaw: Ok(()) };
        for (at, item) in items.iter().enumerate() {
            let key = match item {
                item if merge_key.is_empty() => Key::of(item).ok_or_else(PatchError::panic),
                Value::Map(map) => match map.get(merge_key) {
                    // A key that is not a scalar cannot be found, and is not an error either.
                    Some(key) => match Key::of(key) {
                        Some(key) => Ok(key),
                        None => continue,
                    },
                    None => Err(no_merge_key(item, merge_key)),
                },
                other => {
                    places.not_a_map.get_or_insert(at);
                    Err(not_a_map(other))
                }
            };
            match key {
                Ok(key) => drop(places.first.entry(key).or_insert(at)),
                Err(flaw) if places.flaw.is_ok() => places.flaw = Err(flaw),
                Err(_) => {}
            }
        }
        places
    }

    fn find(&self, key: Option<&Key>) -> Option<usize> {
        self.first.get(key?).copied()
    }

    /// Uses these as the keys of the list.
    pub fn become_keys(&mut self, keys: Vec<Option<Key>>) {
        self.first.clear();
        for (at, key) in keys.into_iter().enumerate() {
            if let Some(key) = key {
                self.first.entry(key).or_insert(at);
            }
        }
    }
}

struct Placed {
    item: Value,
    named: Option<usize>,
    live: Option<usize>,
}

/// Orders a merged list.
///
/// # Errors
/// An item of the list, or of the order, has no merge key or is of another kind.
pub fn place(merged: Vec<Value>, named: Places, live: Places, merge_key: &str) -> Result<Vec<Value>, PatchError> {
    let mut named_items = Vec::new();
    let mut live_only = Vec::new();
    for item in merged {
        let key = if merge_key.is_empty() {
            Some(Key::of(&item).ok_or_else(PatchError::panic)?)
        } else {
            let map = item.as_map().ok_or_else(|| not_a_map(&item))?;
            Key::of(map.get(merge_key).ok_or_else(|| no_merge_key(&item, merge_key))?)
        };
        let placed = Placed { named: named.find(key.as_ref()), live: live.find(key.as_ref()), item };
        match (placed.named, named.not_a_map) {
            (Some(_), _) => named_items.push(placed),
            (None, Some(at)) if !merge_key.is_empty() => {
                return Err(PatchError::Internal(format!("value for key {at} is not a map")));
            }
            (None, _) => live_only.push(placed),
        }
    }
    named.flaw?;
    live.flaw?;
    named_items.sort_by_key(|placed| placed.named);
    Ok(interleave(sort_live_only(live_only), named_items))
}

/// The number of items up to which Go's stable sort uses only insertion sort.
const INSERTION_SORTED: usize = 20;

/// Sorts by the live order. kube-apiserver's comparison defines no order for items that are new and not listed (which
/// an empty order leaves), so that their places depend on its insertion sort.
fn sort_live_only(items: Vec<Placed>) -> Vec<Placed> {
    if items.iter().all(|placed| placed.live.is_some()) || items.len() > INSERTION_SORTED {
        let (mut known, fresh): (Vec<_>, Vec<_>) = items.into_iter().partition(|placed| placed.live.is_some());
        known.sort_by_key(|placed| placed.live);
        known.extend(fresh.into_iter().rev());
        return known;
    }
    let mut sorted: Vec<Placed> = Vec::with_capacity(items.len());
    for item in items {
        let stops = |left: &Placed| matches!((item.live, left.live), (Some(new), Some(left)) if new >= left);
        let at = sorted.iter().rposition(stops).map_or(0, |at| at + 1);
        sorted.insert(at, item);
    }
    sorted
}

/// Puts each live-only item before the first listed one that follows it in the live list.
fn interleave(live_only: Vec<Placed>, named: Vec<Placed>) -> Vec<Value> {
    let mut all = Vec::with_capacity(live_only.len() + named.len());
    let mut left = live_only.into_iter().peekable();
    for right in named {
        while let Some(next) = left.next_if(|left| matches!((left.live, right.live), (Some(l), Some(r)) if l < r)) {
            all.push(next.item);
        }
        all.push(right.item);
    }
    all.extend(left.map(|placed| placed.item));
    all
}
