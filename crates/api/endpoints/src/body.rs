//! `Body`: what an answer is made of, from one buffer to a stream without end.
//!
//! Lists are spliced while they are sent: at any time one chunk is in memory, whatever the list's size.

use crate::backend::ByteStream;
use crate::upgrade::Takeover;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use http_body::{Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer's body.
pub enum Body {
    Full(Bytes),
    /// Ends by itself.
    Chunks(BoxStream<'static, Bytes>, Size),
    /// Ends when the client goes, its time is over, or the server stops. Beside it stands what lives as long.
    Watch(BoxStream<'static, Bytes>, Option<Box<dyn Send>>),
    /// What a backend answers, as it comes; breaks off where the backend does.
    Passed(ByteStream),
    /// No body but the connection itself, which is handed over once the head is sent.
    Upgrade(Takeover),
}

/// How long a body is that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Exactly(u64),
    About(u64),
}

impl Size {
    pub fn bytes(self) -> u64 {
        match self {
            Size::Exactly(bytes) | Size::About(bytes) => bytes,
        }
    }
}

impl Body {
    pub fn empty() -> Self {
        Body::Full(Bytes::new())
    }

    /// Whether it has no end of its own.
    pub fn is_long_running(&self) -> bool {
        matches!(self, Body::Watch(..) | Body::Passed(_) | Body::Upgrade(_))
    }

    /// The same body, which keeps something alive until it has ended or is given up.
    pub fn holding(self, held: impl Send + 'static) -> Self {
        match self {
            Body::Watch(chunks, others) => Body::Watch(chunks, Some(Box::new((others, held)))),
            Body::Passed(pieces) => Body::Passed(Box::pin(Holding { stream: pieces, _held: held })),
            Body::Upgrade(takeover) => Body::Upgrade(Box::new(move |connection| {
                let done = takeover(connection);
                Box::pin(async move {
                    done.await;
                    drop(held);
                })
            })),
            ends => ends,
        }
    }

    /// About how many bytes a body has that ends.
    pub fn size(&self) -> u64 {
        match self {
            Body::Full(bytes) => bytes.len() as u64,
            Body::Chunks(_, size) => size.bytes(),
            Body::Watch(..) | Body::Passed(_) | Body::Upgrade(_) => 0,
        }
    }

    /// All bytes of a body that ends.
    pub async fn collect(self) -> Bytes {
        match self {
            Body::Full(bytes) => bytes,
            Body::Chunks(mut chunks, size) => {
                let mut all = Vec::with_capacity(usize::try_from(size.bytes()).unwrap_or(0));
                while let Some(chunk) = chunks.next().await {
                    all.extend_from_slice(&chunk);
                }
                all.into()
            }
            Body::Watch(..) | Body::Passed(_) | Body::Upgrade(_) => Bytes::new(),
        }
    }
}

/// A stream and what lives as long as it.
struct Holding<S, T> {
    stream: S,
    _held: T,
}

// The stream is boxed and moves freely; what is held is never pinned.
impl<S, T> Unpin for Holding<S, T> {}

impl<S: Stream + Unpin, T> Stream for Holding<S, T> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.poll_next_unpin(context)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Body::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Body::Chunks(stream, _) | Body::Watch(stream, _) => {
                stream.poll_next_unpin(context).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
            }
            Body::Passed(stream) => stream.poll_next_unpin(context).map_ok(Frame::data),
            Body::Upgrade(_) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Full(bytes) => bytes.is_empty(),
            Body::Upgrade(_) => true,
            _ => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Chunks(_, Size::Exactly(size)) => SizeHint::with_exact(*size),
            _ => SizeHint::default(),
        }
    }
}
