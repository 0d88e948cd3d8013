//! `Index`: which objects have which value of a field, so that a list by such a field costs only its results.
//! Guarantees that every published state has a matching index: it is persistent, and contains keys, so that a commit
//! changes it only when a field's value changes.
//! Must never answer for a field that was not declared.

use crate::object::Object;
use crate::objects::{Keys, Objects};
use imbl::OrdMap;
use pintle_storage::Key;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys of the objects with each value of the indexed fields.
#[derive(Clone, Default)]
pub(crate) struct Index {
    fields: Arc<[usize]>,
    keys: OrdMap<(usize, Arc<str>), Keys>,
}

impl Index {
    /// Builds the index of all objects in one pass.
    pub fn of(fields: &Arc<[usize]>, objects: &Objects) -> Self {
        let mut index = Index { fields: fields.clone(), keys: OrdMap::new() };
        for &field in fields.iter() {
            let mut by_value: BTreeMap<&str, Keys> = BTreeMap::new();
            for object in objects.values() {
                by_value.entry(object.field(field)).or_default().insert(object.key.clone());
            }
            index.keys.extend(by_value.into_iter().map(|(value, keys)| ((field, value.into()), keys)));
        }
        index
    }

    /// Updates the index for an object before and after a change.
    pub fn change(&mut self, key: &Key, before: Option<&Object>, after: Option<&Object>) {
        for &field in self.fields.clone().iter() {
            let [before, after] = [before, after].map(|object| object.map(|object| object.field(field)));
            if before == after {
                continue;
            }
            if let Some(value) = before {
                let place = (field, value.into());
                if let Some(keys) = self.keys.get_mut(&place) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.keys.remove(&place);
                    }
                }
            }
            if let Some(value) = after {
                self.keys.entry((field, value.into())).or_default().insert(key.clone());
            }
        }
    }

    #[cfg(test)]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        self.keys.ptr_eq(&other.keys)
    }

    /// The number of values.
    #[cfg(test)]
    pub fn values(&self) -> usize {
        self.keys.len()
    }

    /// The keys of the objects with this value; `None` if the field is not indexed.
    pub fn keys(&self, field: usize, value: &str) -> Option<Keys> {
        self.fields.contains(&field).then(|| self.keys.get(&(field, value.into())).cloned().unwrap_or_default())
    }
}
