//! Answers of a connection that are about to be there together, so that they go out in one write.
//! Guarantees that an answer waits for nothing but what can run at once, and for a limited number of that.
//! Must never hold an answer back where no other is worked at, or where working at them takes long.
//!
//! A request that has been worked at calls its connection, and the runtime would run that before whatever else is ready:
//! where many requests were waiting for the same, each answer would go out by itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::task::yield_now;
use tokio::time::Instant;

use crate::limits::QUICK_WORK;

/// What is known of the requests that a connection waits for.
#[derive(Default)]
pub(crate) struct Answers {
    /// How many are worked at.
    expected: AtomicUsize,
    /// Some has been answered after little work since the connection looked.
    has_come_quickly: AtomicBool,
}

/// Work at a request, counted until it is done or given up.
pub(crate) struct Work<F> {
    work: Pin<Box<F>>,
    answers: Arc<Answers>,
}

impl<F> Work<F> {
    pub(crate) fn new(work: Pin<Box<F>>, answers: &Arc<Answers>) -> Work<F> {
        answers.expected.fetch_add(1, Ordering::Relaxed);
        Work { work, answers: Arc::clone(answers) }
    }
}

impl<F: Future> Future for Work<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = Instant::now();
        let done = self.work.as_mut().poll(cx);
        if done.is_ready() && began.elapsed() < QUICK_WORK {
            self.answers.has_come_quickly.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl<F> Drop for Work<F> {
    fn drop(&mut self) {
        self.answers.expected.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets a connection wait until what else is ready has run.
pub(crate) struct Gathering {
    answers: Arc<Answers>,
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Gathering {
    pub(crate) fn new(answers: Arc<Answers>) -> Gathering {
        Gathering { answers, turn: None }
    }

    /// Ready when the connection is to go on.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Answers { expected, has_come_quickly } = &*self.answers;
        if self.turn.is_none() {
            if !has_come_quickly.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            self.turn = (expected.load(Ordering::Relaxed) > 0).then(|| Box::pin(yield_now()) as _);
        }
        if let Some(turn) = &mut self.turn {
            ready!(turn.as_mut().poll(cx));
            self.turn = None;
        }
        has_come_quickly.store(false, Ordering::Relaxed);
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, poll_fn, ready as at_once};
    use std::time::Duration;

    /// Whether the connection goes on at once, the first time and the second.
    async fn turns(answers: &Arc<Answers>) -> [bool; 2] {
        let mut gathering = Gathering::new(Arc::clone(answers));
        let mut turn = async || poll_fn(|cx| Poll::Ready(gathering.poll(cx).is_ready())).await;
        [turn().await, turn().await]
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_one_turn_for_others_that_are_expected() {
        let answers = Arc::<Answers>::default();
        assert_eq!(turns(&answers).await, [true, true], "nothing has come");
        let other = Work::new(Box::pin(pending::<()>()), &answers);
        Work::new(Box::pin(at_once(())), &answers).await;
        assert_eq!(turns(&answers).await, [false, true]);
        assert_eq!(turns(&answers).await, [true, true], "nothing has come since");
        Work::new(Box::pin(at_once(())), &answers).await;
        drop(other);
        assert_eq!(turns(&answers).await, [true, true], "nobody is expected any more");
    }

    #[tokio::test]
    async fn what_took_long_waits_for_nobody() {
        let answers = Arc::<Answers>::default();
        let _other = Work::new(Box::pin(pending::<()>()), &answers);
        Work::new(Box::pin(async { std::thread::sleep(Duration::from_millis(1)) }), &answers).await;
        assert_eq!(turns(&answers).await, [true, true]);
    }
}
