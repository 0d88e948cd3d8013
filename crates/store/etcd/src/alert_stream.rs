//! `AlertStream`: a stream that replaces a write error with the TLS alert that the peer sent, if there is one.
//! Guarantees that a rejected client certificate is reported as such: with TLS 1.3 the alert comes after the handshake.
//! Must never hide an error.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub struct AlertStream<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Unpin> AlertStream<S> {
    fn why<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let Poll::Ready(Err(error)) = outcome else { return outcome };
        if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) {
            return Poll::Ready(Err(error));
        }
        let mut last = [0];
        match Pin::new(&mut self.0).poll_read(context, &mut ReadBuf::new(&mut last)) {
            Poll::Ready(Err(alert)) => Poll::Ready(Err(alert)),
            Poll::Ready(Ok(())) => Poll::Ready(Err(error)),
            // The connection has ended, so this does not take long.
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AlertStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for AlertStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.0).poll_write(context, bytes);
        self.why(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.0).poll_write_vectored(context, slices);
        self.why(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.0).poll_flush(context);
        self.why(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
