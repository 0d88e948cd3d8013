//! A cork on a connection: what its streams write while they run goes out in one write.
//! Guarantees that nothing stays behind the cork once the connection has been polled, and bounds what gathers there.
//! Must never sit on a connection that can be taken over: who takes it would flush in vain.
//!
//! HTTP/2 flushes after every frame. With many watchers on a connection each of their events would cost a TLS record
//! and a system call, which is most of what an event costs.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{CORKED_BYTES, CORKED_BYTES_KEPT};

thread_local! {
    /// A buffer for whoever writes next: nearly always one is empty again before another connection has its turn, so they
    /// share one that is warm.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A connection behind a cork, and the cork.
pub(crate) fn corked<I>(io: I) -> (Corked<I>, Cork<I>) {
    let pipe = Arc::new(Mutex::new(Pipe { io, waiting: Vec::new(), sent: 0, owes_flush: false }));
    (Corked(Arc::clone(&pipe)), Cork(pipe))
}

struct Pipe<I> {
    io: I,
    /// Bytes to be written, the first `sent` of which are.
    waiting: Vec<u8>,
    sent: usize,
    /// What was written may still lie within `io`, as TLS records that the network has not taken.
    owes_flush: bool,
}

impl<I: AsyncWrite + Unpin> Pipe<I> {
    /// Makes room for one more write of the streams.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.waiting.len() >= CORKED_BYTES {
            ready!(self.poll_drain(cx))?;
        }
        if self.waiting.capacity() == 0 {
            self.waiting = SPARE.take();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.waiting.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => (self.sent, self.owes_flush) = (self.sent + written, true),
            }
        }
        self.sent = 0;
        self.waiting.clear();
        if (1..=CORKED_BYTES_KEPT).contains(&self.waiting.capacity()) {
            SPARE.set(std::mem::take(&mut self.waiting));
        } else {
            self.waiting = Vec::new();
        }
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.owes_flush &= flushed.is_pending();
        flushed
    }
}

fn lock<I>(pipe: &Mutex<Pipe<I>>) -> MutexGuard<'_, Pipe<I>> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection as its streams see it: writing gathers, flushing is left to the cork.
pub(crate) struct Corked<I>(Arc<Mutex<Pipe<I>>>);

impl<I: AsyncRead + Unpin> AsyncRead for Corked<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).io).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Corked<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.0);
        ready!(pipe.poll_room(cx))?;
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

/// Lets out what has gathered.
pub(crate) struct Cork<I>(Arc<Mutex<Pipe<I>>>);

impl<I: AsyncWrite + Unpin> Cork<I> {
    /// Writes what the network takes; for the rest the task is woken. Ready if the network has failed.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pipe = lock(&self.0);
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
    async fn what_is_written_before_the_cork_is_drawn_goes_out_together() {
        let writes = Arc::new(Mutex::new(Vec::new()));
        let written = || std::mem::take(&mut *writes.lock().expect("no panic"));
        let (mut stream, cork) = corked(Network(Arc::clone(&writes)));
        let draw = async || poll_fn(|cx| Poll::Ready(cork.poll(cx))).await.is_pending();
        for _ in 0..5 {
            stream.write_all(&[0; 100]).await.expect("room");
            stream.flush().await.expect("left to the cork");
        }
        assert!(written().is_empty());
        assert!(draw().await);
        assert_eq!(written(), [500]);
        // The buffer is for all.
        let (mut other, _cork) = corked(Network(Arc::default()));
        let spare = SPARE.take();
        assert!(spare.capacity() >= 500 && lock(&stream.0).waiting.capacity() == 0);
        SPARE.set(spare);
        other.write_all(&[0; 100]).await.expect("room");
        assert!(SPARE.take().capacity() == 0 && lock(&other.0).waiting.capacity() >= 500);
        // What does not fit is not kept back, and the end lets out the rest.
        for size in [CORKED_BYTES, 1, 1] {
            stream.write_all(&vec![0; size]).await.expect("room");
        }
        assert!(lock(&stream.0).waiting.capacity() >= CORKED_BYTES, "the buffer goes on in use");
        stream.shutdown().await.expect("shut down");
        assert_eq!(written(), [CORKED_BYTES, 2]);
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
    async fn what_the_network_did_not_take_at_once_goes_out_later() {
        let (mut stream, cork) = corked(Records::default());
        stream.write_all(&[0; 100]).await.expect("room");
        for outside in [0, 40, 80, 100] {
            assert!(poll_fn(|cx| Poll::Ready(cork.poll(cx))).await.is_pending());
            assert_eq!(lock(&stream.0).io.outside, outside);
            lock(&stream.0).io.allowed = 40;
        }
    }
}
