//! `BufferedWriter`: combines the writes of all streams of an HTTP/2 connection. Guarantees that the buffer is empty once the
//! connection has been polled, and that it is bounded. Must never wrap a connection that can be taken over: its new owner's
//! flushes would have no effect.
//!
//! h2 flushes after every frame, and so through tokio's `BufWriter`. With many watchers on a connection each of their events
//! would cost a TLS record and a system call, which is most of the cost of an event. So flushes are left to the connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::WRITE_BUFFER_BYTES;

/// The two halves of a buffered connection: for hyper, and for the connection's task to flush.
pub(crate) fn buffered<I>(io: I) -> (BufferedWriter<I>, Flusher<I>) {
    let pipe = Arc::new(Mutex::new(Pipe { io, waiting: Vec::new(), sent: 0, owes_flush: false }));
    (BufferedWriter(Arc::clone(&pipe)), Flusher { pipe, has_yielded: false })
}

struct Pipe<I> {
    io: I,
    /// Bytes to be written, the first `sent` of which are. Allocated while there are any: most connections are idle.
    waiting: Vec<u8>,
    sent: usize,
    /// Written data may still be in `io`, as TLS records that the network has not accepted.
    owes_flush: bool,
}

impl<I: AsyncWrite + Unpin> Pipe<I> {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.waiting.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => (self.sent, self.owes_flush) = (self.sent + written, true),
            }
        }
        (self.waiting, self.sent) = (Vec::new(), 0);
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.owes_flush &= flushed.is_pending();
        flushed
    }
}

fn lock<I>(pipe: &Mutex<Pipe<I>>) -> MutexGuard<'_, Pipe<I>> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection as its streams see it: writing fills the buffer, flushing is left to the [`Flusher`].
pub(crate) struct BufferedWriter<I>(Arc<Mutex<Pipe<I>>>);

impl<I: AsyncRead + Unpin> AsyncRead for BufferedWriter<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).io).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for BufferedWriter<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.0);
        if pipe.waiting.len() >= WRITE_BUFFER_BYTES {
            ready!(pipe.poll_drain(cx))?;
        }
        let before = pipe.waiting.len();
        bufs.iter().for_each(|buf| pipe.waiting.extend_from_slice(buf));
        Poll::Ready(Ok(pipe.waiting.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = lock(&self.0);
        ready!(pipe.poll_drain(cx))?;
        Pin::new(&mut pipe.io).poll_shutdown(cx)
    }
}

/// Writes the content of the buffer.
pub(crate) struct Flusher<I> {
    pipe: Arc<Mutex<Pipe<I>>>,
    has_yielded: bool,
}

impl<I: AsyncWrite + Unpin> Flusher<I> {
    /// Writes as much as the network accepts, once all ready tasks have run: their streams may write, too. Wakes the task
    /// for the rest. Ready if the network has failed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pipe = lock(&self.pipe);
        if !self.has_yielded && !pipe.waiting.is_empty() {
            self.has_yielded = true;
            // The runtime runs a task that has woken itself after those that are ready.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        match pipe.owes_flush || !pipe.waiting.is_empty() {
            false => Poll::Pending,
            true => match pipe.poll_drain(cx) {
                Poll::Ready(Err(_)) => Poll::Ready(()),
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::AsyncWriteExt;

    /// Remembers every write that reaches the network.
    struct Network(Arc<Mutex<Vec<usize>>>);

    impl AsyncWrite for Network {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().expect("no panic").push(buf.len());
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn writes_before_a_flush_are_sent_together() {
        let writes = Arc::new(Mutex::new(Vec::new()));
        let written = || std::mem::take(&mut *writes.lock().expect("no panic"));
        let (mut stream, mut flusher) = buffered(Network(Arc::clone(&writes)));
        let mut poll = async || poll_fn(|cx| Poll::Ready(flusher.poll(cx))).await.is_pending();
        for _ in 0..5 {
            stream.write_all(&[0; 100]).await.expect("room");
            stream.flush().await.expect("left to the flusher");
        }
        assert!(poll().await && written().is_empty());
        // A stream that was ready, too.
        stream.write_all(&[0; 100]).await.expect("room");
        assert!(poll().await);
        assert_eq!(written(), [600]);
        assert!(poll().await && written().is_empty());
        assert_eq!(lock(&stream.0).waiting.capacity(), 0, "an idle connection keeps no buffer");
        // A write that does not fit is not delayed, and the end flushes the rest.
        for size in [WRITE_BUFFER_BYTES, 1, 1] {
            stream.write_all(&vec![0; size]).await.expect("room");
        }
        stream.shutdown().await.expect("shut down");
        assert_eq!(written(), [WRITE_BUFFER_BYTES, 2]);
    }

    /// Takes every write, as TLS does, and lets it out when the network allows it.
    #[derive(Default)]
    struct Records {
        inside: usize,
        outside: usize,
        allowed: usize,
    }

    impl AsyncWrite for Records {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.inside += buf.len();
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            let goes = self.inside.min(self.allowed);
            (self.inside, self.outside, self.allowed) = (self.inside - goes, self.outside + goes, self.allowed - goes);
            if self.inside == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }
    }

    #[tokio::test]
    async fn partial_writes_are_completed_later() {
        let (mut stream, mut flusher) = buffered(Records::default());
        stream.write_all(&[0; 100]).await.expect("room");
        assert!(poll_fn(|cx| Poll::Ready(flusher.poll(cx))).await.is_pending());
        for outside in [0, 40, 80, 100] {
            assert!(poll_fn(|cx| Poll::Ready(flusher.poll(cx))).await.is_pending());
            assert_eq!(lock(&stream.0).io.outside, outside);
            lock(&stream.0).io.allowed = 40;
        }
    }
}
