//! Namespace deletion: empties a namespace that is being deleted, then finalizes it. Guarantees that the `kubernetes`
//! finalizer is removed only after everything in the namespace is gone. Must never change a namespace that is not being
//! deleted.

mod aggregated;
mod conditions;
mod content;
#[cfg(test)]
mod tests;

pub use aggregated::{
    AggregatedClient, AggregatedCollection, AggregatedError, AggregatedResource, AggregatedResources,
};

use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{Kind, KindId, ObjectKey, ResourceIndex};
use crate::slices::Work;
use crate::stats::QueueSnapshot;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_schema::{Time, Value, View, ViewMut};
use pintle_types::core::v1::{FinalizerName, Namespace, NamespacePhase, NamespaceSpec, NamespaceStatus};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The number of namespaces whose own content is deleted concurrently.
const EMPTYING: usize = 8;

pub struct NamespaceController {
    index: Arc<ResourceIndex>,
    /// The kind Namespace.
    namespaces: KindId,
    queue: Queue<ObjectKey>,
    /// The namespaces being deleted, by name, with the kinds that the last attempt left objects of: the next attempt comes
    /// when these are gone, not for each object.
    terminating: Mutex<HashMap<String, HashSet<KindId>>>,
    settle: Duration,
    /// Sends requests to extension servers, if there can be any.
    aggregated: Option<Arc<dyn AggregatedClient>>,
    /// A permit for each namespace whose own content is deleted. None is held while an extension server is waited for.
    emptying: Semaphore,
    work: Work,
}

impl NamespaceController {
    /// `None` if namespaces are not stored.
    pub fn new(
        index: Arc<ResourceIndex>,
        settle: Duration,
        aggregated: Option<Arc<dyn AggregatedClient>>,
    ) -> Option<Self> {
        let namespaces = index.stored("", "namespaces")?;
        Some(NamespaceController {
            index,
            namespaces,
            queue: Queue::new("namespace"),
            terminating: Mutex::default(),
            settle,
            aggregated,
            emptying: Semaphore::new(EMPTYING),
            work: Work::default(),
        })
    }

    /// Processes the queue until the future is dropped. Several of these may run.
    pub async fn work(&self) {
        loop {
            let place = self.queue.next().await;
            let outcome = self.sync(&place).await;
            self.queue.finish(place, outcome);
        }
    }

    fn terminating(&self) -> MutexGuard<'_, HashMap<String, HashSet<KindId>>> {
        self.terminating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> Requests<'_> {
        Requests { index: &self.index, who: Who::Account("namespace-controller") }
    }

    /// Makes one step of a namespace's deletion.
    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let (Some(kind), Some(stored)) = (self.index.kind(place.kind), self.index.object(place)) else {
            return Outcome::Done;
        };
        let Ok(namespace) = self.index.registry.decode(&kind.target, &stored) else { return Outcome::Done };
        let view = View::<Namespace>::new(&namespace);
        let Some(deleted) = view.field(Namespace::METADATA).field(ObjectMeta::DELETION_TIMESTAMP).get() else {
            return Outcome::Done;
        };
        if view.field(Namespace::SPEC).field(NamespaceSpec::FINALIZERS).iter().len() == 0 {
            return Outcome::Done;
        }
        // Nothing is stored in the namespace after its deletion began, and what was before is visible then.
        kind.target.cache.progress.reached(stored.revision).await;
        let now = self.index.registry.environment.now_unix();
        let emptied = self.empty(stored.name(), now.saturating_sub(deleted.seconds)).await;
        let target = kind.at(&stored);
        let uid = stored.encoded.uid();
        let requests = self.requests();
        let change = |object: &mut Value| {
            if is(object, uid) {
                let mut status = ViewMut::<Namespace>::new(object).field(Namespace::STATUS);
                status.by_ref().field(NamespaceStatus::PHASE).set(NamespacePhase::TERMINATING);
                conditions::write(status, &emptied, Time::from_seconds(now));
            }
        };
        let changed = requests.change(&target, "status", change).await;
        if self.await_kinds(stored.name(), &emptied.awaited) {
            return Outcome::After(Duration::ZERO);
        }
        if !emptied.undiscovered.is_empty() || !emptied.failures.is_empty() || changed.is_err() {
            return Outcome::Retry;
        }
        if emptied.estimate_seconds > 0 {
            let seconds = u64::try_from(emptied.estimate_seconds / 2 + 1).unwrap_or(1);
            return Outcome::After(Duration::from_secs(seconds));
        }
        let finalize = |object: &mut Value| {
            if is(object, uid) {
                let finalizers =
                    ViewMut::<Namespace>::new(object).field(Namespace::SPEC).field(NamespaceSpec::FINALIZERS);
                let mut names = finalizers.view().get();
                names.retain(|name| *name != FinalizerName::KUBERNETES);
                finalizers.set(names);
            }
        };
        retry_on_failure(&requests.change(&target, "finalize", finalize).await)
    }

    /// Records the kinds that an attempt left objects of; returns whether there were some, and are none any more.
    fn await_kinds(&self, namespace: &str, awaited: &HashSet<KindId>) -> bool {
        if let Some(known) = self.terminating().get_mut(namespace) {
            known.clone_from(awaited);
        }
        // Objects that are removed from now on are observed with these kinds recorded.
        let has_content =
            |kind: &KindId| self.index.kind(*kind).is_some_and(|kind| ResourceIndex::has_content(&kind, namespace));
        !awaited.is_empty() && !awaited.iter().any(has_content)
    }

    /// Whether an event concerns the next attempt to empty a namespace: an object is new, or was the last of those that the
    /// previous attempt left.
    fn ends_wait(&self, awaited: &mut HashSet<KindId>, kind: KindId, event: &Event) -> bool {
        if !event.removed {
            return event.previous.is_none();
        }
        let namespace = event.object.namespace();
        let has_content = |kind: Arc<Kind>| ResourceIndex::has_content(&kind, namespace);
        if !awaited.contains(&kind) || self.index.kind(kind).is_some_and(has_content) {
            return false;
        }
        awaited.remove(&kind);
        awaited.is_empty()
    }

    fn add(&self, namespace: &Object) {
        self.queue.add(ObjectKey { kind: self.namespaces, key: namespace.key.clone() }, self.settle);
    }
}

/// Whether an object begins to be deleted. Later changes, such as those of its status, need no attempt.
fn begins_deletion(event: &Event) -> bool {
    let was_terminating = event
        .previous
        .as_ref()
        .is_some_and(|previous| previous.encoded.terminating && previous.encoded.uid() == event.object.encoded.uid());
    event.object.encoded.terminating && !was_terminating
}

/// Whether it is still the same namespace.
fn is(namespace: &Value, uid: &str) -> bool {
    let metadata = View::<Namespace>::new(namespace).field(Namespace::METADATA);
    metadata.field(ObjectMeta::UID).as_str() == uid
}

impl Observer for NamespaceController {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    fn interest(&self, _: KindId) -> Option<WatchFilter> {
        Some(WatchFilter::Lifecycle)
    }

    fn list(&self, listed: &[Listed]) {
        let Some(Listed { state, .. }) = listed.iter().find(|one| one.id == self.namespaces) else { return };
        let gone = state.objects.values().filter(|namespace| namespace.encoded.terminating);
        let mut terminating = self.terminating();
        terminating.clear();
        for namespace in gone {
            terminating.insert(namespace.name().to_owned(), HashSet::new());
            self.add(namespace);
        }
    }

    fn observe(&self, kind: KindId, event: &Event) {
        let mut terminating = self.terminating();
        if kind == self.namespaces {
            if event.removed {
                terminating.remove(event.object.name());
            } else if begins_deletion(event) {
                terminating.entry(event.object.name().to_owned()).or_default();
                self.add(&event.object);
            }
        } else if let Some(awaited) = terminating.get_mut(event.object.namespace())
            && self.ends_wait(awaited, kind, event)
        {
            let namespaces = self.index.kind(self.namespaces);
            let key = namespaces.map(|kind| format!("{}{}", kind.target.storage().prefix, event.object.namespace()));
            let place = key.map(|key| ObjectKey { kind: self.namespaces, key: key.into() });
            place.into_iter().for_each(|place| self.queue.add(place, self.settle));
        }
    }
}
