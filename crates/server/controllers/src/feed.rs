//! From the cache's history to the controllers: everything there is, once, then every change in order.
//! Guarantees that nothing is missed: who falls behind the retained history is shown everything anew.
//! Must never poll: while nothing is written it sleeps.
//!
//! Budget: a change costs its observers' work; a round costs a pointer load and a search per kind, some microseconds.

use crate::figures::Reading;
use crate::world::{KindId, World};
use pintle_cache::{Cursor, Event, Expired, State};
use std::sync::Arc;
use std::time::Duration;

/// How many events are taken at a time.
const EVENTS_AT_A_TIME: usize = 1024;

/// Who is shown what changes. Called by one task; must be quick.
pub trait Observer: Send + Sync {
    /// What there is, by kind. What was known before no longer counts.
    fn list(&self, states: &[Arc<State>]);

    /// A change that followed.
    fn observe(&self, kind: KindId, event: &Event);

    /// The queue that it works on, if it has one.
    fn queue(&self) -> Option<Reading<'_>> {
        None
    }
}

/// Shows the observers everything, until it is dropped. `batch`: how long changes may gather before they are shown.
pub async fn run(world: Arc<World>, observers: Vec<Arc<dyn Observer>>, batch: Duration) {
    let cache = &world.registry.cache;
    let mut progress = cache.progress();
    loop {
        let revision = cache.current();
        let states: Vec<_> = world.kinds.iter().map(|kind| kind.target.cache.state()).collect();
        observers.iter().for_each(|observer| observer.list(&states));
        let mut cursors = Vec::with_capacity(states.len());
        for (kind, state) in world.kinds.iter().zip(states) {
            cursors.push(kind.target.cache.cursor(state.last.max(state.compacted)));
        }
        world.set_observed(revision);
        while show(&world, &mut cursors, &observers).is_ok() {
            if progress.changed().await.is_err() {
                // The cache is gone, and with it the server.
                return;
            }
            if !batch.is_zero() {
                tokio::time::sleep(batch).await;
            }
            progress.mark_unchanged();
        }
    }
}

fn show(world: &World, cursors: &mut [Cursor], observers: &[Arc<dyn Observer>]) -> Result<(), Expired> {
    let revision = world.registry.cache.current();
    for (id, cursor) in (0..).zip(cursors) {
        loop {
            let events = cursor.take(EVENTS_AT_A_TIME)?;
            for event in &events {
                observers.iter().for_each(|observer| observer.observe(id, event));
            }
            if events.len() < EVENTS_AT_A_TIME {
                break;
            }
        }
    }
    world.set_observed(revision);
    Ok(())
}
