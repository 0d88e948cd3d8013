//! The dependency graph: dependents by the UIDs that they name, from the headers of encoded objects, and the namespaces of
//! living objects by UID. Guarantees that a change visits only its own owners. Must never take a UID for an owner: the author
//! of a reference chooses its UID, so that the reference's other fields decide.

use crate::resource_index::ObjectKey;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts with a lock each, so that a map that grows moves a part of the entries only.
const SHARDS: usize = 256;

pub struct Graph {
    shards: Box<[Mutex<Shard>]>,
    hashing: RandomState,
}

#[derive(Default)]
struct Shard {
    owners: HashMap<Box<str>, Owner>,
    /// The living objects, by the hash of their uid: the hash of the namespace.
    living: HashMap<u64, u32>,
}

/// A uid that owner references name, whether or not the object exists.
#[derive(Default)]
struct Owner {
    /// The objects that name it, whether rightly or not.
    dependents: BTreeSet<ObjectKey>,
    /// Whether a state of the object, given by its ID, waits for its dependents: that is read from all its finalizers.
    is_waiting: Option<(u64, bool)>,
    /// Set if the object is being deleted in the foreground.
    foreground: Option<Box<Foreground>>,
}

/// An owner that waits for its dependents.
struct Foreground {
    owner: ObjectKey,
    /// The dependents that the owner waits for.
    blocking: HashSet<ObjectKey>,
    /// Whether all dependents have been asked.
    is_complete: bool,
}

/// What an owner in foreground deletion waits for.
#[derive(Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing.
    Over,
    /// Some dependents.
    Blocked,
    /// Its dependents have to be asked first.
    Unknown,
}

impl Default for Graph {
    fn default() -> Self {
        Graph::with(RandomState::new())
    }
}

/// The hash of a namespace; 0 for none.
fn namespace_hash(hashing: &RandomState, namespace: &str) -> u32 {
    if namespace.is_empty() { 0 } else { hashing.hash_one(namespace) as u32 | 1 }
}

impl Graph {
    fn with(hashing: RandomState) -> Self {
        Graph { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hashing }
    }

    /// An empty graph that can replace this one.
    pub fn successor(&self) -> Graph {
        Graph::with(self.hashing.clone())
    }

    /// Takes over another graph.
    pub fn replace(&self, other: Graph) {
        for (shard, other) in self.shards.iter().zip(other.shards) {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) =
                other.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn shard(&self, uid: &str) -> (MutexGuard<'_, Shard>, u64) {
        let hash = self.hashing.hash_one(uid);
        // No code that holds a lock can panic.
        (self.shards[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner), hash)
    }

    /// Records that an object names a uid; returns whether the owner waits for its dependents.
    pub fn insert(&self, uid: &str, place: &ObjectKey) -> bool {
        let (mut shard, _) = self.shard(uid);
        let owner = match shard.owners.get_mut(uid) {
            Some(owner) => owner,
            None => shard.owners.entry(uid.into()).or_default(),
        };
        owner.dependents.insert(place.clone());
        owner.foreground.is_some()
    }

    /// Records that an object no longer names a uid; returns the owner if that no longer waits therefore.
    pub fn remove(&self, uid: &str, place: &ObjectKey) -> Option<ObjectKey> {
        let (mut shard, _) = self.shard(uid);
        let owner = shard.owners.get_mut(uid)?;
        owner.dependents.remove(place);
        let released = owner.set_blocking(place, false);
        if owner.dependents.is_empty() {
            shard.owners.remove(uid);
        }
        released
    }

    /// Records whether an owner waits for a dependent; returns the owner if it no longer waits therefore.
    pub fn set_blocking(&self, uid: &str, place: &ObjectKey, blocks: bool) -> Option<ObjectKey> {
        self.shard(uid).0.owners.get_mut(uid)?.set_blocking(place, blocks)
    }

    /// Records that an owner waits for a dependent, if what was read of it is still true. Changes are recorded after they
    /// become visible, so that a later one is not undone.
    pub fn set_blocking_if(&self, uid: &str, place: &ObjectKey, is_current: impl FnOnce() -> bool) -> bool {
        let (mut shard, _) = self.shard(uid);
        let is_current = is_current();
        if let Some(owner) = shard.owners.get_mut(uid).filter(|_| is_current) {
            owner.set_blocking(place, true);
        }
        is_current
    }

    /// Some of the objects that name a uid, in the order of their keys, from behind one on.
    pub fn dependents(&self, uid: &str, after: Option<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        let (shard, _) = self.shard(uid);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let dependents = shard.owners.get(uid).into_iter();
        dependents.flat_map(|owner| owner.dependents.range((from, Bound::Unbounded))).take(limit).cloned().collect()
    }

    /// Whether an object names a uid.
    pub fn has_dependents(&self, uid: &str) -> bool {
        self.shard(uid).0.owners.contains_key(uid)
    }

    /// Records that an object waits for its dependents.
    pub fn begin_foreground(&self, uid: &str, place: &ObjectKey) -> Waiting {
        let (mut shard, _) = self.shard(uid);
        let Some(owner) = shard.owners.get_mut(uid) else { return Waiting::Over };
        let begin = || Box::new(Foreground { owner: place.clone(), blocking: HashSet::new(), is_complete: false });
        owner.foreground.get_or_insert_with(begin).state()
    }

    /// Records that all dependents of an object that waits for them have been asked.
    pub fn complete_foreground(&self, uid: &str) -> Waiting {
        let (mut shard, _) = self.shard(uid);
        let Some(owner) = shard.owners.get_mut(uid) else { return Waiting::Over };
        // The graph may have been replaced meanwhile.
        let Some(foreground) = &mut owner.foreground else { return Waiting::Unknown };
        foreground.is_complete = true;
        foreground.state()
    }

    /// Whether a state of an object, given by its ID, waits for its dependents; `read` reads that from the object once.
    pub fn is_waiting(&self, uid: &str, id: u64, read: impl FnOnce() -> bool) -> bool {
        let known = self.shard(uid).0.owners.get(uid).and_then(|owner| owner.is_waiting);
        if let Some((_, waits)) = known.filter(|(known, _)| *known == id) {
            return waits;
        }
        let waits = read();
        if let Some(owner) = self.shard(uid).0.owners.get_mut(uid) {
            owner.is_waiting = Some((id, waits));
        }
        waits
    }

    /// Records an object that exists.
    pub fn set_living(&self, uid: &str, namespace: &str) {
        let namespace = namespace_hash(&self.hashing, namespace);
        let (mut shard, hash) = self.shard(uid);
        shard.living.insert(hash, namespace);
    }

    /// Records that an object does not exist any more.
    pub fn set_gone(&self, uid: &str) {
        let (mut shard, hash) = self.shard(uid);
        shard.living.remove(&hash);
        if let Some(owner) = shard.owners.get_mut(uid) {
            (owner.foreground, owner.is_waiting) = (None, None);
        }
    }

    /// Whether an object with this uid exists in another namespace.
    pub fn lives_elsewhere(&self, uid: &str, namespace: &str) -> bool {
        let own = namespace_hash(&self.hashing, namespace);
        let (shard, hash) = self.shard(uid);
        shard.living.get(&hash).is_some_and(|namespace| *namespace != 0 && *namespace != own)
    }

    /// The number of uids that are known in any way.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let shards = self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner));
        shards.map(|shard| shard.owners.len() + shard.living.len()).sum()
    }
}

impl Owner {
    fn set_blocking(&mut self, place: &ObjectKey, blocks: bool) -> Option<ObjectKey> {
        let foreground = self.foreground.as_mut()?;
        if blocks {
            foreground.blocking.insert(place.clone());
            return None;
        }
        let is_released = foreground.blocking.remove(place) && foreground.blocking.is_empty();
        (is_released && foreground.is_complete).then(|| foreground.owner.clone())
    }
}

impl Foreground {
    fn state(&self) -> Waiting {
        match (self.is_complete, self.blocking.is_empty()) {
            (false, _) => Waiting::Unknown,
            (true, true) => Waiting::Over,
            (true, false) => Waiting::Blocked,
        }
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
        let graph = Graph::default();
        let (a, b, owner) = (place("a"), place("b"), place("o"));
        for (uid, place) in [("u1", &a), ("u2", &a), ("u1", &a), ("u1", &b)] {
            assert!(!graph.insert(uid, place), "nothing waits");
        }
        assert_eq!(graph.dependents("u1", None, 9), [a.clone(), b.clone()]);
        assert_eq!(graph.dependents("u1", None, 1), std::slice::from_ref(&a));
        assert_eq!(graph.dependents("u1", Some(&a), 9), std::slice::from_ref(&b));
        assert_eq!(graph.begin_foreground("u3", &owner), Waiting::Over, "nothing depends on it");
        graph.remove("u1", &a);
        graph.remove("u2", &a);
        assert!(graph.has_dependents("u1") && !graph.has_dependents("u2"));
        graph.remove("u1", &b);
        assert_eq!(graph.len(), 0);
    }

    #[test]
    fn an_owner_waits_until_nothing_blocks_it() {
        let graph = Graph::default();
        let (a, b, owner) = (place("a"), place("b"), place("o"));
        graph.insert("u", &a);
        graph.insert("u", &b);
        assert_eq!(graph.begin_foreground("u", &owner), Waiting::Unknown);
        assert!(graph.insert("u", &a), "it waits");
        assert!(graph.set_blocking_if("u", &a, || true) && !graph.set_blocking_if("u", &b, || false));
        assert_eq!(graph.set_blocking("u", &a, false), None, "not all have been asked");
        graph.set_blocking("u", &b, true);
        assert_eq!(graph.complete_foreground("u"), Waiting::Blocked);
        assert_eq!(graph.set_blocking("u", &a, false), None);
        assert_eq!(graph.remove("u", &b), Some(owner.clone()));
        assert_eq!(graph.begin_foreground("u", &owner), Waiting::Over);
        graph.set_gone("u");
        assert_eq!(graph.complete_foreground("u"), Waiting::Unknown);
    }

    #[test]
    fn a_state_of_an_owner_is_read_once() {
        let graph = Graph::default();
        graph.insert("u", &place("a"));
        assert!(graph.is_waiting("u", 1, || true) && graph.is_waiting("u", 1, || false));
        assert!(!graph.is_waiting("u", 2, || false) && !graph.is_waiting("u", 2, || true));
    }

    #[test]
    fn objects_live_in_one_namespace_or_in_none() {
        let graph = Graph::default();
        graph.set_living("u", "a");
        graph.set_living("cluster", "");
        let elsewhere = |uid, namespace| graph.lives_elsewhere(uid, namespace);
        assert!(elsewhere("u", "b") && elsewhere("u", "") && !elsewhere("u", "a"));
        assert!(!elsewhere("cluster", "b") && !elsewhere("never", "b"));
        graph.set_gone("u");
        graph.set_gone("cluster");
        assert!(!elsewhere("u", "b"));
        assert_eq!(graph.len(), 0);
    }
}
