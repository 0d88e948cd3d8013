//! `Tasks`: all background tasks of the store, from its connections to commits in progress. Guarantees that closing the store
//! ends all of them, and that none starts later. Finished tasks are removed when the next one starts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

pub struct Tasks {
    runtime: Handle,
    /// `None` once the store is closed.
    running: Mutex<Option<JoinSet<()>>>,
}

impl Tasks {
    pub fn new(runtime: Handle) -> Tasks {
        Tasks { runtime, running: Mutex::new(Some(JoinSet::new())) }
    }

    fn running(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        // Nothing that holds the lock can fail half way.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a future to its end, or until the store is closed.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(running) = self.running().as_mut() {
            while running.try_join_next().is_some() {}
            running.spawn_on(work, &self.runtime);
        }
    }

    /// Ends everything.
    pub fn close(&self) {
        let running = self.running().take();
        // Outside of the lock, as dropping it wakes waiters for its tasks.
        drop(running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::sync::Arc;

    #[tokio::test]
    async fn closing_ends_running_and_new_tasks() {
        let tasks = Tasks::new(Handle::current());
        let held = Arc::new(());
        let hold = || {
            let held = held.clone();
            async move {
                pending::<()>().await;
                drop(held);
            }
        };
        tasks.spawn(hold());
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&held), 2);
        tasks.close();
        tasks.spawn(hold());
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn finished_tasks_are_removed() {
        let tasks = Tasks::new(Handle::current());
        for _ in 0..100 {
            tasks.spawn(async {});
            tokio::task::yield_now().await;
        }
        assert!(tasks.running().as_ref().is_some_and(|running| running.len() <= 2));
    }
}
