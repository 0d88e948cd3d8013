//! A cork on a connection: what its streams write in one turn of the runtime goes out in one write.
//! Guarantees that nothing stays behind the cork for longer than a turn, and bounds what gathers there.
//! Must never sit on a connection that can be taken over: who takes it would flush in vain.
//!
//! HTTP/2 flushes after every frame. With many watchers on a connection each of their events would cost a TLS record
//! and a system call, which is most of what an event costs.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{CORKED_BYTES, CORKED_BYTES_KEPT};

/// A connection behind a cork, and the cork.
pub(crate) fn corked<I>(io: I) -> (Corked<I>, Cork<I>) {
    let pipe = Arc::new(Mutex::new(Pipe { io, waiting: Vec::new(), sent: 0, lately: 0 }));
    (Corked(Arc::clone(&pipe)), Cork { pipe, turn: Arc::default(), closed: false })
}

struct Pipe<I> {
    io: I,
    /// Bytes to be written, the first `sent` of which are.
    waiting: Vec<u8>,
    sent: usize,
    /// The most bytes of a turn, the longer ago the less.
    lately: usize,
}

impl<I: AsyncWrite + Unpin> Pipe<I> {
    /// Makes room for one more write of the streams.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.waiting.len() < CORKED_BYTES {
            true => Poll::Ready(Ok(())),
            false => self.poll_drain(cx),
        }
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.waiting.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        self.sent = 0;
        // What was needed lately is kept, as it will be needed again. More than that goes by and by.
        self.lately = self.waiting.len().max(self.lately - self.lately / 16);
        self.waiting.clear();
        if self.lately < self.waiting.capacity() / 4 {
            self.waiting.shrink_to((self.waiting.capacity() / 2).max(CORKED_BYTES_KEPT));
        }
        Pin::new(&mut self.io).poll_flush(cx)
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

/// Drives a connection and lets out what it wrote once whatever else was ready to run has run.
pub(crate) struct Cork<I> {
    pipe: Arc<Mutex<Pipe<I>>>,
    turn: Arc<Turn>,
    /// Something is gathered: until the turn is over, polling the connection would be in vain.
    closed: bool,
}

impl<I: AsyncWrite + Unpin> Cork<I> {
    /// Polls the connection to its end. May be given up and called again.
    pub(crate) async fn drive<F: Future>(&mut self, mut connection: Pin<&mut F>) {
        poll_fn(|cx| self.poll(cx, connection.as_mut())).await;
    }

    fn poll<F: Future>(&mut self, cx: &mut Context<'_>, connection: Pin<&mut F>) -> Poll<()> {
        let is_over = self.turn.over.swap(false, Ordering::AcqRel);
        if self.closed && !is_over {
            return Poll::Pending;
        }
        if connection.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut pipe = lock(&self.pipe);
        self.closed = !pipe.waiting.is_empty() && !is_over;
        if self.closed {
            self.turn.end_later(cx.waker());
            return Poll::Pending;
        }
        match pipe.poll_drain(cx) {
            Poll::Ready(Err(_)) => Poll::Ready(()),
            // What the peer does not take waits until it does; then the connection is polled again.
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Tells the end of a turn from the other reasons to be woken.
#[derive(Default)]
struct Turn {
    over: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Turn {
    /// Wakes the task when the runtime has run what else is ready.
    fn end_later(self: &Arc<Self>, task: &Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.clone());
        let waker = Waker::from(Arc::clone(self));
        // Yielding puts its waker in the last place; the waker stays there when the future is dropped.
        let _ = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&waker));
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.over.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        task.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::sync::mpsc;

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
    async fn what_a_burst_needed_is_kept_for_a_while() {
        let mut pipe = Pipe { io: Network(Arc::default()), waiting: Vec::new(), sent: 0, lately: 0 };
        let mut write = async |bytes| {
            pipe.waiting.resize(bytes, 0);
            poll_fn(|cx| pipe.poll_drain(cx)).await.expect("it takes everything");
            pipe.waiting.capacity()
        };
        let burst = write(CORKED_BYTES).await;
        for _ in 0..5 {
            assert_eq!(write(1).await, burst);
        }
        for _ in 0..200 {
            write(1).await;
        }
        assert_eq!(write(1).await, CORKED_BYTES_KEPT);
    }

    /// Streams that become ready one after the other in one turn, on a connection that flushes after every frame.
    #[tokio::test]
    async fn what_is_written_in_a_turn_goes_out_together() {
        let writes = Arc::new(Mutex::new(Vec::new()));
        let (mut stream, mut cork) = corked(Network(Arc::clone(&writes)));
        let (frames, mut ready) = mpsc::unbounded_channel::<usize>();
        let connection = tokio::spawn(async move {
            let streams = async {
                while let Some(size) = ready.recv().await {
                    stream.write_all(&vec![0; size]).await.expect("room");
                    stream.flush().await.expect("left to the cork");
                }
                stream.shutdown().await.expect("shut down");
            };
            cork.drive(pin!(streams)).await;
        });
        let written = || writes.lock().expect("no panic").clone();
        // Each writer is woken by the one before it, so the connection is woken between any two.
        let (first, mut baton) = mpsc::unbounded_channel();
        for _ in 0..5 {
            let (next, received) = mpsc::unbounded_channel();
            let (frames, mut given) = (frames.clone(), std::mem::replace(&mut baton, received));
            tokio::spawn(async move {
                given.recv().await;
                frames.send(100).expect("listens");
                // The last one has nobody after it.
                let _ = next.send(());
            });
        }
        tokio::task::yield_now().await; // until all of them wait
        first.send(()).expect("somebody is first");
        while written().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(written(), [500]);
        // What does not fit waits for no turn, and the end lets out the rest.
        writes.lock().expect("no panic").clear();
        [CORKED_BYTES, 1, 1].into_iter().for_each(|size| frames.send(size).expect("listens"));
        drop(frames);
        connection.await.expect("ends");
        assert_eq!(written(), [CORKED_BYTES, 2]);
    }
}
