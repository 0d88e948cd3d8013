//! Long lists, encoded while they are sent. Guarantees that one piece of a list is in memory at a time, whatever its length and form;
//! that a list that fits into one piece is sent as a whole; and that a list that cannot be finished is broken off, never ended as if
//! it were complete. Must never encode a piece before it is asked for.

use super::ObjectEncoder;
use super::indent::Indenter;
use super::list::{ItemForm, ListEncoder};
use crate::body::{Body, Size};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use pintle_cache::Object;
use pintle_compute::give_way;
use pintle_registry::{Items, Result, Status};
use std::future::ready;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::task::yield_now;

/// Bytes of a list that are sent at a time.
pub(super) const PIECE: usize = 64 << 10;

/// How far a walk over the objects of a list came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Walked {
    Stopped,
    ToTheEnd,
}

/// How much more may be worked at before others get their turn: about a millisecond.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Budget(bytes)
    }

    /// Takes what an object costs. Stops when nothing is left.
    pub(super) fn take(&mut self, object: &Object) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(object.encoded.json().len());
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl ListEncoder {
    /// Visits the objects after the `last`, which it moves on, until `visit` stops. Converts them before, batch by batch.
    ///
    /// # Errors
    /// Those of `visit`, and those of conversions.
    pub(super) async fn walk(
        &mut self,
        items: &Items,
        last: &mut Option<Arc<Object>>,
        mut visit: impl FnMut(&ObjectEncoder<'_>, &Arc<Object>) -> Result<ControlFlow<()>>,
    ) -> Result<Walked> {
        loop {
            let ListEncoder { batches, registry, target, .. } = self;
            batches.reach(registry, target, items, last.as_deref()).await?;
            let (mut walked, mut visited) = (Some(Walked::ToTheEnd), None);
            {
                let encoder = self.encoder();
                for object in items.after(last.as_deref()) {
                    if !self.batches.has(object) {
                        walked = None;
                        break;
                    }
                    let flow = visit(&encoder, object)?;
                    visited = Some(object);
                    if flow.is_break() {
                        walked = Some(Walked::Stopped);
                        break;
                    }
                }
            }
            if let Some(visited) = visited.cloned() {
                *last = Some(visited);
            }
            if let Some(walked) = walked {
                return Ok(walked);
            }
        }
    }
}

/// A list that is being sent.
pub(super) struct Pieces {
    pub(super) encoder: ListEncoder,
    pub(super) items: Items,
    pub(super) form: ItemForm,
    /// Between two items.
    pub(super) separator: &'static [u8],
    /// After the last.
    pub(super) tail: Vec<u8>,
    /// How many bytes of items are still to come, if that was announced.
    pub(super) announced: Option<u64>,
    pub(super) indenter: Option<Indenter>,
    last: Option<Arc<Object>>,
    scratch: Vec<u8>,
}

impl Pieces {
    pub(super) fn new(encoder: ListEncoder, items: Items, form: ItemForm) -> Self {
        let tail = Vec::new();
        let (separator, announced, indenter, last, scratch) = (&b""[..], None, None, None, Vec::new());
        Pieces { encoder, items, form, separator, tail, announced, indenter, last, scratch }
    }

    /// The list as a body, of which the first piece is made at once.
    ///
    /// # Errors
    /// An object of the first piece cannot be decoded or converted.
    pub(super) async fn body(mut self, head: Vec<u8>, size: Option<u64>) -> Result<Body> {
        let expected = size.map_or(PIECE, |size| usize::try_from(size).unwrap_or(PIECE)).min(PIECE);
        let mut first = Vec::with_capacity(expected + 4096);
        self.put(&head, &mut first);
        let begun = first.len();
        loop {
            if self.next(&mut first).await? == Walked::ToTheEnd {
                return Ok(Body::Full(first.into()));
            }
            if first.len() >= PIECE {
                break;
            }
            give_way().await;
        }
        let size = match size {
            Some(size) => Size::Exactly(size),
            None => Size::About(first.len() as u64 + self.estimate(first.len() - begun)),
        };
        self.items = self.items.detached();
        let first = stream::once(ready(Ok(Bytes::from(first))));
        let rest = stream::try_unfold(Some(Box::new(self)), |pieces| async move {
            let Some(mut pieces) = pieces else { return Ok(None) };
            let mut piece = Vec::with_capacity(PIECE.min(pieces.form.work_bytes().saturating_mul(2)) + 4096);
            loop {
                let walked = pieces.next(&mut piece).await.map_err(broken_off)?;
                match walked {
                    Walked::ToTheEnd if piece.is_empty() => return Ok(None),
                    Walked::ToTheEnd => return Ok(Some((Bytes::from(piece), None))),
                    Walked::Stopped if piece.is_empty() => yield_now().await,
                    Walked::Stopped => return Ok(Some((Bytes::from(piece), Some(pieces)))),
                }
            }
        });
        Ok(Body::Chunks(first.chain(rest).boxed(), size))
    }

    /// Appends items until the piece is full or a millisecond's work has been done, or until the end of the list.
    async fn next(&mut self, piece: &mut Vec<u8>) -> Result<Walked> {
        let Pieces { encoder, items, form, separator, announced, indenter, last, scratch, .. } = self;
        let mut budget = Budget::new(form.work_bytes());
        let mut is_first = last.is_none();
        let put = |encoder: &ObjectEncoder<'_>, object: &Arc<Object>| {
            let before = piece.len();
            let out = if indenter.is_some() { &mut *scratch } else { &mut *piece };
            if !std::mem::take(&mut is_first) {
                out.extend_from_slice(separator);
            }
            form.put(encoder, object, out)?;
            match indenter {
                Some(indenter) => {
                    indenter.write(scratch, piece);
                    match scratch.capacity() > PIECE {
                        true => *scratch = Vec::new(),
                        false => scratch.clear(),
                    }
                }
                None => {
                    let put = (piece.len() - before) as u64;
                    *announced = announced.map(|left| left.wrapping_sub(put));
                }
            }
            let is_full = piece.len() >= PIECE;
            Ok(if is_full { ControlFlow::Break(()) } else { budget.take(object) })
        };
        let walked = encoder.walk(items, last, put).await?;
        if walked == Walked::ToTheEnd {
            if self.announced.is_some_and(|left| left != 0) {
                return Err(Status::internal("an object was encoded differently than when the list began"));
            }
            let tail = std::mem::take(&mut self.tail);
            self.put(&tail, piece);
        }
        Ok(walked)
    }

    fn put(&mut self, text: &[u8], out: &mut Vec<u8>) {
        match &mut self.indenter {
            Some(indenter) => indenter.write(text, out),
            None => out.extend_from_slice(text),
        }
    }

    /// About how many bytes are still to come, if so many were made of the objects until now. It is used to tell long lists from
    /// short ones: no more than [`ESTIMATED_BYTES`] are counted.
    fn estimate(&self, made: usize) -> u64 {
        let size = |object: &Arc<Object>| self.form.source_bytes(object);
        let last = self.last.as_ref();
        let is_before = |object: &&Arc<Object>| last.is_some_and(|last| object.key <= last.key);
        let source = self.items.iter().take_while(is_before).map(size).sum::<usize>().max(1);
        let mut rest = 0;
        for object in self.items.after(last.map(|last| &**last)) {
            rest += size(object) as u64 * made as u64 / source as u64;
            if rest > ESTIMATED_BYTES {
                break;
            }
        }
        rest
    }
}

/// More than any size from which on lists are sent in another way.
const ESTIMATED_BYTES: u64 = 1 << 20;

/// A list that was begun cannot become an error any more: the connection is broken off.
fn broken_off(status: Status) -> io::Error {
    tracing::error!("a list was broken off: {}", status.message);
    io::Error::other(status.message)
}
