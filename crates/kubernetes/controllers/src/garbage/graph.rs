//! The dependency graph: dependents by the UIDs of their owners, from the headers of encoded objects. Guarantees that a
//! change visits only its own owners. Must never hold an object without dependents, except while it is deleted in the
//! foreground.

use crate::resource_index::ObjectKey;
use std::collections::{BTreeSet, HashMap};

#[derive(Default)]
pub struct Graph(HashMap<Box<str>, Owner>);

/// A uid that owner references name, whether or not the object exists.
#[derive(Default)]
struct Owner {
    dependents: BTreeSet<ObjectKey>,
    /// The object does not exist, and never will again.
    gone: bool,
    /// The object's key, if it is being deleted in the foreground.
    foreground: Option<ObjectKey>,
}

impl Graph {
    pub fn insert<'a>(&mut self, place: &ObjectKey, owners: impl Iterator<Item = &'a str>) {
        for uid in owners {
            if !self.0.contains_key(uid) {
                self.0.insert(uid.into(), Owner::default());
            }
            if let Some(owner) = self.0.get_mut(uid) {
                owner.dependents.insert(place.clone());
            }
        }
    }

    pub fn remove<'a>(&mut self, place: &ObjectKey, owners: impl Iterator<Item = &'a str>) {
        for uid in owners {
            let Some(owner) = self.0.get_mut(uid) else { continue };
            owner.dependents.remove(place);
            if owner.dependents.is_empty() {
                self.0.remove(uid);
            }
        }
    }

    pub fn dependents(&self, uid: &str) -> Vec<ObjectKey> {
        self.0.get(uid).map_or_else(Vec::new, |owner| owner.dependents.iter().cloned().collect())
    }

    pub fn has_dependents(&self, uid: &str) -> bool {
        self.0.contains_key(uid)
    }

    /// Records that an object does not exist.
    pub fn set_gone(&mut self, uid: &str) {
        if let Some(owner) = self.0.get_mut(uid) {
            owner.gone = true;
            owner.foreground = None;
        }
    }

    pub fn is_gone(&self, uid: &str) -> bool {
        self.0.get(uid).is_some_and(|owner| owner.gone)
    }

    /// Records that an object waits for its dependents; returns whether that is new.
    pub fn set_foreground(&mut self, uid: &str, place: &ObjectKey) -> bool {
        let owner = self.0.get_mut(uid);
        owner.is_some_and(|owner| owner.foreground.replace(place.clone()).is_none())
    }

    /// The object's key, if it waits for its dependents.
    pub fn foreground(&self, uid: &str) -> Option<&ObjectKey> {
        self.0.get(uid)?.foreground.as_ref()
    }

    /// Every owner with its dependents.
    pub fn owners(&self) -> impl Iterator<Item = (&str, &BTreeSet<ObjectKey>)> {
        self.0.iter().map(|(uid, owner)| (&**uid, &owner.dependents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> ObjectKey {
        ObjectKey { kind: 0, key: name.into() }
    }

    #[test]
    fn owners_live_as_long_as_their_dependents() {
        let mut graph = Graph::default();
        graph.insert(&place("a"), ["u1", "u2", "u1"].into_iter());
        graph.insert(&place("b"), ["u1"].into_iter());
        assert_eq!(graph.dependents("u1"), [place("a"), place("b")]);
        assert!(graph.set_foreground("u1", &place("o")));
        assert!(!graph.set_foreground("u1", &place("o")), "known already");
        assert!(!graph.set_foreground("u3", &place("o")), "nothing depends on it");
        graph.set_gone("u2");
        assert!(graph.is_gone("u2") && !graph.is_gone("u1") && !graph.is_gone("u3"));
        graph.remove(&place("a"), ["u1", "u2", "u1"].into_iter());
        assert_eq!((graph.dependents("u1"), graph.has_dependents("u2")), (vec![place("b")], false));
        assert_eq!(graph.foreground("u1"), Some(&place("o")));
        graph.remove(&place("b"), ["u1"].into_iter());
        assert_eq!(graph.owners().count(), 0);
    }
}
