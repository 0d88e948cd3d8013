//! `HeadTimeout`: an HTTP/1 connection whose client must send the head of a request in time. It also reports the progress of
//! responses, since hyper takes the chunks of a response before it can write them. Guarantees that a head that arrives in one
//! read costs no timer, and that idle time between requests is not counted. Must never wrap HTTP/2, whose frames need not
//! belong to a request.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::activity::Activity;

pub(crate) struct HeadTimeout<I> {
    stream: I,
    activity: Arc<Activity>,
    timeout: Duration,
    /// When the current head began, and the number of requests before it.
    head: Option<(Instant, u64)>,
    alarm: Pin<Box<Sleep>>,
}

impl<I> HeadTimeout<I> {
    /// The first head begins with the connection.
    pub(crate) fn new(stream: I, activity: Arc<Activity>, timeout: Duration) -> Self {
        let head = Some((Instant::now(), activity.requests_so_far()));
        activity.sending.tell_written();
        HeadTimeout { stream, activity, timeout, head, alarm: Box::pin(sleep(timeout)) }
    }
}

impl<I> HeadTimeout<I> {
    fn tell_progress(&self, written: &Poll<io::Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(bytes)) if *bytes > 0) {
            self.activity.sending.progress();
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for HeadTimeout<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let so_far = this.activity.requests_so_far();
        if this.activity.is_busy() || this.head.is_some_and(|(_, requests)| requests != so_far) {
            this.head = None;
        }
        match (&read, this.head) {
            (Poll::Ready(Ok(())), None) if buffer.filled().len() > before && !this.activity.is_busy() => {
                this.head = Some((Instant::now(), so_far));
            }
            (Poll::Pending, Some((since, _))) => {
                let deadline = since + this.timeout;
                if this.alarm.deadline() != deadline {
                    this.alarm.as_mut().reset(deadline);
                }
                if this.alarm.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            _ => {}
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for HeadTimeout<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.tell_progress(&written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.activity.sending.written();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.tell_progress(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;

    use super::*;
    use crate::activity::Counted;

    const TIMEOUT: Duration = Duration::from_secs(32);
    const LONG: Duration = Duration::from_secs(1000);

    #[tokio::test(start_paused = true)]
    async fn only_started_heads_time_out() {
        let (mut client, server) = duplex(64);
        let activity = Arc::<Activity>::default();
        let mut server = HeadTimeout::new(server, Arc::clone(&activity), TIMEOUT);
        let mut byte = [0; 1];
        let mut read = async |server: &mut HeadTimeout<_>| timeout(LONG, server.read(&mut byte)).await;
        // The first head begins with the connection.
        let began = Instant::now();
        let first = read(&mut server).await.expect("it gives up").expect_err("an error");
        assert_eq!((first.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 32));
        // No timeout while a request is in flight, between requests, or after a response within one read.
        let request = Counted::new(&activity);
        assert!(read(&mut server).await.is_err(), "a request takes as long as it takes");
        drop(request);
        assert!(read(&mut server).await.is_err(), "the next one may be long in coming");
        client.write_all(b"a").await.expect("written");
        assert!(read(&mut server).await.is_ok());
        drop(Counted::new(&activity));
        assert!(read(&mut server).await.is_err(), "what was read was a request");
        // A head that has begun must be complete in time, however slowly its bytes arrive.
        client.write_all(b"b").await.expect("written");
        assert!(read(&mut server).await.is_ok());
        let began = Instant::now();
        tokio::time::sleep(TIMEOUT / 2).await;
        client.write_all(b"c").await.expect("written");
        assert!(read(&mut server).await.is_ok());
        assert!(read(&mut server).await.expect("it gives up").is_err());
        assert_eq!(began.elapsed(), TIMEOUT);
    }
}
