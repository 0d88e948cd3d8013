//! A doorbell: how threads outside the runtime wake its tasks.
//! Guarantees that everybody named before a ring is woken, and that many at once cost one ring.
//! Must never block who rings.
//!
//! To wake a task from outside, the runtime wakes a thread to look for it, and that thread another to look for more, which
//! for a lone answer finds nothing. A ring comes in as a network event does: one thread is woken, and has the task at hand.
//! Wakes that are gathered, as those of one commit, come in by one ring, when the last is known: told one by one, threads
//! would be woken for each few of them, and fall asleep again.

use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream as Ring;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pintle_wakes::Bell;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::UnixStream;
use tokio::runtime::Handle;

pub(crate) struct Doorbell {
    door: Arc<Door>,
    ring: Ring,
}

#[derive(Default)]
struct Door {
    waiting: Mutex<Vec<Waker>>,
    /// A ring is on its way, which whoever waits by then is woken by.
    rung: AtomicBool,
}

impl Door {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) {
        self.rung.store(false, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.waiting());
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Doorbell {
    /// Installs a doorbell in this runtime. It is answered for as long as somebody may ring.
    pub(crate) fn new() -> io::Result<Arc<Doorbell>> {
        let (ring, rung) = Ring::pair()?;
        ring.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let rung = UnixStream::from_std(rung)?;
        let door = Arc::<Door>::default();
        tokio::spawn(answer(rung, Arc::clone(&door)));
        Ok(Arc::new(Doorbell { door, ring }))
    }

    /// Wakes a task, from wherever this is.
    pub(crate) fn wake(self: &Arc<Self>, task: Waker) {
        if Handle::try_current().is_ok() {
            return task.wake();
        }
        self.door.waiting().push(task);
        pintle_wakes::strike(self);
    }
}

impl Bell for Doorbell {
    fn ring(&self) {
        // Where no ring gets through, the runtime is troubled itself.
        if !self.door.rung.swap(true, Ordering::SeqCst) && (&self.ring).write(&[0]).is_err() {
            self.door.open();
        }
    }
}

/// Work that others wake by the doorbell, wherever they are.
pub(crate) struct AtTheDoor<F> {
    work: Pin<Box<F>>,
    doorbell: Arc<Doorbell>,
    /// The task that runs this, and the waker that its work is given.
    wakers: Option<(Waker, Waker)>,
}

impl<F: Future> AtTheDoor<F> {
    pub(crate) fn new(work: F, doorbell: &Arc<Doorbell>) -> AtTheDoor<F> {
        AtTheDoor { work: Box::pin(work), doorbell: Arc::clone(doorbell), wakers: None }
    }
}

impl<F: Future> Future for AtTheDoor<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let AtTheDoor { work, doorbell, wakers } = &mut *self;
        let known = wakers.take().filter(|(task, _)| task.will_wake(cx.waker()));
        let (_, caller) = wakers.insert(known.unwrap_or_else(|| {
            let task = cx.waker().clone();
            (task.clone(), Waker::from(Arc::new(Caller { task, doorbell: Arc::clone(doorbell) })))
        }));
        work.as_mut().poll(&mut Context::from_waker(caller))
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
async fn answer(mut rung: UnixStream, door: Arc<Door>) {
    let mut rings = [0; 64];
    let mut next = async || {
        poll_fn(|cx| {
            let mut rings = ReadBuf::new(&mut rings);
            Pin::new(&mut rung).poll_read(cx, &mut rings).map_ok(|()| rings.filled().len())
        })
        .await
    };
    while next().await.is_ok_and(|rings| rings > 0) {
        door.open();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
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
        let door = Arc::downgrade(&doorbell.door);
        drop(doorbell);
        while door.strong_count() > 0 {
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
