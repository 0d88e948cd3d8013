//! The queue before the writer, and the futures of its requests.
//! Guarantees a bound in bytes and in number, order of arrival, and an answer to every request, even when the writer
//! dies.
//! Must never hold its lock for more than moving a request.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};

use crate::api::{CommitError, Revision, Transaction};
use crate::key_index;
use crate::limits;

type Answer = Result<Revision, CommitError>;

/// A request to the writer.
#[derive(Debug)]
pub(crate) enum Request {
    Commit(Commit),
    Compact { revision: Revision, answer: oneshot::Sender<Answer> },
}

impl Request {
    /// Answers a request that the writer did not take.
    pub fn close(self) {
        let (Request::Commit(Commit { answer, .. }) | Request::Compact { answer, .. }) = self;
        // A dropped receiver needs no answer.
        let _ = answer.send(Err(CommitError::Closed));
    }
}

/// The answer to a request that the writer took and dropped, because it panicked.
fn unanswered() -> CommitError {
    CommitError::Unknown(Arc::new(std::io::Error::other("its writer has failed")))
}

/// A queued transaction.
#[derive(Debug)]
pub(crate) struct Commit {
    pub transaction: Transaction,
    pub bytes: usize,
    pub answer: oneshot::Sender<Answer>,
    /// The units that it uses in the queue, released with the answer.
    pub room: OwnedSemaphorePermit,
}

/// How long `take` waits for the first request.
#[derive(Debug, Copy, Clone)]
pub(crate) enum Wait {
    No,
    For(Duration),
    Forever,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue {
    line: Mutex<Line>,
    arrived: Condvar,
    room: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Line {
    requests: VecDeque<Request>,
    closed: bool,
}

impl Queue {
    pub fn new() -> Queue {
        Queue { line: Mutex::default(), arrived: Condvar::new(), room: Arc::new(Semaphore::new(limits::QUEUE_UNITS)) }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // A panic under the lock cannot leave the queue inconsistent.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues a transaction, immediately if there is room. Budget: one allocation.
    pub fn commit(self: &Arc<Self>, transaction: Transaction) -> CommitFuture {
        let bytes = match key_index::check(&transaction) {
            Ok(bytes) => bytes,
            Err(error) => return CommitFuture::ready(Err(error)),
        };
        let units =
            (limits::QUEUE_UNITS_PER_TRANSACTION + bytes / limits::QUEUE_UNIT_BYTES).min(limits::QUEUE_UNITS) as u32;
        match self.room.clone().try_acquire_many_owned(units) {
            Ok(room) => CommitFuture(State::InLine(self.push_commit(transaction, bytes, room))),
            Err(TryAcquireError::Closed) => CommitFuture::ready(Err(CommitError::Closed)),
            Err(TryAcquireError::NoPermits) => {
                let queue = self.clone();
                CommitFuture(State::Waiting(Box::pin(async move {
                    let room = queue.room.clone().acquire_many_owned(units).await;
                    let room = room.map_err(|_| CommitError::Closed)?;
                    let answer = queue.push_commit(transaction, bytes, room);
                    answer.await.unwrap_or_else(|_| Err(unanswered()))
                })))
            }
        }
    }

    fn push_commit(
        &self,
        transaction: Transaction,
        bytes: usize,
        room: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<Answer> {
        let (answer, receiver) = oneshot::channel();
        self.push(Request::Commit(Commit { transaction, bytes, answer, room }));
        receiver
    }

    /// Enqueues a compaction.
    pub fn compact(&self, revision: Revision) -> CommitFuture {
        let (answer, receiver) = oneshot::channel();
        self.push(Request::Compact { revision, answer });
        CommitFuture(State::InLine(receiver))
    }

    fn push(&self, request: Request) {
        let mut line = self.line();
        if line.closed {
            drop(line);
            return request.close();
        }
        line.requests.push_back(request);
        let first = line.requests.len() == 1;
        drop(line);
        if first {
            self.arrived.notify_one();
        }
    }

    /// The next batch: queued requests, up to the bounds. Empty after a timeout. `None` after the end, when the queue
    /// is empty.
    pub fn take(&self, wait: Wait) -> Option<Vec<Request>> {
        let mut line = self.line();
        let idle = |line: &mut Line| line.requests.is_empty() && !line.closed;
        line = match wait {
            Wait::No => line,
            Wait::For(duration) => {
                self.arrived.wait_timeout_while(line, duration, idle).unwrap_or_else(PoisonError::into_inner).0
            }
            Wait::Forever => self.arrived.wait_while(line, idle).unwrap_or_else(PoisonError::into_inner),
        };
        if line.closed && line.requests.is_empty() {
            return None;
        }
        let mut count = 0;
        let mut bytes = 0;
        for request in line.requests.iter().take(limits::BATCH_TRANSACTIONS_MAX) {
            if bytes > limits::BATCH_BYTES_MAX {
                break;
            }
            if let Request::Commit(commit) = request {
                bytes += commit.bytes;
            }
            count += 1;
        }
        Some(line.requests.drain(..count).collect())
    }

    /// Closes the queue. Queued requests remain for the writer.
    pub fn close(&self) {
        self.line().closed = true;
        self.room.close();
        self.arrived.notify_all();
    }

    /// Closes the queue and answers all queued requests: the writer is gone.
    pub fn abandon(&self) {
        self.close();
        let requests = std::mem::take(&mut self.line().requests);
        requests.into_iter().for_each(Request::close);
    }
}

/// The future result of a commit: the revision of the transaction, once it is durable and published. Dropping it does
/// not cancel the transaction.
#[must_use = "the outcome of a transaction is known only from its future"]
pub struct CommitFuture(State);

/// The future result of a compaction: the revision after which history begins.
pub type CompactFuture = CommitFuture;

enum State {
    /// Answered immediately.
    Ready(Option<Answer>),
    /// Enqueued; the writer answers.
    InLine(oneshot::Receiver<Answer>),
    /// The queue is full; not enqueued yet.
    Waiting(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl CommitFuture {
    /// A future with a known result.
    pub fn ready(answer: Result<Revision, CommitError>) -> CommitFuture {
        CommitFuture(State::Ready(Some(answer)))
    }

    /// A future with the result of another one, for stores that are written elsewhere.
    pub fn pending(future: impl Future<Output = Answer> + Send + 'static) -> CommitFuture {
        CommitFuture(State::Waiting(Box::pin(future)))
    }

    /// Blocks this thread until the result is available. For synchronous code.
    pub fn wait(self) -> Result<Revision, CommitError> {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut future = pin!(self);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl Future for CommitFuture {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        match &mut self.0 {
            // A completed future may return anything when polled again, but must not panic.
            State::Ready(answer) => Poll::Ready(answer.take().unwrap_or(Err(CommitError::Closed))),
            State::InLine(receiver) => {
                Pin::new(receiver).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(unanswered())))
            }
            State::Waiting(future) => future.as_mut().poll(context),
        }
    }
}

impl fmt::Debug for CommitFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            State::Ready(_) => "CommitFuture(ready)",
            State::InLine(_) => "CommitFuture(in line)",
            State::Waiting(_) => "CommitFuture(waiting)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Expect;

    fn transaction(bytes: usize) -> Transaction {
        Transaction::one(Arc::from("/k"), Expect::Any, Some(vec![0; bytes].into()))
    }

    fn poll(future: &mut CommitFuture) -> Poll<Answer> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_full_queue_makes_the_next_wait_and_lets_it_in_when_there_is_room() {
        let queue = Arc::new(Queue::new());
        let value = limits::BATCH_BYTES_MAX / 2;
        let fits = limits::QUEUE_UNITS * limits::QUEUE_UNIT_BYTES / value - 1;
        let waiting: Vec<_> = (0..fits).map(|_| queue.commit(transaction(value))).collect();
        let mut late = queue.commit(transaction(value));
        assert!(matches!(late.0, State::Waiting(_)) && poll(&mut late).is_pending());
        let batch = queue.take(Wait::No).unwrap();
        assert_eq!(batch.len(), 2, "a batch ends when it is past its bytes");
        assert!(poll(&mut late).is_pending(), "room is given back with the answer");
        drop(batch);
        assert!(poll(&mut late).is_pending(), "in line now");
        let queued = std::iter::from_fn(|| queue.take(Wait::No).filter(|batch| !batch.is_empty())).flatten().count();
        assert_eq!(queued, fits - 2 + 1);
        drop(waiting);
    }

    #[test]
    fn everyone_is_answered_when_the_writer_goes() {
        let queue = Arc::new(Queue::new());
        let inside = queue.commit(transaction(1));
        let batch = queue.take(Wait::No);
        let in_line = queue.commit(transaction(1));
        let compact = queue.compact(Revision(1));
        queue.abandon();
        drop(batch);
        assert!(matches!(inside.wait(), Err(CommitError::Unknown(_))), "the writer may have written it");
        for future in [in_line, compact, queue.commit(transaction(1)), queue.compact(Revision(1))] {
            assert!(matches!(future.wait(), Err(CommitError::Closed)));
        }
        assert!(queue.take(Wait::Forever).is_none());
    }
}
