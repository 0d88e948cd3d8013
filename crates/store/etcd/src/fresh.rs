//! Consistent reads from memory: how far must the observer be, to know everything that anybody was acknowledged?
//! Guarantees that the answer is from after the question. One call to the cluster answers all who ask while another is
//! under way.
//! Must never answer from memory.

use crate::limits;
use crate::store::Shared;
use pintle_grpc::Status;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

type Answer = Result<u64, Status>;

#[derive(Default)]
pub struct Fresh {
    line: Mutex<Line>,
    /// As many are waiting as are wanted.
    full: Notify,
}

#[derive(Default)]
struct Line {
    /// Who has to wait until the call that is under way has ended.
    waiting: Vec<oneshot::Sender<Answer>>,
    /// How many must be waiting for somebody to look; `None`: nobody will.
    wanted: Option<usize>,
    is_closed: bool,
}

/// How many are likely to ask together: clients that were answered together come back together, and one call for all of
/// them costs as much as one for the first.
#[derive(Debug, Default)]
struct Crowd {
    expected: usize,
    /// Calls that are made without waiting for anybody, because it was in vain; and how many were the last time.
    alone: u32,
    alone_last: u32,
}

impl Crowd {
    /// How many the next call is for, at best.
    fn wanted(&mut self) -> usize {
        match self.alone.checked_sub(1) {
            None => self.expected,
            Some(left) => {
                self.alone = left;
                1
            }
        }
    }

    /// So many came in time of those who were wanted.
    fn came(&mut self, wanted: usize, came: usize) {
        if came < wanted {
            self.alone_last = (self.alone_last * 2).clamp(1, limits::ALONE_MAX);
            self.alone = self.alone_last;
        } else if wanted > 1 {
            self.alone_last = 0;
        }
    }

    /// So many were answered while others came.
    fn answered(&mut self, answered: usize, waiting: usize) {
        self.expected = answered + waiting;
    }
}

impl Fresh {
    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing that holds the lock can fail half way.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision that the cluster had reached at some moment after this call, or why it cannot be told. Nothing when
    /// the store is closed.
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

    /// Makes the calls for all who ask, until it is dropped.
    pub async fn run(&self, shared: &Shared) {
        let mut crowd = Crowd::default();
        loop {
            self.come(1).await;
            let wanted = crowd.wanted();
            // Those who do not come in time are not waited for.
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
                // Who has gone away meanwhile need not be told.
                let _ = asker.send(answer.clone());
            }
        }
    }

    /// Waits until so many are waiting.
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

    /// Nobody is answered any more.
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
    fn who_came_together_is_waited_for_as_long_as_they_come() {
        let mut crowd = Crowd::default();
        assert_eq!(crowd.wanted(), 0, "nobody is known yet");
        crowd.came(0, 1);
        crowd.answered(1, 15);
        assert_eq!(crowd.wanted(), 16);
        crowd.came(16, 16);
        crowd.answered(16, 0);
        assert_eq!(crowd.wanted(), 16);
        // The others have gone: the next is not kept waiting, then every second, every fourth.
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
    async fn nobody_waits_for_what_is_closed() {
        let fresh = Fresh::default();
        let before = fresh.ask();
        fresh.close();
        assert!(before.await.is_err() && fresh.ask().await.is_err());
    }
}
