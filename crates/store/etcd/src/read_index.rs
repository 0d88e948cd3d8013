//! `ReadIndex`: the revision that the cache must have reached before a consistent read may be served from it.
//! Guarantees that the revision was read after the request came. Requests that come during a call to the cluster share
//! the next call. Must never respond from memory.

use crate::limits;
use crate::store::Shared;
use pintle_grpc::Status;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

type Answer = Result<u64, Status>;

#[derive(Default)]
pub struct ReadIndex {
    line: Mutex<Line>,
    /// Notified when the wanted number of requests is waiting.
    full: Notify,
}

#[derive(Default)]
struct Line {
    /// Requests that wait for the next call.
    waiting: Vec<oneshot::Sender<Answer>>,
    /// The number of waiting requests that wakes the task; `None` if it does not wait.
    wanted: Option<usize>,
    is_closed: bool,
}

/// Predicts how many requests arrive together: clients that received their responses together send their next requests
/// together, and one call serves them all.
#[derive(Debug, Default)]
struct BatchPredictor {
    expected: usize,
    /// Calls to make without waiting for more requests, because waiting was useless; and how many there were the last
    /// time.
    alone: u32,
    alone_last: u32,
}

impl BatchPredictor {
    /// The number of requests that the next call waits for.
    fn wanted(&mut self) -> usize {
        match self.alone.checked_sub(1) {
            None => self.expected,
            Some(left) => {
                self.alone = left;
                1
            }
        }
    }

    /// Records how many of the wanted requests came in time.
    fn came(&mut self, wanted: usize, came: usize) {
        if came < wanted {
            self.alone_last = (self.alone_last * 2).clamp(1, limits::ALONE_MAX);
            self.alone = self.alone_last;
        } else if wanted > 1 {
            self.alone_last = 0;
        }
    }

    /// Records how many requests a call served, and how many came during it.
    fn answered(&mut self, answered: usize, waiting: usize) {
        self.expected = answered + waiting;
    }
}

impl ReadIndex {
    fn line(&self) -> MutexGuard<'_, Line> {
        // No code that holds the lock can panic.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A revision that the cluster reached after this call, or the error. The channel closes with the store.
    pub fn ask(&self) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut line = self.line();
        if !line.is_closed {
            line.waiting.push(sender);
            if line.wanted.is_some_and(|wanted| line.waiting.len() >= wanted) {
                line.wanted = None;
                drop(line);
                self.full.notify_one();
            }
        }
        receiver
    }

    /// Makes the calls for all requests, until the future is dropped.
    pub async fn run(&self, shared: &Shared) {
        let mut crowd = BatchPredictor::default();
        loop {
            self.come(1).await;
            let wanted = crowd.wanted();
            // Requests that do not arrive in time are not awaited.
            let _ = timeout(limits::GATHER, self.come(wanted)).await;
            let asking = {
                let mut line = self.line();
                line.wanted = None;
                std::mem::take(&mut line.waiting)
            };
            crowd.came(wanted, asking.len());
            let answer = shared.revision(limits::CALL).await;
            crowd.answered(asking.len(), self.line().waiting.len());
            for asker in asking {
                // The receiver may have been dropped.
                let _ = asker.send(answer.clone());
            }
        }
    }

    /// Waits until this many requests are waiting.
    async fn come(&self, wanted: usize) {
        loop {
            {
                let mut line = self.line();
                line.wanted = (line.waiting.len() < wanted).then_some(wanted);
                if line.wanted.is_none() {
                    return;
                }
            }
            self.full.notified().await;
        }
    }

    /// Drops the waiting requests and every later one.
    pub fn close(&self) {
        let waiting = {
            let mut line = self.line();
            line.is_closed = true;
            std::mem::take(&mut line.waiting)
        };
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_requests_are_batched() {
        let mut crowd = BatchPredictor::default();
        assert_eq!(crowd.wanted(), 0, "nobody is known yet");
        crowd.came(0, 1);
        crowd.answered(1, 15);
        assert_eq!(crowd.wanted(), 16);
        crowd.came(16, 16);
        crowd.answered(16, 0);
        assert_eq!(crowd.wanted(), 16);
        // The other clients have left: batching becomes rare.
        let mut waited = Vec::new();
        for call in 0..20 {
            let wanted = crowd.wanted();
            if wanted > 1 {
                waited.push(call);
            }
            crowd.came(wanted, 1);
            crowd.answered(1, 1);
        }
        assert_eq!(waited, [0, 2, 5, 10, 19]);
    }

    #[tokio::test]
    async fn no_request_waits_after_close() {
        let read_index = ReadIndex::default();
        let before = read_index.ask();
        read_index.close();
        assert!(before.await.is_err() && read_index.ask().await.is_err());
    }
}
