//! From the cache's history to the controllers: everything there is, once, then every change in order.
//! Guarantees that nothing is missed: who falls behind the retained history is shown everything anew.
//! Must never poll: while nothing is written that an observer wants to see, it sleeps.
//!
//! Budget: a change that no observer wants costs nothing, any other its observers' work; a round costs a pointer load and a
//! search per kind, some microseconds.

use crate::resource_index::{Kind, KindId, ResourceIndex};
use crate::stats::Reading;
use pintle_cache::{Event, Expired, State, WatchFilter, Watcher};
use pintle_storage::Revision;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::{JoinError, spawn_blocking};

/// How many events are taken at a time.
const EVENTS_AT_A_TIME: usize = 1024;

/// What there is of a kind.
pub struct Listed {
    pub id: KindId,
    pub kind: Arc<Kind>,
    pub state: Arc<State>,
}

/// Who is shown what changes. Called by one task; must be quick.
pub trait Observer: Send + Sync {
    /// Which changes of a kind it must be shown. It may be shown others.
    fn interest(&self, kind: KindId) -> Option<WatchFilter>;

    /// What there is, by kind. What was known before no longer counts.
    fn list(&self, listed: &[Listed]);

    /// A change that followed.
    fn observe(&self, kind: KindId, event: &Event);

    /// A kind is served that was not before; its objects have been shown.
    fn added(&self, _kind: KindId) {}

    /// The queue that it works on, if it has one.
    fn queue(&self) -> Option<Reading<'_>> {
        None
    }
}

/// Shows the observers everything, until it is dropped. `batch`: how long changes may gather before they are shown.
pub async fn run(world: Arc<ResourceIndex>, observers: Vec<Arc<dyn Observer>>, batch: Duration) {
    let mut tables = world.registry.resources.changes();
    loop {
        tables.borrow_and_update();
        world.refresh();
        let revision = world.registry.cache.current();
        let listed = list(&world, &observers).await;
        let mut cursors = Vec::with_capacity(listed.len());
        for one in &listed {
            follow(one, &observers, &mut cursors);
        }
        world.set_observed(revision);
        let mut progress = world.registry.cache.progress();
        // Also ends when a kind is taken out: what was known of it no longer counts.
        while let Ok(seen) = show(&world, &mut cursors, &observers) {
            if seen > world.observed() {
                // Seen before its commit was whole: what else is in that has to be seen, too, before it counts.
                let _ = progress.wait_for(|current| *current >= seen).await;
                continue;
            }
            tokio::select! {
                () = changed(&mut cursors) => {}
                Ok(()) = tables.changed() => {
                    for (id, kind) in world.refresh() {
                        let state = kind.target.cache.state();
                        add(Listed { id, kind, state }, &observers, &mut cursors);
                    }
                }
            }
            if !batch.is_zero() {
                tokio::time::sleep(batch).await;
            }
        }
    }
}

/// Follows a kind from a state on, if anybody wants to be shown its changes.
fn follow(one: &Listed, observers: &[Arc<dyn Observer>], cursors: &mut Vec<(KindId, Watcher)>) {
    let after = one.state.last.max(one.state.compacted);
    let interest = interest(observers, one.id);
    cursors.extend(interest.map(|interest| (one.id, one.kind.target.cache.watch_matching(after, interest))));
}

/// Shows what there is of a kind that is new, each object as if it had just been made, and follows it.
fn add(new: Listed, observers: &[Arc<dyn Observer>], cursors: &mut Vec<(KindId, Watcher)>) {
    cursors.retain(|(id, _)| *id != new.id);
    for object in new.state.objects.values() {
        let event = Event { revision: object.revision, object: object.clone(), previous: None, removed: false };
        observers.iter().for_each(|observer| observer.observe(new.id, &event));
    }
    observers.iter().for_each(|observer| observer.added(new.id));
    follow(&new, observers, cursors);
}

/// Shows everything that there is, on a thread where nobody waits for an answer: that takes long where there is much.
async fn list(world: &ResourceIndex, observers: &[Arc<dyn Observer>]) -> Vec<Listed> {
    let kinds = world.kinds();
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
        // The runtime ends, and everything with it.
        Err(Err(_)) => pending().await,
    }
}

/// What of a kind anybody must be shown.
fn interest(observers: &[Arc<dyn Observer>], kind: KindId) -> Option<WatchFilter> {
    let wanted = observers.iter().filter_map(|observer| observer.interest(kind));
    wanted.reduce(|a, b| if a == b { a } else { WatchFilter::Everything })
}

/// Waits until one of them may have something to show.
async fn changed(cursors: &mut [(KindId, Watcher)]) {
    poll_fn(|context| {
        // All are asked, as only who was asked calls.
        let called = cursors.iter_mut().filter_map(|(_, cursor)| cursor.poll_changed(context).is_ready().then_some(()));
        if called.count() > 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Shows what has changed; says which change was the last.
fn show(
    world: &ResourceIndex,
    cursors: &mut [(KindId, Watcher)],
    observers: &[Arc<dyn Observer>],
) -> Result<Revision, Expired> {
    let revision = world.registry.cache.current();
    let mut seen = revision;
    for (id, cursor) in cursors {
        loop {
            let events = cursor.take(EVENTS_AT_A_TIME)?;
            for event in &events {
                observers.iter().for_each(|observer| observer.observe(*id, event));
                seen = seen.max(event.revision);
            }
            if events.len() < EVENTS_AT_A_TIME {
                break;
            }
        }
    }
    world.set_observed(revision);
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
