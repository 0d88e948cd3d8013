//! `Body`: the body of a response, from one buffer to an endless stream.
//!
//! Lists are assembled while they are sent: one chunk is in memory at a time, whatever the size of the list. Chunks are
//! bounded, so that a slow client can take each within the stall timeout.

use crate::limits::PIECE_BYTES;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use http_body::{Frame, SizeHint};
use pintle_compute::{Turns, pieces};
use pintle_proxy::backend::ByteStream;
use pintle_proxy::upgrade::Takeover;
use pintle_schema::Str;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The body of a response.
pub enum Body {
    Full(Bytes),
    /// Ends by itself, or fails, which breaks off the response.
    Chunks(ByteStream, Size),
    /// Ends when the client disconnects, its timeout expires, or the server stops. The second part is dropped with it.
    Watch(BoxStream<'static, Bytes>, Option<Box<dyn Send>>),
    /// The body of a backend's response, streamed; fails where the backend does.
    Proxied(ByteStream),
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
        matches!(self, Body::Watch(..) | Body::Proxied(_) | Body::Upgrade(_))
    }

    /// The same body, which keeps `held` alive until it ends or is dropped.
    pub fn with_guard(self, held: impl Send + 'static) -> Self {
        match self {
            Body::Watch(chunks, others) => Body::Watch(chunks, Some(Box::new((others, held)))),
            Body::Proxied(pieces) => Body::Proxied(Box::pin(WithGuard { stream: pieces, _held: held })),
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

    /// The same body: what takes long to make is made in turns with what others compute.
    pub fn in_turns(self, turns: &Arc<Turns>, user: &Str) -> Self {
        match self {
            Body::Chunks(chunks, size) => Body::Chunks(Box::pin(pieces(turns, user, chunks)), size),
            Body::Watch(chunks, held) => Body::Watch(Box::pin(pieces(turns, user, chunks)), held),
            body => body,
        }
    }

    /// About how many bytes a body has that ends.
    pub fn size(&self) -> u64 {
        match self {
            Body::Full(bytes) => bytes.len() as u64,
            Body::Chunks(_, size) => size.bytes(),
            Body::Watch(..) | Body::Proxied(_) | Body::Upgrade(_) => 0,
        }
    }

    /// How many bytes are held in memory for it, if they are worth counting.
    pub(crate) fn buffered_bytes(&self) -> Option<u64> {
        match self {
            Body::Full(bytes) if bytes.len() > PIECE_BYTES => Some(bytes.len() as u64),
            _ => None,
        }
    }

    /// The next piece of a body that ends.
    pub(crate) async fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        match self {
            Body::Full(bytes) => split_piece(bytes).map(Ok),
            Body::Chunks(chunks, _) => chunks.next().await,
            _ => None,
        }
    }
}

fn split_piece(bytes: &mut Bytes) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| bytes.split_to(bytes.len().min(PIECE_BYTES)))
}

/// A stream, and a value that is dropped with it.
struct WithGuard<S, T> {
    stream: S,
    _held: T,
}

// The stream is boxed and moves freely; the held value is never pinned.
impl<S, T> Unpin for WithGuard<S, T> {}

impl<S: Stream + Unpin, T> Stream for WithGuard<S, T> {
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
            Body::Full(bytes) => Poll::Ready(split_piece(bytes).map(|piece| Ok(Frame::data(piece)))),
            Body::Watch(stream, _) => {
                stream.poll_next_unpin(context).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
            }
            Body::Chunks(stream, _) | Body::Proxied(stream) => stream.poll_next_unpin(context).map_ok(Frame::data),
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
