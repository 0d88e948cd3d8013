//! `Reconciler`: a controller of single objects; all share one queue type and one loop. Guarantees that one worker at a
//! time processes an object, and again when a related object has changed. Must never depend on a kind.

pub mod aggregation;
pub mod default_accounts;
pub mod finished_jobs;
pub mod legacy_tokens;
pub mod migrations;
pub mod policy_status;
pub mod quotas;
pub mod root_certificates;
pub mod storage_versions;
pub mod tokens;

use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use crate::stats::QueueSnapshot;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_schema::Value;
use std::sync::Arc;
use std::time::Duration;

/// A controller of single objects.
pub trait Reconciler: Send + Sync + Sized + 'static {
    /// The name of its queue in metrics.
    const QUEUE: &'static str;
    /// The number of workers.
    const WORKERS: usize = 1;
    /// Whether it waits after a change before it acts. Not if clients wait for what it does.
    const SETTLES: bool = true;

    /// `None` if the kinds that it needs are not stored.
    fn new(index: Arc<ResourceIndex>) -> Option<Self>;

    /// Which changes of a kind it needs.
    fn interest(&self, kind: KindId) -> Option<WatchFilter>;

    /// The objects to process because of an object, with their delays. `event` is absent for an object that existed
    /// before the controller started.
    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration));

    /// The objects to process because a kind is stored from now on. Its objects have been passed to `due` before.
    fn added(&self, _kind: KindId, _due: &mut dyn FnMut(ObjectKey, Duration)) {}

    /// Drops all that it knows about objects.
    fn forget(&self) {}

    /// Processes an object.
    fn sync(&self, place: &ObjectKey) -> impl Future<Output = Outcome> + Send;
}

/// A reconciler with its queue.
pub struct Reconciling<R> {
    reconciler: R,
    queue: Queue<ObjectKey>,
    /// The delay before a change is processed.
    settle: Duration,
}

impl<R: Reconciler> Reconciling<R> {
    pub fn new(reconciler: R, settle: Duration) -> Self {
        Reconciling { reconciler, queue: Queue::new(R::QUEUE), settle }
    }

    /// Processes the queue until the future is dropped.
    pub async fn work(&self) {
        loop {
            let place = self.queue.next().await;
            let outcome = self.reconciler.sync(&place).await;
            self.queue.finish(place, outcome);
        }
    }

    fn look(&self, kind: KindId, object: &Object, event: Option<&Event>) {
        self.reconciler.due(kind, object, event, &mut |place, delay| self.queue.add(place, delay.max(self.settle)));
    }
}

impl<R: Reconciler> Observer for Reconciling<R> {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        self.reconciler.interest(kind)
    }

    fn list(&self, listed: &[Listed]) {
        self.reconciler.forget();
        for one in listed.iter().filter(|one| self.reconciler.interest(one.id).is_some()) {
            one.state.objects.values().for_each(|object| self.look(one.id, object, None));
        }
    }

    fn observe(&self, kind: KindId, event: &Event) {
        self.look(kind, &event.object, Some(event));
    }

    fn added(&self, kind: KindId) {
        self.reconciler.added(kind, &mut |place, delay| self.queue.add(place, delay.max(self.settle)));
    }
}

/// A stored object and its content; `None` if it is gone or cannot be decoded.
pub(crate) fn read(index: &ResourceIndex, place: &ObjectKey) -> Option<(Arc<Object>, Value)> {
    let (kind, stored) = (index.kind(place.kind)?, index.object(place)?);
    let object = index.registry.decode(&kind.target, &stored).ok()?;
    Some((stored, object))
}

/// Whether an event removes its object.
pub(crate) fn is_removal(event: Option<&Event>) -> bool {
    event.is_some_and(|event| event.removed)
}

/// The duration until a time; `None` if it has passed.
pub(crate) fn until(index: &ResourceIndex, unix: i64) -> Option<Duration> {
    let left = unix.saturating_sub(index.registry.environment.now_unix());
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_secs)
}
