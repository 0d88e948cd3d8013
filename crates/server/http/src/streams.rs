//! A connection and the streams on it as one task: what is called together runs together, on one thread, without a lock
//! that anybody waits for.
//! Guarantees that a stream runs only when it was called, that the connection runs when no stream has anything left to do,
//! and that a panic ends one stream alone.
//! Must never keep a thread of the runtime for itself: after some rounds the other tasks have their turn.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use hyper::rt::Executor;

use crate::doorbell::Doorbell;
use crate::limits::ROUNDS;

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes the streams that a connection begins.
#[derive(Clone, Default)]
pub(crate) struct Newcomers(Arc<Mutex<Vec<Stream>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Newcomers {
    fn execute(&self, stream: F) {
        lock(&self.0).push(Box::pin(stream));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The streams of a connection, and who of them and the connection is called.
pub(crate) struct Streams {
    newcomers: Newcomers,
    members: Vec<Option<Member>>,
    free: Vec<usize>,
    calls: Arc<Calls>,
    /// The connection's own.
    waker: Waker,
    /// Empty between polls; kept for its room.
    round: Vec<usize>,
}

struct Member {
    stream: Stream,
    bell: Arc<Bell>,
    waker: Waker,
}

impl Streams {
    /// None yet. The connection is to be given the other part, to leave its streams with.
    pub(crate) fn new(doorbell: Arc<Doorbell>) -> (Streams, Newcomers) {
        let newcomers = Newcomers::default();
        let calls = Arc::new(Calls {
            streams: Mutex::default(),
            connection: AtomicBool::new(true),
            awake: AtomicBool::new(false),
            task: Mutex::default(),
            doorbell,
        });
        let waker = Waker::from(Arc::new(ConnectionBell(Arc::clone(&calls))));
        let streams = Streams {
            newcomers: newcomers.clone(),
            members: Vec::new(),
            free: Vec::new(),
            calls,
            waker,
            round: Vec::new(),
        };
        (streams, newcomers)
    }

    fn call_connection(&self) {
        self.calls.connection.store(true, Ordering::SeqCst);
    }

    /// Has everything polled although nothing called it.
    pub(crate) fn call_all(&self) {
        self.members.iter().flatten().for_each(|member| member.waker.wake_by_ref());
        self.call_connection();
    }

    /// Runs whoever is called, until nobody is or the connection ends.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut connection: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<()> {
        self.calls.begin(cx.waker());
        for _ in 0..ROUNDS {
            std::mem::swap(&mut self.round, &mut lock(&self.calls.streams));
            if !self.round.is_empty() {
                self.run();
            } else if self.calls.connection.swap(false, Ordering::SeqCst) {
                if connection(&mut Context::from_waker(&self.waker)).is_ready() {
                    return Poll::Ready(());
                }
            } else if self.calls.rest() {
                return Poll::Pending;
            }
            self.admit();
        }
        // Busy streams keep nobody from running: neither their connection nor other tasks.
        if self.calls.connection.swap(false, Ordering::SeqCst)
            && connection(&mut Context::from_waker(&self.waker)).is_ready()
        {
            return Poll::Ready(());
        }
        self.admit();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Polls the streams of this round.
    fn run(&mut self) {
        let mut round = std::mem::take(&mut self.round);
        for index in round.drain(..) {
            // Who has ended may have been called before.
            let Some(slot) = self.members.get_mut(index) else { continue };
            let Some(Member { stream, bell, waker }) = slot else { continue };
            bell.rung.store(false, Ordering::SeqCst);
            let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll(&mut Context::from_waker(waker))));
            if !matches!(polled, Ok(Poll::Pending)) {
                *slot = None;
                self.free.push(index);
            }
        }
        self.round = round;
    }

    /// Takes in the streams that have begun, and calls each for the first time.
    fn admit(&mut self) {
        for stream in lock(&self.newcomers.0).drain(..) {
            let index = self.free.pop().unwrap_or(self.members.len());
            let bell = Arc::new(Bell { rung: AtomicBool::new(true), index, calls: Arc::clone(&self.calls) });
            let member = Some(Member { stream, waker: Waker::from(Arc::clone(&bell)), bell });
            match self.members.get_mut(index) {
                Some(slot) => *slot = member,
                None => self.members.push(member),
            }
            lock(&self.calls.streams).push(index);
        }
    }
}

/// Who is to be polled.
struct Calls {
    streams: Mutex<Vec<usize>>,
    connection: AtomicBool,
    /// The task runs, or is going to: nobody need wake it.
    awake: AtomicBool,
    task: Mutex<Option<Waker>>,
    doorbell: Arc<Doorbell>,
}

impl Calls {
    fn begin(&self, task: &Waker) {
        match &mut *lock(&self.task) {
            Some(known) => known.clone_from(task),
            unknown => *unknown = Some(task.clone()),
        }
        self.awake.store(true, Ordering::SeqCst);
    }

    /// Whether nobody is called. Who calls from now on wakes the task.
    fn rest(&self) -> bool {
        self.awake.store(false, Ordering::SeqCst);
        let nobody = lock(&self.streams).is_empty() && !self.connection.load(Ordering::SeqCst);
        if !nobody {
            self.awake.store(true, Ordering::SeqCst);
        }
        nobody
    }

    fn wake(&self) {
        if !self.awake.swap(true, Ordering::SeqCst) {
            // Woken without the lock: a waker may do what it likes.
            let task = lock(&self.task).clone();
            task.into_iter().for_each(|task| self.doorbell.wake(task));
        }
    }
}

/// Calls one stream.
struct Bell {
    rung: AtomicBool,
    index: usize,
    calls: Arc<Calls>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            lock(&self.calls.streams).push(self.index);
            self.calls.wake();
        }
    }
}

/// Calls the connection.
struct ConnectionBell(Arc<Calls>);

impl Wake for ConnectionBell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.0.connection.swap(true, Ordering::SeqCst) {
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::sync::mpsc;

    /// What ran, in order.
    type Log = Arc<Mutex<Vec<&'static str>>>;

    fn logged(log: &Log) -> Vec<&'static str> {
        std::mem::take(&mut lock(log))
    }

    /// A stream that notes every message, and panics over a bad one.
    async fn stream(mut messages: mpsc::UnboundedReceiver<&'static str>, log: Log) {
        while let Some(message) = messages.recv().await {
            assert_ne!(message, "bad");
            lock(&log).push(message);
        }
    }

    #[tokio::test]
    async fn streams_run_when_called_and_the_connection_after_them() {
        let log = Log::default();
        let (mut streams, newcomers) = Streams::new(Doorbell::new().expect("a doorbell"));
        let (messages, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| mpsc::unbounded_channel()).unzip();
        receivers.into_iter().for_each(|messages| newcomers.execute(stream(messages, Arc::clone(&log))));
        let (ring, noted) = (streams.waker.clone(), Arc::clone(&log));
        let (woken, mut wakes) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            poll_fn(|cx| {
                let _ = woken.send(());
                streams.poll(cx, |_| {
                    lock(&noted).push("connection");
                    Poll::Pending
                })
            })
            .await;
        });
        wakes.recv().await;
        assert_eq!(logged(&log), ["connection"]);
        let send = |at: usize, message| messages[at].send(message).expect("listens");
        ring.wake_by_ref();
        send(2, "c");
        send(0, "a");
        send(2, "d");
        wakes.recv().await;
        assert_eq!(logged(&log), ["c", "d", "a", "connection"], "woken once, in the order of calls");
        send(1, "bad");
        send(0, "e");
        wakes.recv().await;
        assert_eq!(logged(&log), ["e"], "the others go on");
        assert!(messages[1].is_closed() && !messages[2].is_closed() && wakes.try_recv().is_err());
        task.abort();
    }

    #[tokio::test]
    async fn who_is_always_called_lets_the_connection_and_others_run() {
        let (mut streams, newcomers) = Streams::new(Doorbell::new().expect("a doorbell"));
        newcomers.execute(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let (polled, mut polls) = mpsc::unbounded_channel();
        let busy = tokio::spawn(async move {
            poll_fn(|cx| {
                streams.poll(cx, |cx| {
                    cx.waker().wake_by_ref();
                    polled.send(()).map_or(Poll::Ready(()), |()| Poll::Pending)
                })
            })
            .await;
        });
        for _ in 0..10 {
            polls.recv().await.expect("the connection is polled");
        }
        drop(polls);
        busy.await.expect("the connection has ended");
    }

    /// Threads call streams while these come to rest: no call is lost.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_call_is_lost_at_rest() {
        let (mut streams, newcomers) = Streams::new(Doorbell::new().expect("a doorbell"));
        let (messages, mut receiver) = mpsc::unbounded_channel();
        let (answers, mut answered) = mpsc::unbounded_channel();
        newcomers.execute(async move {
            while let Some(message) = receiver.recv().await {
                let _ = answers.send(message);
            }
        });
        let task = tokio::spawn(async move { poll_fn(|cx| streams.poll(cx, |_| Poll::Pending)).await });
        for round in 0..20_000 {
            messages.send(round).expect("listens");
            assert_eq!(answered.recv().await, Some(round));
        }
        task.abort();
    }
}
