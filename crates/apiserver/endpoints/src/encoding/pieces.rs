//! Long lists, encoded while they are sent. Guarantees that one piece of a list is in memory at a time, whatever its
//! length and form; that a list that fits into one piece is sent as a whole; and that a list that cannot be finished is
//! broken off, never ended as if it were complete. Must never encode a piece before it is asked for.

use super::document::is_a_list;
use super::indent::Indenter;
use super::list::{Budget, ItemForm, ListEncoder, Walked};
use super::message::{message_size, put_message};
use super::negotiation::{Format, ResponseKind};
use super::object::ObjectEncoder;
use crate::body::{Body, Size};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use pintle_cache::Object;
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_compute::give_way;
use pintle_meta::meta::v1::ListMeta;
use pintle_registry::{Items, Page, Result, Status};
use pintle_schema::{ApiType, Value};
use std::future::ready;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::task::yield_now;

/// Bytes of a list that are sent at a time.
pub(super) const PIECE: usize = 64 << 10;

impl ListEncoder {
    /// A list as the body of a response. Errors of objects that come later break the body off.
    ///
    /// # Errors
    /// One of the first objects cannot be decoded or converted, or the form does not fit a list.
    pub async fn list(mut self, page: Page) -> Result<Body> {
        if self.wanted.shape == ResponseKind::Partial {
            return Err(is_a_list(&self.target.resource));
        }
        let (object, key) = self.document(&page);
        let items = page.items;
        self.batches.prepare(&self.target, self.is_stored_form, &items);
        if items.is_empty()
            && let Some(schema) = self.schema()
        {
            return Ok(Body::Full(self.empty(object, key, schema)));
        }
        let form = self.item_form();
        let is_indented = self.wanted.pretty && self.wanted.format == Format::Json;
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        let (mut size, mut item_bytes, mut separator) = (None, None, &b""[..]);
        match self.wanted.format {
            Format::Json => {
                [head, tail] = json::encode_around(&object, key);
                separator = b",";
                if is_indented {
                    // Indented text ends without a line break.
                } else {
                    tail.push(b'\n');
                    item_bytes = self.copied_bytes(&form, &items);
                }
            }
            Format::Yaml => [head, tail] = yaml::encode_around(&object, key),
            Format::Cbor => [head, tail] = cbor::encode_around(&object, key, items.len()),
            Format::Protobuf => {
                let (api_version, kind) = (object.get("apiVersion"), object.get("kind"));
                let [api_version, kind] = [api_version, kind].map(|text| text.and_then(Value::as_str).unwrap_or(""));
                let mut meta = Vec::new();
                protobuf::encode(ListMeta::schema(), object.get("metadata").unwrap_or(&Value::Null), &mut meta);
                let bytes = self.protobuf_bytes(&form, &items).await?;
                let raw = message_size(meta.len()) as u64 + bytes;
                let raw = usize::try_from(raw).unwrap_or(usize::MAX);
                tail.extend_from_slice(protobuf::open_envelope(api_version, kind, raw, &mut head));
                put_message(&mut head, 1, &meta);
                item_bytes = Some(bytes);
            }
        }
        if let Some(bytes) = item_bytes {
            size = Some((head.len() + tail.len()) as u64 + bytes);
        }
        let mut pieces = Pieces::new(self, items, form);
        (pieces.separator, pieces.tail, pieces.announced) = (separator, tail, item_bytes);
        pieces.indenter = is_indented.then(Indenter::default);
        pieces.body(head, size).await
    }
}

/// A list that is being sent.
struct Pieces {
    encoder: ListEncoder,
    items: Items,
    form: ItemForm,
    /// Between two items.
    separator: &'static [u8],
    /// After the last.
    tail: Vec<u8>,
    /// How many bytes of items are still to come, if that was announced.
    announced: Option<u64>,
    indenter: Option<Indenter>,
    last: Option<Arc<Object>>,
    scratch: Vec<u8>,
}

impl Pieces {
    fn new(encoder: ListEncoder, items: Items, form: ItemForm) -> Self {
        let tail = Vec::new();
        let (separator, announced, indenter, last, scratch) = (&b""[..], None, None, None, Vec::new());
        Pieces { encoder, items, form, separator, tail, announced, indenter, last, scratch }
    }

    /// The list as a body, of which the first piece is made at once.
    ///
    /// # Errors
    /// An object of the first piece cannot be decoded or converted.
    async fn body(mut self, head: Vec<u8>, size: Option<u64>) -> Result<Body> {
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

    /// About how many bytes are still to come, if so many were made of the objects until now. It is used to tell long
    /// lists from short ones: no more than [`ESTIMATED_BYTES`] are counted.
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
