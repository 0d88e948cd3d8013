//! The essential parts of a server: its store, its listeners, and its essential tasks. Guarantees that the end of one of them
//! makes the server unhealthy and is reported. Must never restart one of them.

use crate::sources;
use futures_util::future::select_all;
use pintle_endpoints::Api;
use pintle_storage::{DiskSpace, EndedFuture, FatalSignal, Store};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tracing::warn;

/// Starts an essential task.
pub fn spawn<T: Send + 'static>(
    fatal_signal: &FatalSignal,
    what: &'static str,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let guard = fatal_signal.guard(what);
    tokio::spawn(async move {
        let _guard = guard;
        task.await
    })
}

/// Makes the health of the store, or of its partition with a number, a part of the server's: within the first time it is alive,
/// within the second it is ready.
pub fn follow_health(
    store: &dyn Store,
    partition: Option<usize>,
    (alive, ready): (Duration, Duration),
    api: &Arc<Api>,
) {
    // It was read a moment ago, or there would be no server.
    api.health.set_store(partition, true, true);
    let (health, was_well) = (api.clone(), AtomicBool::new(true));
    store.on_health(Box::new(move |answer| {
        let within = |timeout: Duration| answer.as_ref().is_ok_and(|took| *took <= timeout);
        health.health.set_store(partition, within(alive), within(ready));
        match (was_well.swap(answer.is_ok(), Ordering::Relaxed), answer) {
            (true, Err(why)) => warn!(err = why, partition, "the store does not answer"),
            (false, Ok(_)) => warn!(partition, "the store answers again"),
            _ => {}
        }
    }));
}

/// Makes the space of the store a part of its readiness, and shows it in the metrics.
pub fn follow_space(space: Arc<DiskSpace>, api: &Arc<Api>) {
    let shown = space.clone();
    api.metrics.add_source(move |out| sources::space(&shown, out));
    api.health.watch_store(Box::new(move || match space.is_full() {
        true => Err("the store is full: only deletions and writes that do not grow are accepted".to_owned()),
        false => Ok(()),
    }));
}

/// Waits for the end of the store or of another part, after which the server is not healthy any more.
pub async fn end_with(store: EndedFuture, others: EndedFuture, api: Weak<Api>, fatal_signal: FatalSignal) {
    let (why, part, _) = select_all([store, others]).await;
    if let Some(api) = api.upgrade() {
        if part == 0 {
            api.health.set_store(None, false, false);
        }
        api.health.set("vital-parts", false);
    }
    fatal_signal.report(why);
}
