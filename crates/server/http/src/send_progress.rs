//! `SendProgress` tracks a response that is being sent, and `Paced` ends its stream if the client stalls. Guarantees that a
//! response that is not long-running is sent by its deadline, and that a client that accepts none of it for `ANSWER_STALL`
//! loses it: an HTTP/2 stream is reset, an HTTP/1 connection closed. Must never end long-running responses: watches and
//! upgraded connections are not tracked.

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
    static CURRENT: Arc<SendProgress>;
}

/// Nothing is being sent that must end.
const NONE: u64 = u64::MAX;

/// No deadline while the response is being produced.
const MAKING: u64 = NONE / 2;

/// The progress of the response of a stream, or of the consecutive responses of a connection.
pub(crate) struct SendProgress {
    epoch: Instant,
    /// Milliseconds since the epoch.
    deadline: AtomicU64,
    /// When the client last took something.
    taken: AtomicU64,
    /// The whole response has been passed to the writer, but not all of it need be written.
    handed_on: AtomicBool,
    /// The writer reports the end of writing; otherwise passing the response on ends it.
    tells_written: AtomicBool,
}

impl Default for SendProgress {
    fn default() -> SendProgress {
        SendProgress {
            epoch: Instant::now(),
            deadline: AtomicU64::new(NONE),
            taken: AtomicU64::new(0),
            handed_on: AtomicBool::new(false),
            tells_written: AtomicBool::new(false),
        }
    }
}

impl SendProgress {
    /// Starts tracking a response on the stream or connection that is being polled.
    pub(crate) fn begin(deadline: Instant) -> Option<Arc<SendProgress>> {
        let sending = CURRENT.try_with(Arc::clone).ok()?;
        sending.handed_on.store(false, Ordering::Relaxed);
        sending.progress();
        let deadline = deadline.max(Instant::now() + ANSWER_GRACE);
        sending.deadline.store(sending.millis(deadline), Ordering::Relaxed);
        Some(sending)
    }

    /// The client has accepted some bytes.
    pub(crate) fn progress(&self) {
        self.taken.store(self.millis(Instant::now()), Ordering::Relaxed);
    }

    /// More of the response is being produced: the stall timer stops.
    pub(crate) fn make_more(&self) {
        self.taken.store(MAKING, Ordering::Relaxed);
    }

    /// The last bytes have been passed to the writer.
    pub(crate) fn hand_on(&self) {
        self.handed_on.store(true, Ordering::Relaxed);
        if !self.tells_written.load(Ordering::Relaxed) {
            self.written();
        }
    }

    /// Tracks responses until [`SendProgress::written`] is called.
    pub(crate) fn tell_written(&self) {
        self.tells_written.store(true, Ordering::Relaxed);
    }

    /// Everything that was handed on has been written.
    pub(crate) fn written(&self) {
        if self.handed_on.load(Ordering::Relaxed) {
            self.deadline.store(NONE, Ordering::Relaxed);
        }
    }

    /// When the stream ends unless the client accepts more bytes; `None` when nothing is tracked.
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
    /// A stream or a connection that ends, without output, when its client stalls.
    pub(crate) struct Paced<F> {
        #[pin]
        inner: F,
        sending: Arc<SendProgress>,
        // Created at the first stall: nearly all responses are sent at once.
        alarm: Option<Pin<Box<Sleep>>>,
    }
}

impl<F> Paced<F> {
    pub(crate) fn new(inner: F, sending: Arc<SendProgress>) -> Paced<F> {
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
                // Bytes were accepted meanwhile.
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

    /// A stream whose client accepts bytes at an interval, several times, and then stalls.
    async fn stream(pause: Duration, times: u32) {
        let sending = SendProgress::begin(Instant::now() + LONG).expect("it is paced");
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
    async fn a_response_ends_when_it_stalls_or_times_out() {
        assert_eq!(ends_after(stream(LONG, 0)).await, (true, ANSWER_STALL));
        let pause = ANSWER_STALL - Duration::from_secs(1);
        assert_eq!(ends_after(stream(pause, 2)).await, (true, 2 * pause + ANSWER_STALL));
        assert_eq!(ends_after(stream(pause, 1000)).await, (true, LONG), "slow is not for ever");
        // Long-running responses are not tracked.
        assert_eq!(ends_after(std::future::pending()).await, (false, 2 * LONG));
    }

    #[tokio::test(start_paused = true)]
    async fn time_to_produce_a_body_does_not_count_as_a_stall() {
        let making = async {
            SendProgress::begin(Instant::now() + LONG).expect("it is paced").make_more();
            std::future::pending::<()>().await;
        };
        assert_eq!(ends_after(making).await, (true, LONG));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_response_can_still_be_sent() {
        let late = async {
            SendProgress::begin(Instant::now()).expect("it is paced");
            std::future::pending::<()>().await;
        };
        assert_eq!(ends_after(late).await, (true, ANSWER_GRACE));
    }

    #[tokio::test(start_paused = true)]
    async fn written_bytes_end_the_stall_timer() {
        for (hands_on, writes, ends) in [(true, true, false), (true, false, true), (false, true, true)] {
            let sending = Arc::<SendProgress>::default();
            sending.tell_written();
            let answering = async {
                let sending = SendProgress::begin(Instant::now() + LONG).expect("it is paced");
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
