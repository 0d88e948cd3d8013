//! Controllers that bring single objects to the state that they should have: one queue and one loop for all.
//! Guarantees that an object is worked at by one worker at a time, and again when something that concerns it has changed.
//! Must never know a kind.

pub mod aggregation;
pub mod default_accounts;
pub mod finished_jobs;
pub mod legacy_tokens;
pub mod migrations;
pub mod quotas;
pub mod root_certificates;
pub mod tokens;

use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use crate::stats::Reading;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_schema::Value;
use std::sync::Arc;
use std::time::Duration;

/// What a controller does, and for which objects.
pub trait Reconciler: Send + Sync + Sized + 'static {
    /// What metrics call its queue.
    const QUEUE: &'static str;
    /// How many objects are worked at at the same time.
    const WORKERS: usize = 1;

    /// `None` where the kinds that it needs are not stored.
    fn new(world: Arc<ResourceIndex>) -> Option<Self>;

    /// Which changes of a kind concern it.
    fn interest(&self, kind: KindId) -> Option<WatchFilter>;

    /// The objects to work at because of an object, and after how long. `event` is absent for an object that was there before
    /// the controller began.
    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration));

    /// All that is known of objects no longer counts.
    fn forget(&self) {}

    /// Works at an object.
    fn sync(&self, place: &ObjectKey) -> impl Future<Output = Outcome> + Send;
}

/// A reconciler with its queue.
pub struct Reconciling<R> {
    reconciler: R,
    queue: Queue<ObjectKey>,
    /// How long a change is left alone before it is acted on.
    settle: Duration,
}

impl<R: Reconciler> Reconciling<R> {
    pub fn new(reconciler: R, settle: Duration) -> Self {
        Reconciling { reconciler, queue: Queue::new(R::QUEUE), settle }
    }

    /// Works on what is due, until it is dropped.
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
    fn queue(&self) -> Option<Reading<'_>> {
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
}

/// A stored object and its content; `None` when it is gone or cannot be read.
pub(crate) fn read(world: &ResourceIndex, place: &ObjectKey) -> Option<(Arc<Object>, Value)> {
    let (kind, stored) = (world.kind(place.kind)?, world.object(place)?);
    let object = world.registry.decode(&kind.target, &stored).ok()?;
    Some((stored, object))
}

/// Whether an event removes its object.
pub(crate) fn is_removal(event: Option<&Event>) -> bool {
    event.is_some_and(|event| event.removed)
}

/// How long until a time; `None` when it is over.
pub(crate) fn until(world: &ResourceIndex, unix: i64) -> Option<Duration> {
    let left = unix.saturating_sub(world.registry.environment.now_unix());
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_secs)
}
