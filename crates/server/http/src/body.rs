//! Bodies: reads a request's body with a limit, and wraps the body of a response for its connection. Guarantees that no more
//! than the limit is buffered, whatever a client declares or sends. Must never interpret the bytes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_core::Stream;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyDataStream, BodyExt};
use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::activity::Counted;
use crate::limits::{
    BELIEVED_BODY_BYTES, BODY_GRACE, BODY_LEAST_RATE, DISCARD_TIME, MAX_DISCARDED_BODY_BYTES, MAX_REQUEST_BODY_BYTES,
};
use crate::send_progress::SendProgress;
use crate::shutdown::Shutdown;

/// Why a request body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body is larger than allowed.
    #[error("request body is larger than {limit} bytes")]
    TooLarge {
        /// The limit that it exceeds, in bytes.
        limit: usize,
    },
    /// The client sends it more slowly than the minimum rate.
    #[error("request body comes too slowly")]
    TooSlow,
    /// The memory for request bodies is in use by other requests.
    #[error("too much of other request bodies is being received")]
    NoRoom,
    /// The client went away or broke the protocol.
    #[error("request body ended early: {0}")]
    Aborted(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The limits on reading a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// The largest body, in bytes.
    pub bytes: usize,
    /// Time that it has before its rate counts.
    pub grace: Duration,
    /// Bytes per second, on the average from the beginning of the reading.
    pub least_rate: u64,
}

impl Default for BodyLimits {
    fn default() -> BodyLimits {
        BodyLimits { bytes: MAX_REQUEST_BODY_BYTES, grace: BODY_GRACE, least_rate: BODY_LEAST_RATE }
    }
}

/// Reads a whole body within the limits. A body that came in one frame is not copied.
///
/// `room` is called with the size of each chunk and returns whether there is memory for it. A limited part of a body that is
/// too large is read and discarded, so that the client reads the error response.
pub async fn read_body<B>(body: B, limits: BodyLimits, room: impl FnMut(usize) -> bool) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limit = limits.bytes;
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > limit {
        discard(body, declared).await;
        return Err(BodyError::TooLarge { limit });
    }
    let mut incoming = Receiving { body, limits, room, received: 0, began: Instant::now() };
    let Some(first) = incoming.next().await? else {
        return Ok(Bytes::new());
    };
    if first.len() > limit {
        return too_large(incoming.body, limit).await;
    }
    let Some(second) = incoming.next().await? else {
        return Ok(first);
    };
    let capacity = declared.min(BELIEVED_BODY_BYTES).max(first.len() + second.len());
    let mut whole = BytesMut::with_capacity(capacity);
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(data) = next {
        if whole.len() + data.len() > limit {
            return too_large(incoming.body, limit).await;
        }
        whole.extend_from_slice(&data);
        next = incoming.next().await?;
    }
    Ok(whole.freeze())
}

/// A body that is being read.
struct Receiving<B, R> {
    body: B,
    limits: BodyLimits,
    room: R,
    received: u64,
    began: Instant,
}

impl<B, R> Receiving<B, R>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    R: FnMut(usize) -> bool,
{
    /// The next non-empty piece of data; trailers are skipped, no request of the API has any.
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        // Received bytes extend the deadline.
        let bought = Duration::from_secs(self.received / self.limits.least_rate.max(1));
        let due = self.began + self.limits.grace + bought;
        loop {
            let Some(frame) = timeout_at(due, self.body.frame()).await.map_err(|_| BodyError::TooSlow)? else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| BodyError::Aborted(error.into()))?;
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                if !(self.room)(data.len()) {
                    return Err(BodyError::NoRoom);
                }
                self.received = self.received.saturating_add(data.len() as u64);
                return Ok(Some(data));
            }
        }
    }
}

async fn too_large<B>(body: B, limit: usize) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    discard(body, 0).await;
    Err(BodyError::TooLarge { limit })
}

/// Reads and discards the rest of a body, unless its declared size exceeds the limit.
async fn discard<B>(mut body: B, declared: usize)
where
    B: Body<Data = Bytes> + Unpin,
{
    if declared > MAX_DISCARDED_BODY_BYTES {
        return;
    }
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Buf::remaining);
        if discarded > MAX_DISCARDED_BODY_BYTES {
            return;
        }
    }
}

/// The data of a body as it arrives, without trailers.
pub fn pieces<B>(body: B) -> impl Stream<Item = std::io::Result<Bytes>> + Send
where
    B: Body<Data = Bytes, Error = hyper::Error> + Send,
{
    BodyDataStream::new(body.map_err(std::io::Error::other))
}

/// The body of a request. A limited amount of what is unread is read and discarded while the response is sent: otherwise the
/// stream would be reset or the connection closed, and some clients would not read the response.
pub struct RequestBody {
    body: Option<hyper::body::Incoming>,
    /// The client sent `Expect: 100-continue`: reading the body sends the interim response.
    waits: bool,
}

impl RequestBody {
    pub(crate) fn new(body: hyper::body::Incoming, waits: bool) -> RequestBody {
        RequestBody { body: Some(body), waits }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let is_worth_reading = !self.waits && !self.is_end_stream();
        if let (Some(rest), true, Ok(runtime)) = (self.body.take(), is_worth_reading, Handle::try_current()) {
            runtime.spawn(timeout(DISCARD_TIME, discard(rest, 0)));
        }
    }
}

/// Marks a long-running response (a watch): put it into the response's extensions, and the body ends, cleanly and between
/// frames, when the server shuts down.
#[derive(Clone, Copy, Debug)]
pub struct LongRunning;

pin_project! {
    /// The body of a response, as the connection sends it: keeps the connection busy until it has ended, and ends a
    /// long-running one at shutdown. Costs nothing per frame for a body that is not long-running.
    pub(crate) struct Tracked<B> {
        #[pin]
        inner: B,
        ending: Option<Ending>,
        ended: bool,
        sending: Option<Handover>,
        counted: Counted,
    }
}

/// Reports the progress of a response that is not long-running, and its end.
pub(crate) struct Handover(pub(crate) Arc<SendProgress>);

impl Drop for Handover {
    fn drop(&mut self) {
        self.0.hand_on();
    }
}

/// How the server ends a body that is otherwise endless.
struct Ending {
    shutdown: Shutdown,
    /// Time from the shutdown to the end of the body. If zero it ends at once, even while there is more to send.
    delay: Duration,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Ending {
    fn new((shutdown, delay): (Shutdown, Duration)) -> Ending {
        let begun = shutdown.clone();
        let end = Box::pin(async move {
            begun.triggered().await;
            sleep(delay).await;
        });
        Ending { shutdown, delay, end }
    }

    fn is_due(&self) -> bool {
        self.delay.is_zero() && self.shutdown.is_triggered()
    }
}

impl<B> Tracked<B> {
    /// Wraps the body of a counted request; the request ends when the body is dropped. It ends so long after a shutdown has
    /// begun, if it has no end of its own.
    pub(crate) fn new(inner: B, counted: Counted, ends_with: Option<(Shutdown, Duration)>) -> Tracked<B> {
        let ending = ends_with.map(Ending::new);
        Tracked { inner, ending, ended: false, sending: None, counted }
    }

    /// The same body with stall detection.
    pub(crate) fn paced(self, sending: Option<Arc<SendProgress>>) -> Tracked<B> {
        Tracked { sending: sending.map(Handover), ..self }
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        if !*this.ended && !this.ending.as_ref().is_some_and(Ending::is_due) {
            let frame = this.inner.poll_frame(cx);
            match this.sending {
                Some(Handover(sending)) if frame.is_ready() => sending.progress(),
                Some(Handover(sending)) => sending.make_more(),
                None => {}
            }
            match this.ending {
                Some(ending) if frame.is_pending() => ready!(ending.end.as_mut().poll(cx)),
                _ => return frame,
            }
        }
        *this.ended = true;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use super::*;
    use tokio::time::Sleep;

    /// A body of given pieces that declares a length of its own choosing.
    struct Pieces(VecDeque<Bytes>, SizeHint);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|data| Ok(Frame::data(data))))
        }
        fn size_hint(&self) -> SizeHint {
            self.1
        }
    }

    struct Endless;

    impl Body for Endless {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    fn pieces(sizes: &[usize], declared: Option<u64>) -> Pieces {
        let data = sizes.iter().map(|n| Bytes::from(vec![b'x'; *n])).collect();
        Pieces(data, declared.map(SizeHint::with_exact).unwrap_or_default())
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit() {
        /// Chunks, declared length, limit, and how many bytes are read (none: too large).
        type Row = (&'static [usize], Option<u64>, usize, Option<usize>);
        let rows: &[Row] = &[
            (&[], None, 10, Some(0)),
            (&[0, 0], None, 10, Some(0)),
            (&[10], Some(10), 10, Some(10)),
            (&[11], None, 10, None),
            (&[11], Some(11), 10, None),
            (&[4, 0, 6], None, 10, Some(10)),
            (&[4, 6, 1], None, 10, None),
            (&[4], Some(4), 0, None),
            (&[1, 2, 3], Some(6), 1 << 40, Some(6)),
        ];
        for (sizes, declared, limit, expected) in rows {
            let limits = BodyLimits { bytes: *limit, ..BodyLimits::default() };
            let result = read_body(pieces(sizes, *declared), limits, |_| true).await;
            match (result, expected) {
                (Ok(bytes), Some(n)) => assert_eq!(bytes.len(), *n, "{sizes:?}"),
                (Err(BodyError::TooLarge { limit: l }), None) => assert_eq!(l, *limit),
                (result, _) => panic!("{sizes:?} with limit {limit}: {result:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_body_in_one_piece_is_not_copied() {
        let data = Bytes::from(vec![1u8; 64]);
        let body = Pieces(VecDeque::from([data.clone()]), SizeHint::with_exact(64));
        let read = read_body(body, BodyLimits::default(), |_| true).await.expect("within the limit");
        assert_eq!(read.as_ptr(), data.as_ptr());
    }

    /// Sends so many bytes at every interval.
    struct Drip(usize, Duration, Pin<Box<Sleep>>);

    impl Drip {
        fn new(bytes: usize, pause: Duration) -> Drip {
            Drip(bytes, pause, Box::pin(sleep(pause)))
        }
    }

    impl Body for Drip {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            ready!(self.2.as_mut().poll(cx));
            let again = Instant::now() + self.1;
            self.2.as_mut().reset(again);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; self.0])))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_too_slowly_is_given_up() {
        let second = Duration::from_secs(1);
        let limits = BodyLimits { bytes: 10_000, grace: 10 * second, least_rate: 1000 };
        let began = Instant::now();
        let read = read_body(Endless, limits, |_| true).await;
        assert!(matches!(read, Err(BodyError::TooSlow)) && began.elapsed() == limits.grace, "{read:?}");
        let began = Instant::now();
        let read = read_body(Drip::new(1, second), limits, |_| true).await;
        assert!(matches!(read, Err(BodyError::TooSlow)) && began.elapsed() == limits.grace, "{read:?}");
        // A client that keeps the rate is read to the end, here to the limit.
        let began = Instant::now();
        let read = read_body(Drip::new(2000, 2 * second), limits, |_| true).await;
        assert!(matches!(read, Err(BodyError::TooLarge { .. })) && began.elapsed() > limits.grace, "{read:?}");
    }

    #[tokio::test]
    async fn a_body_is_read_as_long_as_there_is_room() {
        let mut announced = Vec::new();
        let room = |bytes| {
            announced.push(bytes);
            announced.len() < 3
        };
        let read = read_body(pieces(&[3, 0, 4, 5, 6], None), BodyLimits::default(), room).await;
        assert!(matches!(read, Err(BodyError::NoRoom)), "{read:?}");
        assert_eq!(announced, [3, 4, 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_is_woken_by_the_shutdown() {
        let (shutdown, delay) = (Shutdown::new(), Duration::from_secs(7));
        let activity = std::sync::Arc::default();
        let body = Tracked::new(Endless, Counted::new(&activity), Some((shutdown.clone(), delay)));
        let waiting = tokio::spawn(body.collect());
        tokio::task::yield_now().await;
        let began = tokio::time::Instant::now();
        shutdown.trigger();
        waiting.await.expect("no panic").expect("a clean end");
        assert_eq!(began.elapsed(), delay);
    }

    #[tokio::test(start_paused = true)]
    async fn long_running_bodies_end_after_the_shutdown_grace() {
        let shutdown = Shutdown::new();
        shutdown.trigger();
        for delay in [Duration::ZERO, Duration::from_secs(7)] {
            let activity = std::sync::Arc::default();
            let body = Tracked::new(Endless, Counted::new(&activity), Some((shutdown.clone(), delay)));
            let began = tokio::time::Instant::now();
            assert!(body.collect().await.expect("a clean end").to_bytes().is_empty());
            assert_eq!(began.elapsed(), delay);
        }
    }
}
