//! Feeds the controllers from the cache: all objects once, then every change in order. Guarantees that no change is
//! missed: a controller that falls behind the retained history gets all objects again. Must never poll: it sleeps until
//! a change that an observer wants.
//!
//! Budget: a change that no observer wants is free; a round costs a pointer load and a search per kind, some
//! microseconds.

use crate::resource_index::{Kind, KindId, ResourceIndex};
use crate::slices::{Slices, Work};
use crate::stats::QueueSnapshot;
use futures_util::future::BoxFuture;
use pintle_cache::{Event, Expired, State, WatchFilter, Watcher};
use pintle_storage::Revision;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::{JoinError, spawn_blocking};

/// The number of events in a batch.
const EVENTS_AT_A_TIME: usize = 1024;

/// The state of a kind.
pub struct Listed {
    pub id: KindId,
    pub kind: Arc<Kind>,
    pub state: Arc<State>,
}

/// Receives objects and changes. Called by one task; must be quick.
pub trait Observer: Send + Sync {
    /// Which changes of a kind it needs. It may receive others.
    fn interest(&self, kind: KindId) -> Option<WatchFilter>;

    /// Receives the state of all kinds, which replaces all earlier knowledge.
    fn list(&self, listed: &[Listed]);

    /// Receives a change.
    fn observe(&self, kind: KindId, event: &Event);

    /// Receives a change, which may concern very many objects: the work is then done in slices.
    fn observe_in_slices<'a>(&'a self, kind: KindId, event: &'a Event) -> Option<BoxFuture<'a, ()>> {
        self.observe(kind, event);
        None
    }

    /// Receives a new kind, after its objects.
    fn added(&self, _kind: KindId) {}

    /// Receives that kinds or versions of kinds were added, after the objects of new kinds.
    fn kinds_changed(&self) {}

    /// The statistics of its queue, if it has one.
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        None
    }
}

/// Feeds the observers until the future is dropped. `batch`: how long changes are collected before they are passed on.
pub async fn run(index: Arc<ResourceIndex>, observers: Vec<Arc<dyn Observer>>, batch: Duration) {
    let mut tables = index.registry.resources.changes();
    loop {
        tables.borrow_and_update();
        index.refresh();
        let revisions = index.registry.revisions();
        let listed = list(&index, &observers).await;
        let mut cursors = Vec::with_capacity(listed.len());
        for one in &listed {
            follow(one, &observers, &mut cursors);
        }
        index.set_observed(&revisions);
        // Also ends when a kind is removed, and all is listed again.
        while let Ok(seen) = show(&index, &mut cursors, &observers).await {
            let mut stores = index.registry.cache.progress().zip(seen);
            if let Some((progress, seen)) = stores.find(|(progress, seen)| *seen > index.observed(progress.number())) {
                // The cache may publish a part of a commit: the rest must be observed too.
                let _ = progress.changes().wait_for(|current| *current >= seen).await;
                continue;
            }
            tokio::select! {
                () = changed(&mut cursors) => {}
                () = index.expected.notified() => {}
                Ok(()) = tables.changed() => {
                    // A kind may have been removed and added again: what was deleted meanwhile has no event, so all is
                    // listed.
                    if cursors.iter().any(|(_, cursor)| cursor.is_ended()) {
                        break;
                    }
                    for (id, kind) in index.refresh() {
                        let state = kind.target.cache.state();
                        add(Listed { id, kind, state }, &observers, &mut cursors).await;
                    }
                    observers.iter().for_each(|observer| observer.kinds_changed());
                }
            }
            if !batch.is_zero() {
                tokio::time::sleep(batch).await;
            }
        }
    }
}

/// Watches a kind from a state on, if an observer wants its changes.
fn follow(one: &Listed, observers: &[Arc<dyn Observer>], cursors: &mut Vec<(KindId, Watcher)>) {
    let after = one.state.last.max(one.state.compacted);
    let interest = interest(observers, one.id);
    cursors.extend(interest.map(|interest| (one.id, one.kind.target.cache.watch_matching(after, interest))));
}

/// Passes on the objects of a new kind as if they had just been created, and watches it.
async fn add(new: Listed, observers: &[Arc<dyn Observer>], cursors: &mut Vec<(KindId, Watcher)>) {
    cursors.retain(|(id, _)| *id != new.id);
    let work = Work::default();
    let mut slices = work.slices();
    for object in new.state.objects.values() {
        let event = Event { revision: object.revision, object: object.clone(), previous: None, removed: false };
        pass_on(new.id, &event, observers, &mut slices).await;
    }
    observers.iter().for_each(|observer| observer.added(new.id));
    follow(&new, observers, cursors);
}

/// Passes on all objects, on a blocking thread, because this may take long.
async fn list(index: &ResourceIndex, observers: &[Arc<dyn Observer>]) -> Vec<Listed> {
    let kinds = index.kinds();
    let listed = |(id, kind): (KindId, &Arc<Kind>)| Listed { id, kind: kind.clone(), state: kind.target.cache.state() };
    let listed: Vec<Listed> = kinds.iter().map(listed).collect();
    let observers = observers.to_vec();
    let shown = spawn_blocking(move || {
        observers.iter().for_each(|observer| observer.list(&listed));
        listed
    });
    match shown.await.map_err(JoinError::try_into_panic) {
        Ok(listed) => listed,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime is shutting down.
        Err(Err(_)) => pending().await,
    }
}

/// The union of the observers' interests in a kind.
fn interest(observers: &[Arc<dyn Observer>], kind: KindId) -> Option<WatchFilter> {
    let wanted = observers.iter().filter_map(|observer| observer.interest(kind));
    wanted.reduce(|a, b| if a == b { a } else { WatchFilter::Everything })
}

/// Waits until one of them may have a change.
async fn changed(cursors: &mut [(KindId, Watcher)]) {
    poll_fn(|context| {
        // All are polled, because only a polled one wakes the task.
        let called = cursors.iter_mut().filter_map(|(_, cursor)| cursor.poll_changed(context).is_ready().then_some(()));
        if called.count() > 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn pass_on(kind: KindId, event: &Event, observers: &[Arc<dyn Observer>], slices: &mut Slices<'_>) {
    for observer in observers {
        if let Some(rest) = observer.observe_in_slices(kind, event) {
            rest.await;
        }
    }
    slices.step().await;
}

/// Passes on changes, each when everything up to its revision is published; returns the revision of the last one, by store.
async fn show(
    index: &ResourceIndex,
    cursors: &mut [(KindId, Watcher)],
    observers: &[Arc<dyn Observer>],
) -> Result<Vec<Revision>, Expired> {
    let revisions = index.registry.revisions();
    let mut seen = revisions.clone();
    let work = Work::default();
    let mut slices = work.slices();
    for (id, cursor) in cursors {
        let store = cursor.progress().number();
        loop {
            let events = cursor.take(EVENTS_AT_A_TIME)?;
            if let Some(last) = events.last() {
                // Who counts at the current revision must count what has changed.
                cursor.progress().reached(last.revision).await;
            }
            for event in &events {
                pass_on(*id, event, observers, &mut slices).await;
            }
            if let (Some(seen), Some(last)) = (seen.get_mut(store), events.last()) {
                *seen = last.revision.max(*seen);
            }
            if events.len() < EVENTS_AT_A_TIME {
                break;
            }
        }
    }
    index.set_observed(&revisions);
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Wants([Option<WatchFilter>; 2]);

    impl Observer for Wants {
        fn interest(&self, kind: KindId) -> Option<WatchFilter> {
            self.0[kind as usize].clone()
        }

        fn list(&self, _: &[Listed]) {}

        fn observe(&self, _: KindId, _: &Event) {}
    }

    #[test]
    fn a_kind_is_followed_as_far_as_anybody_wants() {
        let (life, all) = (Some(WatchFilter::Lifecycle), Some(WatchFilter::Everything));
        let rows = [
            ([None, None], None),
            ([life.clone(), None], life.clone()),
            ([life.clone(), life.clone()], life.clone()),
            ([all.clone(), life], all),
        ];
        for (wanted, expected) in rows {
            let observers: Vec<Arc<dyn Observer>> =
                wanted.into_iter().map(|interest| Arc::new(Wants([None, interest])) as Arc<dyn Observer>).collect();
            assert_eq!((interest(&observers, 0), interest(&observers, 1)), (None, expected));
        }
    }
}
