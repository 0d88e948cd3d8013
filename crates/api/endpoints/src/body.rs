//! `Body`: what an answer is made of, from one buffer to a stream without end.
//!
//! Lists are spliced while they are sent: at any time one chunk is in memory, whatever the list's size.

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer's body.
pub enum Body {
    Full(Bytes),
    /// Ends by itself.
    Chunks(BoxStream<'static, Bytes>, Option<u64>),
    /// Ends when the client goes, its time is over, or the server stops.
    Watch(BoxStream<'static, Bytes>),
}

impl Body {
    pub fn empty() -> Self {
        Body::Full(Bytes::new())
    }

    /// Whether it has no end of its own.
    pub fn is_long_running(&self) -> bool {
        matches!(self, Body::Watch(_))
    }

    /// All bytes of a body that ends.
    pub async fn collect(self) -> Bytes {
        match self {
            Body::Full(bytes) => bytes,
            Body::Chunks(mut chunks, size) => {
                let mut all = Vec::with_capacity(size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0));
                while let Some(chunk) = chunks.next().await {
                    all.extend_from_slice(&chunk);
                }
                all.into()
            }
            Body::Watch(_) => Bytes::new(),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Body::Chunks(stream, _) | Body::Watch(stream) => {
                stream.poll_next_unpin(context).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Chunks(_, Some(size)) => SizeHint::with_exact(*size),
            _ => SizeHint::default(),
        }
    }
}
