//! Garbage collection by owner references: background, foreground and orphaning, as kube-controller-manager does it.
//! Guarantees that an object is deleted only if none of its owners exists, and that an owner in foreground deletion
//! waits for its blocking dependents. Must never decide on incomplete data: dependents are counted only after every
//! change up to their owner's has been observed, and every earlier one of other stores.
//!
//! Long work, as for an owner with a hundred thousand dependents, is done in slices.

mod deletion;
mod graph;
mod observation;
mod owners;
mod references;
mod report;
#[cfg(test)]
mod tests;
mod undecided;

use crate::queue::{Outcome, Queue};
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{ObjectKey, ResourceIndex, has_finalizer};
use crate::slices::{Slices, Work};
use graph::Graph;
use owners::{OwnerId, Owners};
use pintle_cache::Object;
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Result, Target};
use pintle_schema::ViewMut;
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use undecided::Undecided;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The wait for changes that are written and not yet observed.
const NOT_SEEN_YET: Duration = Duration::from_millis(10);

/// The dependents of an owner that are taken from the graph at a time, under its lock.
const PAGE: usize = 256;

pub struct GarbageCollector {
    index: Arc<ResourceIndex>,
    graph: Graph,
    /// Objects whose owners are of kinds that are not served.
    undecided: Mutex<Undecided>,
    queue: Queue<ObjectKey>,
    settle: Duration,
    work: Work,
}

impl GarbageCollector {
    pub fn new(index: Arc<ResourceIndex>, settle: Duration) -> Self {
        GarbageCollector {
            index,
            graph: Graph::default(),
            undecided: Mutex::default(),
            queue: Queue::new("garbage_collector_attempt_to_delete"),
            settle,
            work: Work::default(),
        }
    }

    /// Processes the queue until the future is dropped. Several of these may run.
    pub async fn work(&self) {
        loop {
            let place = self.queue.next().await;
            let outcome = self.check(&place).await;
            self.queue.finish(place, outcome);
        }
    }

    fn undecided(&self) -> MutexGuard<'_, Undecided> {
        // No code that holds the lock can panic.
        self.undecided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> Requests<'_> {
        Requests { index: &self.index, who: Who::Account("generic-garbage-collector") }
    }

    fn soon(&self, place: ObjectKey) {
        self.queue.add(place, self.settle);
    }

    /// Checks an object.
    async fn check(&self, place: &ObjectKey) -> Outcome {
        let (Some(kind), Some(object)) = (self.index.kind(place.kind), self.index.object(place)) else {
            return Outcome::Done;
        };
        let mut slices = self.work.slices();
        let target = kind.at(&object);
        if object.encoded.terminating {
            let orphans = has_finalizer(&object, ORPHAN);
            if !orphans && !has_finalizer(&object, FOREGROUND) {
                return Outcome::Done;
            }
            let store = target.cache.progress.number();
            if object.revision > self.index.observed(store) {
                return Outcome::After(NOT_SEEN_YET);
            }
            if self.observe_others(store).await.is_err() {
                return Outcome::Retry;
            }
            return match orphans {
                true => self.orphan(&target, &object, &mut slices).await,
                false => self.foreground(place, &target, &object, &mut slices).await,
            };
        }
        if object.encoded.owners().next().is_none() {
            return Outcome::Done;
        }
        self.check_owners(place, &target, &object, &mut slices).await
    }

    /// Waits until everything has been observed that the other stores acknowledged before this call: their revisions do not
    /// tell whether a dependent was written before its owner was deleted.
    async fn observe_others(&self, store: usize) -> Result<()> {
        if !self.index.has_several_stores() {
            return Ok(());
        }
        let mut known = vec![store];
        for (_, kind) in self.index.kinds().iter().filter(|(_, kind)| kind.is_collected()) {
            let cache = &kind.target.cache;
            let other = cache.progress.number();
            if known.contains(&other) {
                continue;
            }
            known.push(other);
            self.index.registry.catch_up(cache).await?;
            let reached = cache.current();
            while self.index.observed(other) < reached {
                self.index.expected.notify_one();
                tokio::time::sleep(NOT_SEEN_YET).await;
            }
        }
        Ok(())
    }

    /// An object that may have lost its owners.
    async fn check_owners(
        &self,
        place: &ObjectKey,
        target: &Target,
        object: &Object,
        slices: &mut Slices<'_>,
    ) -> Outcome {
        let generation = self.index.generation();
        for kind in owners::elsewhere(&self.index, target, object, slices).await {
            // The owner may have been written before this object, and not be visible yet.
            if self.index.registry.catch_up(&kind.target.cache).await.is_err() {
                return Outcome::Retry;
            }
        }
        let owners = owners::resolve(&self.index, &self.graph, object, slices).await;
        self.undecided().remove(place);
        if let Some([api_version, kind]) = &owners.unknown {
            self.undecided().insert(place, api_version, kind);
            // The kind may have been added before this object was recorded.
            if self.index.generation() != generation {
                return Outcome::After(Duration::ZERO);
            }
        }
        let outcome = match owners.is_undecided {
            true => Outcome::Done,
            false => self.decide(target, object, &owners, slices).await,
        };
        if let Some(owner) = owners.misplaced.as_ref().filter(|_| outcome == Outcome::Done) {
            report::misplaced(&self.requests(), target, object, owner).await;
        }
        outcome
    }

    /// Deletes an object without owners, or releases it from those that are lost.
    async fn decide(&self, target: &Target, object: &Object, owners: &Owners, slices: &mut Slices<'_>) -> Outcome {
        let uid = object.encoded.uid();
        if owners.count == 0 {
            return Outcome::Done;
        }
        if owners.solid > 0 {
            return match owners.lost.is_empty() {
                true => Outcome::Done,
                false => retry_on_failure(&self.release(target, uid, &owners.lost).await),
            };
        }
        let propagation = if owners.is_awaited && self.graph.has_dependents(uid) {
            if owners.blocks && self.may_be_in_a_circle(object, slices).await {
                // The two would wait for each other. The change queues the object again, and then it is deleted.
                return match self.change_references(target, uid, |references| unblock(references)).await {
                    Ok(()) => Outcome::After(Duration::ZERO),
                    Err(_) => Outcome::Retry,
                };
            }
            Propagation::Foreground
        } else if has_finalizer(object, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(object, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let requests = self.requests();
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            // Owners may have been added since.
            resource_version: Some(object.revision.0.to_string()),
            ..requests.delete_options(propagation)
        };
        retry_on_failure(&requests.delete(target, &options).await)
    }

    /// Removes references to missing owners from an object. Others with their UIDs stay.
    async fn release(&self, target: &Target, uid: &str, lost: &HashSet<OwnerId>) -> Result<()> {
        let release = |references: &mut Vec<OwnerReference>| {
            references.retain(|reference| !lost.contains(&owners::id_of(reference)));
        };
        self.change_references(target, uid, release).await
    }

    async fn change_references(
        &self,
        target: &Target,
        uid: &str,
        change: impl Fn(&mut Vec<OwnerReference>) + Send + Sync,
    ) -> Result<()> {
        let change = |metadata: ViewMut<'_, ObjectMeta>| {
            let mut references = metadata.view().field(ObjectMeta::OWNER_REFERENCES).get();
            change(&mut references);
            set_list(metadata.field(ObjectMeta::OWNER_REFERENCES), references);
        };
        self.requests().change_metadata(target, uid, change).await
    }
}

fn unblock(references: &mut [OwnerReference]) {
    references.iter_mut().for_each(|reference| reference.block_owner_deletion = Some(false));
}

fn set_list<T: pintle_schema::ApiValue>(field: ViewMut<'_, Vec<T>>, items: Vec<T>) {
    match items.is_empty() {
        true => field.clear(),
        false => field.set(items),
    }
}
