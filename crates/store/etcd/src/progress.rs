//! The published revision, and the tasks that wait for a later one. Guarantees that publishing a revision wakes exactly
//! the tasks that wait for it. Its lock must never be held across an await.

use crate::limits;
use pintle_grpc::{Code, Status};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

#[derive(Default)]
pub struct Progress {
    published: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Vec<oneshot::Sender<()>>>>,
    closed: AtomicBool,
    /// Notified when a task waits for an event.
    pub expected: Notify,
    /// Notified when a task has waited for longer than events take.
    pub overdue: Notify,
    /// Notified when the cluster's revision is lower than the published one.
    pub behind: Notify,
    /// Which cluster is followed.
    cluster: AtomicU64,
}

/// The store was closed before the revision came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl Progress {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<oneshot::Sender<()>>>> {
        // Nothing that holds the lock can fail half way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Everything up to this revision has been published.
    pub fn reached(&self, revision: u64) {
        let mut waiting = self.waiting();
        self.published.fetch_max(revision, Ordering::AcqRel);
        let later = waiting.split_off(&(revision + 1));
        let due = std::mem::replace(&mut *waiting, later);
        drop(waiting);
        for waiter in due.into_values().flatten() {
            // The waiter may have been dropped.
            let _ = waiter.send(());
        }
    }

    /// Everything was published again at this revision, which may be lower.
    pub fn restarted(&self, revision: u64) {
        self.published.store(revision, Ordering::Release);
        self.reached(revision);
    }

    /// Checks that the cluster's revision in a later response is not lower than the published one.
    ///
    /// # Errors
    /// The cluster is behind: it was restored to an earlier state. Or the store was closed.
    pub fn check(&self, published: u64, answered: u64) -> Result<(), Status> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Status::unavailable("the store has ended"));
        }
        if answered >= published {
            return Ok(());
        }
        self.behind.notify_one();
        let message = format!("the cluster has gone back from revision {published} to {answered}");
        Err(Status::new(Code::DataLoss, message))
    }

    /// Whether this is the cluster that has been followed so far. From now on it is.
    pub fn follows(&self, cluster: u64) -> bool {
        [0, cluster].contains(&self.cluster.swap(cluster, Ordering::AcqRel))
    }

    /// The highest revision that a task waits for.
    pub fn wanted(&self) -> Option<u64> {
        let mut waiting = self.waiting();
        waiting.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        waiting.keys().next_back().copied()
    }

    /// Waits until everything up to a revision has been published.
    ///
    /// # Errors
    /// The store was closed.
    pub async fn wait(&self, revision: u64) -> Result<(), Closed> {
        let Some(mut receiver) = self.join(revision)? else { return Ok(()) };
        let answer = match timeout(limits::PROGRESS_AFTER, &mut receiver).await {
            Ok(answer) => answer,
            Err(_) => {
                self.overdue.notify_one();
                receiver.await
            }
        };
        answer.map_err(|_| Closed)
    }

    /// The same for a revision that is certainly an event, so that progress need not be requested until it is late.
    ///
    /// # Errors
    /// The store was closed.
    pub async fn wait_for_event(&self, revision: u64) -> Result<(), Closed> {
        let Some(receiver) = self.join(revision)? else { return Ok(()) };
        self.expected.notify_one();
        receiver.await.map_err(|_| Closed)
    }

    /// Registers a waiter, unless the revision has been published.
    fn join(&self, revision: u64) -> Result<Option<oneshot::Receiver<()>>, Closed> {
        if self.published() >= revision {
            return Ok(None);
        }
        let mut waiting = self.waiting();
        if self.published() >= revision {
            return Ok(None);
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(Closed);
        }
        let (sender, receiver) = oneshot::channel();
        waiting.entry(revision).or_default().push(sender);
        Ok(Some(receiver))
    }

    /// Nothing will be published any more.
    pub fn close(&self) {
        let mut waiting = self.waiting();
        self.closed.store(true, Ordering::Release);
        waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[tokio::test]
    async fn waiters_are_woken_by_their_revision_and_by_close() {
        let progress = Progress::default();
        let (mut five, mut seven) = (pin!(progress.wait(5)), pin!(progress.wait(7)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(five.as_mut().poll(&mut context).is_pending() && seven.as_mut().poll(&mut context).is_pending());
        assert_eq!(progress.wanted(), Some(7));
        progress.reached(6);
        assert_eq!(five.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        assert!(seven.as_mut().poll(&mut context).is_pending());
        assert_eq!(pin!(progress.wait(6)).poll(&mut context), Poll::Ready(Ok(())));
        progress.close();
        assert_eq!(seven.as_mut().poll(&mut context), Poll::Ready(Err(Closed)));
        assert_eq!(pin!(progress.wait(8)).poll(&mut context), Poll::Ready(Err(Closed)));
        assert_eq!(pin!(progress.wait(6)).poll(&mut context), Poll::Ready(Ok(())));
    }

    #[tokio::test]
    async fn abandoned_waiters_are_removed() {
        let progress = Progress::default();
        {
            let mut nine = pin!(progress.wait(9));
            assert!(nine.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!(progress.wanted(), None);
    }
}
