//! Where long computations run. Guarantees that a request that computes for longer than [`limits::BUDGET`] leaves its worker thread
//! to others, takes turns with other long computations in fair shares by user, and that the inputs of those that run at a time are
//! bounded in bytes. Must never delay a request that computes for less.
//!
//! A request is run by [`run`], a body that is made piece by piece by [`pieces`]. Code within says what it is about to do: with
//! [`expect_input`], that it works through so many bytes in one go, or with a [`Loop`], which gives way between two steps. On a
//! turn it is polled with `block_in_place`, so that the operating system divides the processors between it and the worker
//! threads. A turn ends when the request waits for something.

mod experience;
pub mod fair_queue;
pub mod limits;
mod stream;

use experience::Experience;
use fair_queue::{FairQueue, Part};
use futures_util::FutureExt;
use pintle_schema::Str;
use std::future::Future;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
pub use stream::pieces;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::{block_in_place, yield_now};
use tokio::task_local;

task_local! {
    static CURRENT: Arc<Computation>;
}

/// What all long computations of a server share.
pub struct Turns {
    processors: Arc<FairQueue>,
    inputs: Arc<FairQueue>,
    experience: Experience,
    taken: AtomicU64,
}

impl Default for Turns {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Turns {
            processors: FairQueue::new(processors + limits::TURNS_RESERVED, limits::TURNS_RESERVED),
            inputs: FairQueue::new(limits::INPUT_BYTES, limits::INPUT_BYTES_RESERVED),
            experience: Experience::default(),
            taken: AtomicU64::new(0),
        }
    }
}

impl Turns {
    /// How many turns have been taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits for a turn that is not tied to a poll: for work on a thread of its own.
    pub async fn turn(self: &Arc<Self>, user: &Str) -> Turn {
        let turn = match self.processors.acquire(user, 1) {
            Ok(part) => Some(part),
            // The queue lives as long as it is waited for.
            Err(waiting) => waiting.await.ok(),
        };
        self.begin(turn)
    }

    fn begin(&self, part: Option<Part>) -> Turn {
        self.taken.fetch_add(1, Ordering::Relaxed);
        Turn { part, since: Instant::now() }
    }
}

/// A turn on a processor; its user is charged for its time when it is dropped.
pub struct Turn {
    part: Option<Part>,
    since: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(part) = &mut self.part {
            part.used = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

/// What is known of a computation.
struct Computation {
    turns: Arc<Turns>,
    user: Str,
    /// What kind of request it is.
    kind: u64,
    /// The bytes that it works through in one go, if those are many.
    input: AtomicUsize,
    /// It takes turns.
    is_long: AtomicBool,
    began: Instant,
    /// When the current poll began, in nanoseconds since `began`.
    polled_at: AtomicU64,
    /// The time of earlier polls on worker threads.
    spent: AtomicU64,
    /// The time of the longest poll so far.
    longest: AtomicU64,
}

impl Computation {
    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Polls, and takes the time.
    fn timed<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let polled_at = self.nanoseconds();
        self.polled_at.store(polled_at, Ordering::Relaxed);
        let result = poll();
        let took = self.nanoseconds().saturating_sub(polled_at);
        self.spent.fetch_add(took, Ordering::Relaxed);
        let longest = self.longest.fetch_max(took, Ordering::Relaxed).max(took);
        // What says itself that it takes long needs no experience.
        if result.is_ready() && self.input.load(Ordering::Relaxed) == 0 {
            let was_long = u128::from(longest) >= limits::BUDGET.as_nanos();
            self.turns.experience.note(&self.user, self.kind, was_long);
        }
        result
    }

    /// Whether the current poll shall end here.
    fn is_over_budget(&self) -> bool {
        let poll = self.nanoseconds().saturating_sub(self.polled_at.load(Ordering::Relaxed));
        let exceeds = |budget: Duration, spent: u64| u128::from(spent) >= budget.as_nanos();
        match self.is_long.load(Ordering::Relaxed) {
            true => exceeds(limits::SLICE, poll) && self.turns.processors.is_contended(),
            false => exceeds(limits::BUDGET, poll.saturating_add(self.spent.load(Ordering::Relaxed))),
        }
    }
}

/// Runs a request. What it computes beyond the budget, it computes in turns. `kind` tells requests apart that may take
/// longer than others: what is not known beforehand is learned from earlier ones of the same kind and user.
pub fn run<F: Future + Unpin + Send>(
    turns: &Arc<Turns>,
    user: &Str,
    kind: u64,
    request: F,
) -> impl Future<Output = F::Output> + Send + use<F> {
    let computation = Arc::new(Computation {
        turns: turns.clone(),
        user: user.clone(),
        kind,
        input: AtomicUsize::new(0),
        is_long: AtomicBool::new(turns.experience.is_long(user, kind)),
        began: Instant::now(),
        polled_at: AtomicU64::new(0),
        spent: AtomicU64::new(0),
        longest: AtomicU64::new(0),
    });
    CURRENT.scope(computation.clone(), Running { request, computation, input: None, waiting: Waiting::default() })
}

/// Declares that the current request is about to work through so many bytes in one go.
pub async fn expect_input(bytes: usize) {
    if bytes < limits::LARGE_INPUT_BYTES {
        return;
    }
    let declared = CURRENT.try_with(|current| {
        let before = current.input.fetch_max(bytes, Ordering::Relaxed);
        current.is_long.store(true, Ordering::Relaxed);
        bytes > before
    });
    if declared.unwrap_or(false) {
        // The room for it and the turn are taken at the next poll.
        yield_now().await;
    }
}

/// Declares that the current request is about to compute for long, whatever its input.
pub async fn expect_long() {
    let was_long = CURRENT.try_with(|current| current.is_long.swap(true, Ordering::Relaxed));
    if was_long == Ok(false) {
        yield_now().await;
    }
}

/// Gives way if the current request has computed for long: between two pieces of work of up to a millisecond.
pub async fn give_way() {
    Loop::default().step(limits::STEPS_PER_LOOK).await;
}

/// A loop over much, which gives way between two steps.
#[derive(Default)]
pub struct Loop {
    /// The cost of the steps since the last look at the clock.
    steps: usize,
    /// It never gives way.
    is_unbroken: bool,
}

impl Loop {
    /// A loop that never gives way.
    pub fn unbroken() -> Self {
        Loop { steps: 0, is_unbroken: true }
    }

    /// Gives way if the computation has gone on for long. A step of cost 1 takes some ten nanoseconds to a microsecond.
    pub async fn step(&mut self, cost: usize) {
        self.steps = self.steps.saturating_add(cost);
        if self.steps < limits::STEPS_PER_LOOK || self.is_unbroken {
            return;
        }
        self.steps = 0;
        let gives_way = CURRENT.try_with(|current| {
            let is_over = current.is_over_budget();
            if is_over {
                current.is_long.store(true, Ordering::Relaxed);
            }
            is_over
        });
        if gives_way.unwrap_or(false) {
            yield_now().await;
        }
    }
}

struct Running<F> {
    request: F,
    computation: Arc<Computation>,
    /// The room that its input takes, until its end.
    input: Option<Part>,
    waiting: Waiting,
}

/// A place among those who wait for a part of a limited amount.
#[derive(Default)]
pub(crate) struct Waiting(Option<oneshot::Receiver<Part>>);

impl Waiting {
    /// Takes a part, or waits for it.
    fn poll(
        &mut self,
        queue: &Arc<FairQueue>,
        user: &Str,
        amount: usize,
        context: &mut Context<'_>,
    ) -> Poll<Option<Part>> {
        let mut waiting = match self.0.take() {
            Some(waiting) => waiting,
            None => match queue.acquire(user, amount) {
                Ok(part) => return Poll::Ready(Some(part)),
                Err(waiting) => waiting,
            },
        };
        match waiting.poll_unpin(context) {
            // The queue lives as long as it is waited for.
            Poll::Ready(part) => Poll::Ready(part.ok()),
            Poll::Pending => {
                self.0 = Some(waiting);
                Poll::Pending
            }
        }
    }
}

impl<F: Future + Unpin> Future for Running<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let running = &mut *self;
        let computation = running.computation.clone();
        if !computation.is_long.load(Ordering::Relaxed) {
            return computation.timed(|| running.request.poll_unpin(context));
        }
        let Computation { turns, user, .. } = &*computation;
        let input = computation.input.load(Ordering::Relaxed).min(limits::INPUT_BYTES);
        if running.input.as_ref().map_or(0, Part::amount) < input {
            // A request that waits for more room holds none meanwhile.
            running.input = None;
            let mut part = ready!(running.waiting.poll(&turns.inputs, user, input, context));
            part.iter_mut().for_each(|part| part.used = part.amount() as u64);
            running.input = part;
        }
        let part = ready!(running.waiting.poll(&turns.processors, user, 1, context));
        let _turn = turns.begin(part);
        computation.timed(|| apart(|| running.request.poll_unpin(context)))
    }
}

/// Computes for long, and leaves the worker thread's tasks to another thread.
pub(crate) fn apart<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(compute),
        // A runtime with one thread has no other thread for its tasks.
        _ => compute(),
    }
}

#[cfg(test)]
mod tests;
