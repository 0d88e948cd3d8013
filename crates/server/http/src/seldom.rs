//! A future that is asked often and ready once, such as a shutdown beside a stream of events.
//! Guarantees that asking it costs next to nothing until it has something to say.
//! Must never miss that: whoever asked last is woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a future only when it has called for it.
pub(crate) struct Seldom<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    bell: Arc<Bell>,
    waker: Waker,
    /// The task that the bell knows.
    known: Option<Waker>,
}

impl<'a, T> Seldom<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'a) -> Seldom<'a, T> {
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: Mutex::default() });
        Seldom { future: Box::pin(future), waker: Waker::from(Arc::clone(&bell)), bell, known: None }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        if !self.known.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            self.known = Some(cx.waker().clone());
            *self.bell.task() = Some(cx.waker().clone());
        }
        // A ring before the task was known is found here, one after it wakes the task.
        match self.bell.rung.load(Ordering::SeqCst) && self.bell.rung.swap(false, Ordering::SeqCst) {
            true => self.future.as_mut().poll(&mut Context::from_waker(&self.waker)),
            false => Poll::Pending,
        }
    }
}

/// Remembers that the future called, and whom to wake then.
struct Bell {
    rung: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Bell {
    fn task(&self) -> MutexGuard<'_, Option<Waker>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
        // Woken without the lock: a waker may do what it likes.
        let task = self.task().clone();
        task.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn it_is_polled_at_first_and_when_it_calls() {
        let (tell, told) = oneshot::channel();
        let polls = Arc::new(AtomicUsize::new(0));
        let (counted, mut told) = (Arc::clone(&polls), Box::pin(told));
        let mut seldom = Seldom::new(poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            told.as_mut().poll(cx)
        }));
        for _ in 0..10 {
            assert!(poll_fn(|cx| Poll::Ready(seldom.poll(cx))).await.is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        let asked = tokio::spawn(async move { poll_fn(|cx| seldom.poll(cx)).await });
        tokio::task::yield_now().await;
        tell.send(7).expect("listens");
        assert_eq!(asked.await.expect("no panic"), Ok(7));
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }
}
