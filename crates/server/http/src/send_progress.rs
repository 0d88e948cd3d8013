//! `Sending`: how an answer under way gets on, and `Paced`, which ends the stream of one whose client does not take it.
//! Guarantees that an answer that has an end of its own is sent by its deadline, and that a client that takes none of it for
//! `ANSWER_STALL` loses it: an HTTP/2 stream is reset, an HTTP/1 connection closed.
//! Must never end what has no end of its own: watches and upgraded connections are not begun here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::task_local;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::{ANSWER_GRACE, ANSWER_STALL};

task_local! {
    /// The stream (HTTP/2) or connection (HTTP/1) that is being polled.
    static CURRENT: Arc<Sending>;
}

/// Nothing is being sent that must end.
const NONE: u64 = u64::MAX;

/// A time that does not come.
const MAKING: u64 = NONE / 2;

/// How the answer of a stream, or the answers of a connection one after the other, get on.
pub(crate) struct Sending {
    epoch: Instant,
    /// Milliseconds since the epoch.
    deadline: AtomicU64,
    /// When the client last took something.
    taken: AtomicU64,
    /// All of the answer has been handed on, though not all of it need be written.
    handed_on: AtomicBool,
    /// Somebody says when everything is written; otherwise handing on is the end of it.
    tells_written: AtomicBool,
}

impl Default for Sending {
    fn default() -> Sending {
        Sending {
            epoch: Instant::now(),
            deadline: AtomicU64::new(NONE),
            taken: AtomicU64::new(0),
            handed_on: AtomicBool::new(false),
            tells_written: AtomicBool::new(false),
        }
    }
}

impl Sending {
    /// Begins an answer on the stream or connection that is being polled.
    pub(crate) fn begin(deadline: Instant) -> Option<Arc<Sending>> {
        let sending = CURRENT.try_with(Arc::clone).ok()?;
        sending.handed_on.store(false, Ordering::Relaxed);
        sending.progress();
        let deadline = deadline.max(Instant::now() + ANSWER_GRACE);
        sending.deadline.store(sending.millis(deadline), Ordering::Relaxed);
        Some(sending)
    }

    /// The client has taken something.
    pub(crate) fn progress(&self) {
        self.taken.store(self.millis(Instant::now()), Ordering::Relaxed);
    }

    /// More of the answer is being made: the client is not to blame until then.
    pub(crate) fn make_more(&self) {
        self.taken.store(MAKING, Ordering::Relaxed);
    }

    /// The last of the answer has been handed on to be written.
    pub(crate) fn hand_on(&self) {
        self.handed_on.store(true, Ordering::Relaxed);
        if !self.tells_written.load(Ordering::Relaxed) {
            self.written();
        }
    }

    /// Has answers go on until [`Sending::written`] is called.
    pub(crate) fn tell_written(&self) {
        self.tells_written.store(true, Ordering::Relaxed);
    }

    /// Everything that was handed on has been written.
    pub(crate) fn written(&self) {
        if self.handed_on.load(Ordering::Relaxed) {
            self.deadline.store(NONE, Ordering::Relaxed);
        }
    }

    /// When the stream ends unless the client takes more before; `None` when nothing is sent that must end.
    fn due(&self) -> Option<Instant> {
        let deadline = Some(self.deadline.load(Ordering::Relaxed)).filter(|deadline| *deadline != NONE)?;
        let stalled = Duration::from_millis(self.taken.load(Ordering::Relaxed)) + ANSWER_STALL;
        Some(self.epoch + Duration::from_millis(deadline).min(stalled))
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.epoch).as_millis()).unwrap_or(NONE - 1)
    }
}

pin_project! {
    /// A stream or a connection that ends, with nothing, when its client does not take what is sent.
    pub(crate) struct Paced<F> {
        #[pin]
        inner: F,
        sending: Arc<Sending>,
        // Made when the client first keeps an answer waiting: nearly all are sent at once.
        alarm: Option<Pin<Box<Sleep>>>,
    }
}

impl<F> Paced<F> {
    pub(crate) fn new(inner: F, sending: Arc<Sending>) -> Paced<F> {
        Paced { inner, sending, alarm: None }
    }

    pub(crate) fn inner(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.project().inner
    }
}

impl<F: Future> Future for Paced<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let inner = this.inner;
        if let Poll::Ready(output) = CURRENT.sync_scope(Arc::clone(this.sending), || inner.poll(cx)) {
            return Poll::Ready(Some(output));
        }
        while let Some(due) = this.sending.due() {
            let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if alarm.deadline() != due {
                alarm.as_mut().reset(due);
            }
            match alarm.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if this.sending.due() == Some(due) => return Poll::Ready(None),
                // Something was taken meanwhile.
                Poll::Ready(()) => {}
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const LONG: Duration = Duration::from_secs(60);

    /// A stream whose client takes something every so often, so many times, and then nothing more.
    async fn stream(pause: Duration, times: u32) {
        let sending = Sending::begin(Instant::now() + LONG).expect("it is paced");
        for _ in 0..times {
            tokio::time::sleep(pause).await;
            sending.progress();
        }
        std::future::pending::<()>().await;
    }

    async fn ends_after(stream: impl Future<Output = ()>) -> (bool, Duration) {
        let began = Instant::now();
        let ended = tokio::time::timeout(2 * LONG, Paced::new(stream, Arc::default())).await;
        (matches!(ended, Ok(None)), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_ends_when_nobody_takes_it_or_its_time_is_over() {
        assert_eq!(ends_after(stream(LONG, 0)).await, (true, ANSWER_STALL));
        let pause = ANSWER_STALL - Duration::from_secs(1);
        assert_eq!(ends_after(stream(pause, 2)).await, (true, 2 * pause + ANSWER_STALL));
        assert_eq!(ends_after(stream(pause, 1000)).await, (true, LONG), "slow is not for ever");
        // What has no end of its own is not begun.
        assert_eq!(ends_after(std::future::pending()).await, (false, 2 * LONG));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_not_to_blame_for_what_is_still_being_made() {
        let making = async {
            Sending::begin(Instant::now() + LONG).expect("it is paced").make_more();
            std::future::pending::<()>().await;
        };
        assert_eq!(ends_after(making).await, (true, LONG));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_late_can_still_be_sent() {
        let late = async {
            Sending::begin(Instant::now()).expect("it is paced");
            std::future::pending::<()>().await;
        };
        assert_eq!(ends_after(late).await, (true, ANSWER_GRACE));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_been_written_is_waited_for_no_more() {
        for (hands_on, writes, ends) in [(true, true, false), (true, false, true), (false, true, true)] {
            let sending = Arc::<Sending>::default();
            sending.tell_written();
            let answering = async {
                let sending = Sending::begin(Instant::now() + LONG).expect("it is paced");
                if hands_on {
                    sending.hand_on();
                }
                if writes {
                    sending.written();
                }
                poll_fn(|_| Poll::<()>::Pending).await;
            };
            let ended = tokio::time::timeout(2 * LONG, Paced::new(answering, sending)).await;
            assert_eq!(ended.is_ok(), ends, "{hands_on} {writes}");
        }
    }
}
