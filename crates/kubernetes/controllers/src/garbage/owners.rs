//! Finds out which owners of an object exist, which are gone, and which wait for their dependents. Guarantees that an owner
//! counts as gone only if no object has its kind, namespace, name and uid, and that each reference costs one look-up. Must
//! never write, and never remember an absence.

use super::FOREGROUND;
use super::graph::Graph;
use super::references::{self, Place, Reference};
use crate::resource_index::{Kind, ResourceIndex, waits_for};
use crate::slices::Slices;
use pintle_cache::Object;
use pintle_registry::Target;
use pintle_types::meta::v1::OwnerReference;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What tells an owner reference from others.
pub type OwnerId = [Box<str>; 4];

pub fn id_of(reference: &OwnerReference) -> OwnerId {
    [&reference.api_version, &reference.kind, &reference.name, &reference.uid].map(|text| text.as_str().into())
}

/// The owners of an object, by their state.
#[derive(Debug, Default)]
pub struct Owners {
    /// The number of references.
    pub count: usize,
    /// The number of owners that exist and are not being deleted in the foreground.
    pub solid: usize,
    /// Those that are gone, and those that are being deleted and wait for their dependents.
    pub lost: HashSet<OwnerId>,
    /// Whether one of them waits for its dependents.
    pub is_awaited: bool,
    /// Whether the object keeps an owner that is deleted in the foreground.
    pub blocks: bool,
    /// The first reference whose uid is that of an object of another namespace.
    pub misplaced: Option<OwnerReference>,
    /// A reference cannot be resolved.
    pub is_undecided: bool,
    /// The apiVersion and the kind of the first reference whose kind is unknown.
    pub unknown: Option<[String; 2]>,
}

/// The kinds of owners that are not found and are in another store than the object: one for each such store.
pub async fn elsewhere(
    index: &ResourceIndex,
    target: &Target,
    object: &Object,
    slices: &mut Slices<'_>,
) -> Vec<Arc<Kind>> {
    let mut kinds = BTreeMap::new();
    if !index.has_several_stores() {
        return Vec::new();
    }
    for reference in references::of(object) {
        slices.step().await;
        let Place::At(_, kind, key) = Place::named(index, object.namespace(), &reference) else { continue };
        let cache = &kind.target.cache;
        let store = cache.progress.number();
        let is_found = || cache.get(&key).is_some_and(|found| found.encoded.uid() == reference.uid);
        if store != target.cache.progress.number() && !kinds.contains_key(&store) && !is_found() {
            kinds.insert(store, kind);
        }
    }
    kinds.into_values().collect()
}

/// Looks every owner up.
pub async fn resolve(index: &ResourceIndex, graph: &Graph, object: &Object, slices: &mut Slices<'_>) -> Owners {
    let mut owners = Owners::default();
    for reference in references::of(object) {
        slices.step().await;
        owners.count += 1;
        owners.blocks |= reference.blocks;
        let is_found = match Place::named(index, object.namespace(), &reference) {
            Place::UnknownKind => {
                owners.is_undecided = true;
                owners
                    .unknown
                    .get_or_insert_with(|| [&reference.api_version, &reference.kind].map(|text| text.to_string()));
                false
            }
            Place::Impossible => {
                owners.is_undecided = true;
                false
            }
            Place::At(_, kind, key) => owners.look_up(graph, &kind, &key, &reference),
        };
        if !is_found && owners.misplaced.is_none() && graph.lives_elsewhere(&reference.uid, object.namespace()) {
            owners.misplaced = Some(reference.to_owned());
        }
    }
    owners
}

impl Owners {
    /// Records the state of an owner; returns whether it exists.
    fn look_up(&mut self, graph: &Graph, kind: &Kind, key: &str, reference: &Reference<'_>) -> bool {
        let state = kind.target.cache.state();
        if state.unreadable.contains_key(key) {
            // This object may be the owner.
            self.is_undecided = true;
            return true;
        }
        let owner = state.objects.get(key).filter(|owner| owner.encoded.uid() == reference.uid);
        let waits = owner.is_some_and(|owner| {
            owner.encoded.terminating && graph.is_waiting(&reference.uid, owner.id, || waits_for(owner, FOREGROUND))
        });
        if owner.is_some() && !waits {
            self.solid += 1;
            return true;
        }
        self.is_awaited |= waits;
        self.lost.insert(id_of(&reference.to_owned()));
        owner.is_some()
    }
}
