//! `Together`: futures that run as one task of the runtime, so that what passes between them wakes no thread.
//! Guarantees that a future runs only when it was called, and that a panic ends one alone.
//! Must never keep a thread of the runtime for itself: after some rounds the other tasks have their turn.

use crate::limits::ROUNDS;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where futures are left to be run. Clones share one task.
#[derive(Clone)]
pub struct Together(Arc<Calls>);

impl Together {
    /// The task, and where to leave what it is to run. It goes on until it is aborted.
    pub fn new(runtime: &Handle) -> (Together, JoinHandle<()>) {
        let calls = Arc::new(Calls::default());
        let members = Members { calls: calls.clone(), members: Vec::new(), free: Vec::new(), round: Vec::new() };
        // What they wait for must not pretend that it has not come; the rounds are bounded here.
        (Together(calls), runtime.spawn(tokio::task::unconstrained(members)))
    }

    /// Runs a future to its end.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut line = self.0.line();
        if !line.is_closed {
            line.newcomers.push(Box::pin(future));
            self.0.wake(line);
        }
    }

    /// Runs a future to its end, whether or not anybody waits for its outcome.
    pub fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> oneshot::Receiver<T> {
        let (tell, told) = oneshot::channel();
        // Who has gone away need not be told.
        self.spawn(async move { drop(tell.send(future.await)) });
        told
    }
}

/// Who is to be polled.
#[derive(Default)]
struct Calls(Mutex<Line>);

#[derive(Default)]
struct Line {
    newcomers: Vec<Work>,
    /// Places of members.
    called: Vec<usize>,
    /// The task runs, or is going to: nobody need wake it.
    is_awake: bool,
    is_closed: bool,
    task: Option<Waker>,
}

impl Calls {
    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing that holds the lock can fail half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut line: MutexGuard<'_, Line>) {
        if !std::mem::replace(&mut line.is_awake, true) {
            let task = line.task.take();
            // Woken without the lock: a waker may do what it likes.
            drop(line);
            task.into_iter().for_each(Waker::wake);
        }
    }
}

/// Calls one member.
struct Bell {
    is_rung: AtomicBool,
    place: usize,
    calls: Arc<Calls>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_rung.swap(true, Ordering::SeqCst) {
            let mut line = self.calls.line();
            line.called.push(self.place);
            self.calls.wake(line);
        }
    }
}

/// The task.
struct Members {
    calls: Arc<Calls>,
    members: Vec<Option<Member>>,
    free: Vec<usize>,
    /// Empty between rounds; kept for its room.
    round: Vec<usize>,
}

struct Member {
    work: Work,
    bell: Arc<Bell>,
    waker: Waker,
}

impl Members {
    /// Takes a newcomer in, to be polled in this round.
    fn admit(&mut self, work: Work) {
        let place = self.free.pop().unwrap_or(self.members.len());
        let bell = Arc::new(Bell { is_rung: AtomicBool::new(true), place, calls: self.calls.clone() });
        let member = Some(Member { work, waker: Waker::from(bell.clone()), bell });
        match self.members.get_mut(place) {
            Some(slot) => *slot = member,
            None => self.members.push(member),
        }
        self.round.push(place);
    }

    /// Polls the members of this round.
    fn run(&mut self) {
        for place in self.round.drain(..) {
            // Who has ended may have been called before.
            let Some(slot) = self.members.get_mut(place) else { continue };
            let Some(Member { work, bell, waker }) = slot else { continue };
            bell.is_rung.store(false, Ordering::SeqCst);
            let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(waker))));
            if !matches!(polled, Ok(Poll::Pending)) {
                *slot = None;
                self.free.push(place);
            }
        }
    }
}

impl Future for Members {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let members = &mut *self;
        for _ in 0..ROUNDS {
            let newcomers = {
                let mut line = members.calls.line();
                std::mem::swap(&mut members.round, &mut line.called);
                if members.round.is_empty() && line.newcomers.is_empty() {
                    line.is_awake = false;
                    line.task = Some(context.waker().clone());
                    return Poll::Pending;
                }
                line.is_awake = true;
                std::mem::take(&mut line.newcomers)
            };
            newcomers.into_iter().for_each(|work| members.admit(work));
            members.run();
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let newcomers = {
            let mut line = self.calls.line();
            line.is_closed = true;
            std::mem::take(&mut line.newcomers)
        };
        // Without the lock, as what they hold may call somebody.
        drop(newcomers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn the_others_go_on_when_one_panics_or_is_always_called() {
        let (together, task) = Together::new(&Handle::current());
        let (send, mut receive) = mpsc::unbounded_channel();
        let sum = together.run(async move {
            let mut sum = 0;
            while let Some(number) = receive.recv().await {
                sum += number;
            }
            sum
        });
        let panicked = together.run(async { panic!("on purpose") });
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        together.spawn(std::future::poll_fn(move |context| {
            counted.fetch_add(1, Ordering::SeqCst);
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        assert!(panicked.await.is_err());
        for number in 1..=100 {
            send.send(number).unwrap();
            tokio::task::yield_now().await;
        }
        drop(send);
        assert_eq!(sum.await, Ok(5050));
        assert!(polls.load(Ordering::SeqCst) >= 100);
        task.abort();
    }

    #[tokio::test]
    async fn what_is_left_when_the_task_ends_is_dropped_and_so_is_what_comes_later() {
        let (together, task) = Together::new(&Handle::current());
        let first = together.run(std::future::pending::<()>());
        tokio::task::yield_now().await;
        let second = together.run(std::future::pending::<()>());
        task.abort();
        assert!(first.await.is_err() && second.await.is_err());
        assert!(together.run(async {}).await.is_err());
    }

    /// Threads leave work and call members while the task comes to rest: no call is lost.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_call_is_lost_at_rest() {
        let (together, task) = Together::new(&Handle::current());
        let (messages, mut receiver) = mpsc::unbounded_channel();
        let (answers, mut answered) = mpsc::unbounded_channel();
        together.spawn(async move {
            while let Some(message) = receiver.recv().await {
                let _ = answers.send(message);
            }
        });
        for round in 0..20_000 {
            messages.send(round).unwrap();
            assert_eq!(answered.recv().await, Some(round));
            assert_eq!(together.run(async move { round }).await, Ok(round));
        }
        task.abort();
    }
}
