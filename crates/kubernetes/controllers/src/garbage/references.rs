//! Resolves owner references: which owners exist, which are gone, which wait for their dependents. Guarantees that an
//! owner counts as gone only if no object has its kind, namespace, name and uid. Must never write.

use super::FOREGROUND;
use super::graph::Graph;
use crate::resource_index::{Kind, ResourceIndex, waits_for};
use pintle_cache::Object;
use pintle_registry::Target;
use pintle_schema::{Value, View};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};
use std::sync::{Arc, Mutex, PoisonError};

/// The owners of an object, by their state.
#[derive(Debug, Default)]
pub struct Owners {
    /// The number of owners that exist and are not being deleted in the foreground.
    pub solid: usize,
    /// The uids of those that are gone.
    pub dangling: Vec<String>,
    /// The uids of those that are being deleted and wait for their dependents.
    pub waiting: Vec<String>,
    /// References into another namespace, where the uid is found.
    pub misplaced: Vec<OwnerReference>,
    /// A reference cannot be resolved: its kind is unknown, or cannot own this object.
    pub undecided: bool,
}

pub fn of(metadata: &Value) -> Vec<OwnerReference> {
    View::<ObjectMeta>::new(metadata).field(ObjectMeta::OWNER_REFERENCES).get()
}

/// Whether an object keeps an owner that is deleted in the foreground.
pub fn blocks(metadata: &Value, uid: &str) -> bool {
    of(metadata).iter().any(|owner| owner.uid == uid && owner.block_owner_deletion == Some(true))
}

/// Whether an object keeps any owner that is deleted in the foreground.
pub fn block(metadata: &Value) -> bool {
    of(metadata).iter().any(|owner| owner.block_owner_deletion == Some(true))
}

/// The kinds of owners that are not found and are in another store than the object.
pub fn elsewhere(
    world: &ResourceIndex,
    target: &Target,
    object: &Object,
    references: &[OwnerReference],
) -> Vec<Arc<Kind>> {
    if !world.has_several_stores() {
        return Vec::new();
    }
    let kind = |owner: &OwnerReference| {
        let kind = world.named(&owner.api_version, &owner.kind)?;
        let cache = &kind.target.cache;
        let namespace = if kind.resource.namespaced { object.namespace() } else { "" };
        let found = cache.get(&kind.target.storage().key(namespace, &owner.name));
        let is_found = found.is_some_and(|found| found.encoded.uid() == owner.uid);
        let is_elsewhere = cache.progress.number() != target.cache.progress.number();
        (is_elsewhere && !is_found).then_some(kind)
    };
    references.iter().filter_map(kind).collect()
}

/// Looks every owner up.
pub fn resolve(
    world: &ResourceIndex,
    graph: &Mutex<Graph>,
    object: &Object,
    references: Vec<OwnerReference>,
) -> Owners {
    let graph = || graph.lock().unwrap_or_else(PoisonError::into_inner);
    let mut owners = Owners::default();
    for reference in references {
        let namespaced_only = object.namespace().is_empty();
        let kind = world.named(&reference.api_version, &reference.kind);
        if kind.as_ref().is_some_and(|kind| kind.resource.namespaced && namespaced_only) {
            // Such a reference is always wrong, and says nothing about the owner.
            owners.undecided = true;
            owners.misplaced.extend(kind.filter(|kind| exists(kind, &reference.uid)).map(|_| reference));
            continue;
        }
        let Some(kind) = kind else {
            owners.undecided = true;
            continue;
        };
        if graph().is_gone(&reference.uid) {
            owners.dangling.push(reference.uid);
            continue;
        }
        let namespace = if kind.resource.namespaced { object.namespace() } else { "" };
        let key = kind.target.storage().key(namespace, &reference.name);
        if kind.target.cache.state().unreadable.contains_key(key.as_str()) {
            // This object may be the owner.
            owners.undecided = true;
            continue;
        }
        match kind.target.cache.get(&key).filter(|owner| owner.encoded.uid() == reference.uid) {
            Some(owner) if waits_for(&owner, FOREGROUND) => owners.waiting.push(reference.uid),
            Some(_) => owners.solid += 1,
            None => {
                owners.dangling.push(reference.uid.clone());
                if exists(&kind, &reference.uid) {
                    owners.misplaced.extend(kind.resource.namespaced.then_some(reference));
                } else {
                    // Uids are not reused: this one need not be looked up again.
                    graph().set_gone(&reference.uid);
                }
            }
        }
    }
    owners
}

/// Whether an object of a kind has a uid; reads every object of the kind.
fn exists(kind: &Kind, uid: &str) -> bool {
    kind.target.cache.state().objects.values().any(|object| object.encoded.uid() == uid)
}
