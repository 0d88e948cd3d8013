//! A doorbell: how threads outside the runtime wake its tasks.
//! Guarantees that everybody named before a ring is woken, and that many at once cost one ring.
//! Must never block who rings.
//!
//! To wake a task from outside, the runtime wakes a thread to look for it, and that thread another to look for more, which
//! for a lone answer finds nothing. A ring comes in as a network event does: one thread is woken, and has the task at hand.

use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream as Ring;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::UnixStream;
use tokio::runtime::Handle;

type Waiting = Arc<Mutex<Vec<Waker>>>;

fn with<R>(waiting: &Waiting, act: impl FnOnce(&mut Vec<Waker>) -> R) -> R {
    act(&mut waiting.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) struct Doorbell {
    waiting: Waiting,
    ring: Ring,
}

impl Doorbell {
    /// Installs a doorbell in this runtime. It is answered for as long as somebody may ring.
    pub(crate) fn new() -> io::Result<Arc<Doorbell>> {
        let (ring, rung) = Ring::pair()?;
        ring.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let rung = UnixStream::from_std(rung)?;
        let waiting = Waiting::default();
        tokio::spawn(answer(rung, Arc::clone(&waiting)));
        Ok(Arc::new(Doorbell { waiting, ring }))
    }

    /// Wakes a task, from wherever this is.
    pub(crate) fn wake(&self, task: Waker) {
        if Handle::try_current().is_ok() {
            return task.wake();
        }
        let is_first = with(&self.waiting, |waiting| {
            waiting.push(task);
            waiting.len() == 1
        });
        // Who is not the first has been announced. Where no ring gets through, the runtime is troubled itself.
        if is_first && (&self.ring).write(&[0]).is_err() {
            with(&self.waiting, std::mem::take).into_iter().for_each(Waker::wake);
        }
    }
}

/// Work that others wake by the doorbell, wherever they are.
pub(crate) struct AtTheDoor<F> {
    work: F,
    doorbell: Arc<Doorbell>,
    /// The task that runs this, and the waker that its work is given.
    wakers: Option<(Waker, Waker)>,
}

impl<F: Future + Unpin> AtTheDoor<F> {
    pub(crate) fn new(work: F, doorbell: &Arc<Doorbell>) -> AtTheDoor<F> {
        AtTheDoor { work, doorbell: Arc::clone(doorbell), wakers: None }
    }
}

impl<F: Future + Unpin> Future for AtTheDoor<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let AtTheDoor { work, doorbell, wakers } = &mut *self;
        let known = wakers.take().filter(|(task, _)| task.will_wake(cx.waker()));
        let (_, caller) = wakers.insert(known.unwrap_or_else(|| {
            let task = cx.waker().clone();
            (task.clone(), Waker::from(Arc::new(Caller { task, doorbell: Arc::clone(doorbell) })))
        }));
        Pin::new(work).poll(&mut Context::from_waker(caller))
    }
}

/// Wakes one task by the doorbell.
struct Caller {
    task: Waker,
    doorbell: Arc<Doorbell>,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.doorbell.wake(self.task.clone());
    }
}

/// Answers rings until nobody is left who could.
async fn answer(mut rung: UnixStream, waiting: Waiting) {
    let mut rings = [0; 64];
    let mut next = async || {
        poll_fn(|cx| {
            let mut rings = ReadBuf::new(&mut rings);
            Pin::new(&mut rung).poll_read(cx, &mut rings).map_ok(|()| rings.filled().len())
        })
        .await
    };
    while next().await.is_ok_and(|rings| rings > 0) {
        with(&waiting, std::mem::take).into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// Counts how often it was woken, and by whom.
    struct Sleeper {
        wakes: AtomicUsize,
        outside: AtomicUsize,
    }

    impl Wake for Sleeper {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Ordering::SeqCst);
            self.outside.fetch_add(usize::from(Handle::try_current().is_err()), Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn everybody_is_woken_inside_the_runtime() {
        let doorbell = Doorbell::new().expect("a doorbell");
        let sleeper = Arc::new(Sleeper { wakes: AtomicUsize::new(0), outside: AtomicUsize::new(0) });
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (doorbell, sleeper) = (Arc::clone(&doorbell), Arc::clone(&sleeper));
                std::thread::spawn(move || (0..1000).for_each(|_| doorbell.wake(Waker::from(Arc::clone(&sleeper)))))
            })
            .collect();
        doorbell.wake(Waker::from(Arc::clone(&sleeper)));
        while sleeper.wakes.load(Ordering::SeqCst) < 4001 {
            tokio::task::yield_now().await;
        }
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(sleeper.outside.load(Ordering::SeqCst), 0);
        let waiting = Arc::downgrade(&doorbell.waiting);
        drop(doorbell);
        while waiting.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn work_at_the_door_is_woken_inside_the_runtime() {
        let doorbell = Doorbell::new().expect("a doorbell");
        let sleeper = Arc::new(Sleeper { wakes: AtomicUsize::new(0), outside: AtomicUsize::new(0) });
        let waker = Waker::from(Arc::clone(&sleeper));
        let (tell, told) = tokio::sync::oneshot::channel();
        let mut work = Box::pin(AtTheDoor::new(told, &doorbell));
        assert!(work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        std::thread::spawn(move || tell.send(7)).join().expect("no panic").expect("listens");
        while sleeper.wakes.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(sleeper.outside.load(Ordering::SeqCst), 0);
        assert_eq!(work.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(7)));
    }
}
