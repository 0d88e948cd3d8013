//! Futures that one task runs: what is called together runs together, on one thread, and what passes between them wakes
//! no other.
//! Guarantees that a future runs only when it was called, that who is last runs when no other has anything left to do, and
//! that a panic ends one future alone.
//! Must never keep a thread for itself: after some rounds the other tasks have their turn.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often futures have their turn before other tasks have: an answer takes a few rounds, and nobody waits long.
const ROUNDS: usize = 32;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where futures are left to be run. Clones share one task.
#[derive(Clone)]
pub struct Together(Arc<Calls>);

impl Together {
    /// Where to leave futures, and what the task is to poll that runs them. That task is woken by way of `wake`.
    pub fn new(wake: impl Fn(Waker) + Send + Sync + 'static) -> (Together, Members) {
        let calls = Arc::new(Calls { line: Mutex::default(), wake: Box::new(wake) });
        let (last, last_waker) = Bell::new(None, &calls);
        let members = Members {
            calls: Arc::clone(&calls),
            members: Vec::new(),
            free: Vec::new(),
            last,
            last_waker,
            newcomers: Vec::new(),
            round: Vec::new(),
        };
        (Together(calls), members)
    }

    /// Runs a future to its end, or to that of the task.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut line = self.0.line();
        if !line.is_closed {
            line.newcomers.push(Box::pin(future));
            self.0.wake(line);
        }
    }
}

/// Who is to be polled.
struct Calls {
    line: Mutex<Line>,
    wake: Box<dyn Fn(Waker) + Send + Sync>,
}

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
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut line: MutexGuard<'_, Line>) {
        if !std::mem::replace(&mut line.is_awake, true) {
            let task = line.task.take();
            // Woken without the lock: a waker may do what it likes.
            drop(line);
            task.into_iter().for_each(&self.wake);
        }
    }
}

/// Calls one member, or who is last.
struct Bell {
    is_rung: AtomicBool,
    place: Option<usize>,
    calls: Arc<Calls>,
}

impl Bell {
    /// A bell that is rung: everybody has a first turn.
    fn new(place: Option<usize>, calls: &Arc<Calls>) -> (Arc<Bell>, Waker) {
        let bell = Arc::new(Bell { is_rung: AtomicBool::new(true), place, calls: Arc::clone(calls) });
        (Arc::clone(&bell), Waker::from(bell))
    }

    /// Whether it was rung. It can be rung anew from now on.
    fn answer(&self) -> bool {
        self.is_rung.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_rung.swap(true, Ordering::SeqCst) {
            let mut line = self.calls.line();
            line.called.extend(self.place);
            self.calls.wake(line);
        }
    }
}

/// The futures that run together. As a future of its own it never ends.
pub struct Members {
    calls: Arc<Calls>,
    members: Vec<Option<Member>>,
    free: Vec<usize>,
    last: Arc<Bell>,
    last_waker: Waker,
    /// Empty between rounds, as is the next; kept for its room.
    newcomers: Vec<Work>,
    round: Vec<usize>,
}

struct Member {
    work: Work,
    bell: Arc<Bell>,
    waker: Waker,
}

impl Members {
    /// Has everything polled although nothing called it.
    pub fn call_all(&self) {
        self.members
            .iter()
            .flatten()
            .map(|member| &member.waker)
            .chain([&self.last_waker])
            .for_each(Waker::wake_by_ref);
    }

    /// Runs whoever is called, and `last` when it is and nobody else, until nobody is called or `last` has ended.
    pub fn poll(&mut self, cx: &mut Context<'_>, mut last: impl FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()> {
        for _ in 0..ROUNDS {
            let mut line = self.calls.line();
            line.is_awake = true;
            std::mem::swap(&mut self.round, &mut line.called);
            std::mem::swap(&mut self.newcomers, &mut line.newcomers);
            if !self.round.is_empty() || !self.newcomers.is_empty() {
                drop(line);
                self.admit();
                self.run();
            } else if self.last.answer() {
                drop(line);
                if last(&mut Context::from_waker(&self.last_waker)).is_ready() {
                    return Poll::Ready(());
                }
            } else {
                line.is_awake = false;
                line.task = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        // Who is always called keeps nobody from running: neither who is last nor other tasks.
        cx.waker().wake_by_ref();
        if self.last.answer() { last(&mut Context::from_waker(&self.last_waker)) } else { Poll::Pending }
    }

    /// Takes newcomers in, to be polled in this round.
    fn admit(&mut self) {
        for work in self.newcomers.drain(..) {
            let place = self.free.pop().unwrap_or(self.members.len());
            let (bell, waker) = Bell::new(Some(place), &self.calls);
            let member = Some(Member { work, bell, waker });
            match self.members.get_mut(place) {
                Some(slot) => *slot = member,
                None => self.members.push(member),
            }
            self.round.push(place);
        }
    }

    /// Polls the members of this round.
    fn run(&mut self) {
        for place in self.round.drain(..) {
            // Who has ended may have been called before.
            let Some(slot) = self.members.get_mut(place) else { continue };
            let Some(Member { work, bell, waker }) = slot else { continue };
            bell.answer();
            let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(waker))));
            if !matches!(polled, Ok(Poll::Pending)) {
                let ended = slot.take();
                self.free.push(place);
                // What a future held may fail when it goes.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(ended)));
            }
        }
    }
}

impl Future for Members {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Members::poll(&mut self, cx, |_| Poll::Pending)
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
