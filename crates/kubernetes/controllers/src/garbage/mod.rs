//! Garbage collection by owner references: background, foreground and orphaning, as kube-controller-manager does it.
//! Guarantees that an object is deleted only if none of its owners exists, and that an owner in foreground deletion
//! waits for its blocking dependents. Must never decide on incomplete data: dependents are counted only after every
//! change up to their owner's has been observed, and every earlier one of other stores.

mod graph;
mod references;
mod report;

use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::requests::{AT_A_TIME, Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex, has_finalizer, metadata, waits_for};
use crate::stats::QueueSnapshot;
use futures_util::StreamExt;
use futures_util::stream;
use graph::Graph;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Result, Target};
use pintle_schema::{Value, ViewMut};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The wait for changes that are written and not yet observed.
const NOT_SEEN_YET: Duration = Duration::from_millis(10);

pub struct GarbageCollector {
    world: Arc<ResourceIndex>,
    graph: Mutex<Graph>,
    /// Objects whose owners are of kinds that are not served: they are checked again when a kind is added.
    undecided: Mutex<HashSet<ObjectKey>>,
    queue: Queue<ObjectKey>,
    settle: Duration,
}

impl GarbageCollector {
    pub fn new(world: Arc<ResourceIndex>, settle: Duration) -> Self {
        GarbageCollector {
            world,
            graph: Mutex::default(),
            undecided: Mutex::default(),
            queue: Queue::new("garbage_collector_attempt_to_delete"),
            settle,
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

    fn graph(&self) -> MutexGuard<'_, Graph> {
        // No code that holds the lock can panic.
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn undecided(&self) -> MutexGuard<'_, HashSet<ObjectKey>> {
        self.undecided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> Requests<'_> {
        Requests { world: &self.world, who: Who::Account("generic-garbage-collector") }
    }

    fn soon(&self, place: ObjectKey) {
        self.queue.add(place, self.settle);
    }

    /// Checks an object.
    async fn check(&self, place: &ObjectKey) -> Outcome {
        let (Some(kind), Some(object)) = (self.world.kind(place.kind), self.world.object(place)) else {
            return Outcome::Done;
        };
        let target = kind.at(&object);
        let metadata = metadata(&object);
        if object.encoded.terminating {
            let orphans = has_finalizer(&metadata, ORPHAN);
            if !orphans && !has_finalizer(&metadata, FOREGROUND) {
                return Outcome::Done;
            }
            let store = target.cache.progress.number();
            if object.revision > self.world.observed(store) {
                return Outcome::After(NOT_SEEN_YET);
            }
            if self.observe_others(store).await.is_err() {
                return Outcome::Retry;
            }
            return match orphans {
                true => self.orphan(&target, &object).await,
                false => self.foreground(place, &target, &object).await,
            };
        }
        let references = references::of(&metadata);
        if references.is_empty() {
            return Outcome::Done;
        }
        self.check_owners(place, &target, &object, &metadata, references).await
    }

    /// Waits until everything has been observed that the other stores acknowledged before this call: their revisions do not
    /// tell whether a dependent was written before its owner was deleted.
    async fn observe_others(&self, store: usize) -> Result<()> {
        if !self.world.has_several_stores() {
            return Ok(());
        }
        let mut known = vec![store];
        for (_, kind) in self.world.kinds().iter().filter(|(_, kind)| kind.is_collected()) {
            let cache = &kind.target.cache;
            let other = cache.progress.number();
            if known.contains(&other) {
                continue;
            }
            known.push(other);
            self.world.registry.catch_up(cache).await?;
            let reached = cache.current();
            while self.world.observed(other) < reached {
                self.world.expected.notify_one();
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
        metadata: &Value,
        references: Vec<OwnerReference>,
    ) -> Outcome {
        let generation = self.world.generation();
        for kind in references::elsewhere(&self.world, target, object, &references) {
            // The owner may have been written before this object, and not be visible yet.
            if self.world.registry.catch_up(&kind.target.cache).await.is_err() {
                return Outcome::Retry;
            }
        }
        let owners = references::resolve(&self.world, &self.graph, object, references);
        for owner in &owners.misplaced {
            report::misplaced(&self.requests(), target, object, owner).await;
        }
        if owners.undecided {
            self.undecided().insert(place.clone());
            // A kind that was added meanwhile may be the owner's, and its addition may have come before this object was
            // recorded as undecided.
            return if self.world.generation() == generation { Outcome::Done } else { Outcome::After(Duration::ZERO) };
        }
        let uid = object.encoded.uid();
        if owners.solid > 0 {
            let lost = [owners.dangling, owners.waiting].concat();
            return match lost.is_empty() {
                true => Outcome::Done,
                false => retry_on_failure(&self.release(target, uid, &lost).await),
            };
        }
        let propagation = if !owners.waiting.is_empty() && self.graph().has_dependents(uid) {
            let keeps_owners = references::block(metadata);
            if keeps_owners && self.may_be_in_a_circle(uid) {
                // The two would wait for each other. The change queues the object again, and then it is deleted.
                return match self.change_references(target, uid, |references| unblock(references)).await {
                    Ok(()) => Outcome::After(Duration::ZERO),
                    Err(_) => Outcome::Retry,
                };
            }
            Propagation::Foreground
        } else if has_finalizer(metadata, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(metadata, FOREGROUND) {
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

    /// Whether one of an object's dependents itself waits for its dependents.
    fn may_be_in_a_circle(&self, uid: &str) -> bool {
        let dependents = self.graph().dependents(uid);
        let waits = |place: &ObjectKey| self.world.object(place).is_some_and(|object| waits_for(&object, FOREGROUND));
        dependents.iter().any(waits)
    }

    /// Finishes the deletion of an owner once its dependents no longer refer to it.
    async fn orphan(&self, target: &Target, owner: &Object) -> Outcome {
        let uid = owner.encoded.uid();
        let lost = [uid.to_owned()];
        let dependents = self.graph().dependents(uid);
        let releases = dependents.into_iter().filter_map(|place| {
            let dependent = self.world.object(&place)?;
            let target = self.world.kind(place.kind)?.at(&dependent);
            let lost = &lost;
            Some(async move { self.release(&target, dependent.encoded.uid(), lost).await })
        });
        let releases: Vec<_> = releases.collect();
        let outcomes: Vec<Result<()>> = stream::iter(releases).buffer_unordered(AT_A_TIME).collect().await;
        match outcomes.iter().all(Result::is_ok) {
            true => self.finish(target, uid, ORPHAN).await,
            false => Outcome::Retry,
        }
    }

    /// Finishes the deletion of an owner once no dependent blocks it; until then each change of a dependent queues it
    /// again.
    async fn foreground(&self, place: &ObjectKey, target: &Target, owner: &Object) -> Outcome {
        let uid = owner.encoded.uid();
        let (begins, dependents) = {
            let mut graph = self.graph();
            (graph.set_foreground(uid, place), graph.dependents(uid))
        };
        let keeps = |place: &ObjectKey| {
            let dependent = self.world.object(place);
            dependent.is_some_and(|dependent| references::blocks(&metadata(&dependent), uid))
        };
        if dependents.iter().any(keeps) {
            if begins {
                dependents.into_iter().for_each(|dependent| self.queue.add(dependent, Duration::ZERO));
            }
            return Outcome::Done;
        }
        self.finish(target, uid, FOREGROUND).await
    }

    /// Removes references to missing owners from an object.
    async fn release(&self, target: &Target, uid: &str, lost: &[String]) -> Result<()> {
        self.change_references(target, uid, |references| references.retain(|owner| !lost.contains(&owner.uid))).await
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

    /// Removes a finalizer.
    async fn finish(&self, target: &Target, uid: &str, finalizer: &str) -> Outcome {
        let change = |metadata: ViewMut<'_, ObjectMeta>| {
            let mut finalizers = metadata.view().field(ObjectMeta::FINALIZERS).get();
            finalizers.retain(|name| name != finalizer);
            set_list(metadata.field(ObjectMeta::FINALIZERS), finalizers);
        };
        retry_on_failure(&self.requests().change_metadata(target, uid, change).await)
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

impl Observer for GarbageCollector {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        self.world.kind(kind).is_some_and(|kind| kind.is_collected()).then_some(WatchFilter::Lifecycle)
    }

    /// Two passes over the headers of encoded objects: which have owners, and which owners exist.
    fn list(&self, listed: &[Listed]) {
        let mut graph = Graph::default();
        for Listed { id, state, .. } in listed.iter().filter(|one| one.kind.is_collected()) {
            for object in state.objects.values() {
                let place = || ObjectKey { kind: *id, key: object.key.clone() };
                if object.encoded.owners().next().is_some() {
                    graph.insert(&place(), object.encoded.owners());
                }
                if object.encoded.is_held() {
                    self.soon(place());
                }
            }
        }
        let objects = listed.iter().flat_map(|one| one.state.objects.values());
        let owners = objects.filter(|object| graph.has_dependents(object.encoded.uid()));
        let there: HashMap<&str, &str> = owners.map(|owner| (owner.encoded.uid(), owner.namespace())).collect();
        for (uid, dependents) in graph.owners() {
            // An owner without a namespace may have dependents in any.
            let fits = |place: &ObjectKey| match there.get(uid) {
                None => false,
                Some(&"") => true,
                Some(namespace) => self.world.object(place).is_none_or(|object| object.namespace() == *namespace),
            };
            dependents.iter().filter(|place| !fits(place)).for_each(|place| self.soon(place.clone()));
        }
        // An owner whose uid is not found may be undecodable, or of a kind that is added later: each is looked up by
        // its key.
        *self.graph() = graph;
    }

    fn added(&self, _: KindId) {
        let undecided = std::mem::take(&mut *self.undecided());
        undecided.into_iter().for_each(|place| self.soon(place));
    }

    fn observe(&self, kind: KindId, event: &Event) {
        if !self.world.kind(kind).is_some_and(|kind| kind.is_collected()) {
            return;
        }
        let place = || ObjectKey { kind, key: event.object.key.clone() };
        let before = || event.previous.iter().flat_map(|object| object.encoded.owners());
        let after =
            || Some(&event.object).filter(|_| !event.removed).into_iter().flat_map(|object| object.encoded.owners());
        let mut graph = self.graph();
        // An owner may no longer have to wait for its dependents.
        before().filter_map(|uid| graph.foreground(uid)).for_each(|owner| self.soon(owner.clone()));
        if before().ne(after()) {
            graph.remove(&place(), before());
            graph.insert(&place(), after());
            if after().next().is_some() {
                self.soon(place());
            }
        }
        let uid = event.object.encoded.uid();
        if event.removed {
            graph.set_gone(uid);
            graph.dependents(uid).into_iter().for_each(|dependent| self.soon(dependent));
        } else if event.object.encoded.is_held() {
            self.soon(place());
        }
    }
}
