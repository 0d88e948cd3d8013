//! Long responses, assembled while they are sent.
//!
//! One chunk of a list is in memory at a time, whatever its length; what fits into one chunk is sent at once. Nothing here can
//! fail: items are checked before the first byte is sent.

use crate::body::{Body, Size};
use bytes::Bytes;
use futures_util::stream;
use pintle_cache::Object;
use pintle_registry::Items;
use std::sync::Arc;

/// Bytes of a list sent at a time.
pub(super) const CHUNK: usize = 64 << 10;

/// A response of `head`, what `put` appends for each item, and `tail`.
pub(super) fn items(
    items: Items,
    size: Size,
    head: Vec<u8>,
    mut put: impl FnMut(&Object, &mut Vec<u8>) + Send + 'static,
    tail: impl AsRef<[u8]> + Send + 'static,
) -> Body {
    let mut chunk = head;
    chunk.reserve(usize::try_from(size.bytes()).unwrap_or(CHUNK).min(CHUNK) + 4096);
    let Some(mut last) = fill(&items, None, &mut put, &mut chunk) else {
        chunk.extend_from_slice(tail.as_ref());
        return Body::Full(chunk.into());
    };
    let items = items.detached();
    let mut first = Some(Bytes::from(chunk));
    let mut ended = false;
    let chunks = std::iter::from_fn(move || {
        if ended || first.is_some() {
            return first.take();
        }
        let mut chunk = Vec::with_capacity(CHUNK + 4096);
        match fill(&items, Some(&last), &mut put, &mut chunk) {
            Some(shown) => last = shown,
            None => {
                chunk.extend_from_slice(tail.as_ref());
                ended = true;
            }
        }
        Some(chunk.into())
    });
    Body::Chunks(Box::pin(stream::iter(chunks)), size)
}

/// Fills a chunk with the items after one of them. Returns the last that found room, unless it was the last of all.
fn fill(
    items: &Items,
    after: Option<&Arc<Object>>,
    put: &mut impl FnMut(&Object, &mut Vec<u8>),
    chunk: &mut Vec<u8>,
) -> Option<Arc<Object>> {
    let mut last = after;
    let mut rest = items.after(after.map(|object| &**object));
    while chunk.len() < CHUNK {
        let object = rest.next()?;
        put(object, chunk);
        last = Some(object);
    }
    last.cloned()
}
