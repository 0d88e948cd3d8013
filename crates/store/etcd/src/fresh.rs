//! Consistent reads from memory: how far must the observer be, to know everything that anybody was acknowledged?
//! Guarantees that the answer is from after the question. One call to the cluster answers all who ask while another is
//! under way.
//! Must never answer from memory.

use crate::client::Client;
use crate::limits;
use pintle_grpc::Status;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

type Answer = Result<u64, Status>;

#[derive(Default)]
pub struct Fresh {
    line: Mutex<Line>,
    /// As many are waiting as were expected.
    full: Notify,
}

#[derive(Default)]
struct Line {
    /// Who has to wait until the call that is under way has ended.
    waiting: Vec<oneshot::Sender<Turn>>,
    asking: bool,
    crowd: Crowd,
}

/// What comes of waiting.
enum Turn {
    Answer(Answer),
    Lead(Lead),
}

/// Held by the one who makes the call for all who wait: no task of its own, so none has to be woken for it. Whoever drops
/// it passes it on.
struct Lead(Arc<Fresh>);

impl Drop for Lead {
    fn drop(&mut self) {
        let next = {
            let mut line = self.0.line();
            line.waiting.retain(|waiter| !waiter.is_closed());
            let next = line.waiting.pop();
            line.asking = next.is_some();
            next
        };
        if let Some(next) = next {
            // Who has gone just now drops it again.
            let _ = next.send(Turn::Lead(Lead(self.0.clone())));
        }
    }
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

    /// The lead if nobody has it, or a place in the line.
    fn join(self: &Arc<Self>) -> Result<Lead, oneshot::Receiver<Turn>> {
        let mut line = self.line();
        if !std::mem::replace(&mut line.asking, true) {
            return Ok(Lead(self.clone()));
        }
        let (sender, receiver) = oneshot::channel();
        line.waiting.push(sender);
        if line.waiting.len() + 1 >= line.crowd.expected {
            self.full.notify_one();
        }
        Err(receiver)
    }

    /// The revision that the cluster had reached at some moment after this call.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn ask(self: &Arc<Self>, client: &Client) -> Answer {
        let lead = loop {
            let waiting = match self.join() {
                Ok(lead) => break lead,
                Err(waiting) => waiting,
            };
            match waiting.await {
                Ok(Turn::Answer(answer)) => return answer,
                Ok(Turn::Lead(lead)) => break lead,
                // The one who made the call gave it up.
                Err(_) => {}
            }
        };
        // Most only wait, and a call takes room.
        Box::pin(self.lead(client, lead)).await
    }

    async fn lead(&self, client: &Client, lead: Lead) -> Answer {
        let others = self.gather().await;
        let answer = client.revision(limits::CALL).await;
        {
            let mut line = self.line();
            let waiting = line.waiting.len();
            line.crowd.answered(others.len() + 1, waiting);
        }
        others.into_iter().for_each(|other| drop(other.send(Turn::Answer(answer.clone()))));
        drop(lead);
        answer
    }

    /// Those whom the next call is for, beside the one who makes it.
    async fn gather(&self) -> Vec<oneshot::Sender<Turn>> {
        let wanted = self.line().crowd.wanted();
        let enough = async {
            while self.line().waiting.len() + 1 < wanted {
                self.full.notified().await;
            }
        };
        // Those who did not come in time are not waited for.
        let _ = timeout(limits::GATHER, enough).await;
        let mut line = self.line();
        let others = std::mem::take(&mut line.waiting);
        line.crowd.came(wanted, others.len() + 1);
        others
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
    async fn the_lead_is_passed_on_by_who_goes_away() {
        let fresh = Arc::new(Fresh::default());
        let lead = fresh.join().ok().unwrap();
        let (first, second) = (fresh.join().err().unwrap(), fresh.join().err().unwrap());
        drop(first);
        drop(lead);
        let Ok(Turn::Lead(lead)) = second.await else { panic!("nobody else is there") };
        let third = fresh.join().err().unwrap();
        drop(lead);
        // It has the lead in hand and never looks.
        drop(third);
        assert!(fresh.join().is_ok());
    }
}
