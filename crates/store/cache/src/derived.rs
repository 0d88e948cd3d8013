//! The side cache: other encodings of objects, made when first requested: protobuf, other versions, partial metadata.
//! Guarantees a bound in bytes; what is evicted is made again.
//! Must never hold the only copy of anything.

use crate::limits;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::cell::RefCell;

/// An encoding of an object; the endpoints assign the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant(pub u64);

#[derive(Clone)]
struct ByBytes;

impl Weighter<(u64, Variant), Bytes> for ByBytes {
    fn weight(&self, _: &(u64, Variant), bytes: &Bytes) -> u64 {
        bytes.len() as u64 + 96
    }
}

thread_local! {
    /// The last encoding that this thread requested. Many watches request the same one in a row; without this,
    /// threads would contend for the cache's locks and reference counts.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

struct Last {
    of: (u64, Variant),
    bytes: Bytes,
    /// The bytes are a copy whose reference count no other thread uses.
    own: bool,
}

impl Last {
    fn recall(of: (u64, Variant)) -> Option<Bytes> {
        LAST.with_borrow_mut(|last| {
            let last = last.as_mut().filter(|last| last.of == of)?;
            if !std::mem::replace(&mut last.own, true) {
                last.bytes = Bytes::copy_from_slice(&last.bytes);
            }
            Some(last.bytes.clone())
        })
    }

    fn note(of: (u64, Variant), bytes: &Bytes) {
        let last = (bytes.len() <= limits::REMEMBERED_BYTES).then(|| Last { of, bytes: bytes.clone(), own: false });
        LAST.set(last);
    }
}

/// The side cache of derived encodings, keyed by `Object::id`.
pub struct Derived(Cache<(u64, Variant), Bytes, ByBytes>);

impl Default for Derived {
    fn default() -> Self {
        let typical_item = 2048;
        let items = usize::try_from(limits::DERIVED_BYTES / typical_item).unwrap_or(usize::MAX);
        Derived(Cache::with_weighter(items, limits::DERIVED_BYTES, ByBytes))
    }
}

impl Derived {
    /// The encoding, made by `make` if it is missing.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_insert_with<E>(
        &self,
        id: u64,
        variant: Variant,
        make: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let of = (id, variant);
        if let Some(bytes) = Last::recall(of) {
            return Ok(bytes);
        }
        let bytes = match self.0.get(&of) {
            Some(bytes) => bytes,
            None => {
                let bytes = make()?;
                self.0.insert(of, bytes.clone());
                bytes
            }
        };
        Last::note(of, &bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_forms_are_reused() {
        let derived = Derived::default();
        let ask = |id, variant, size: usize| {
            let mut made = false;
            let bytes = derived.get_or_insert_with(id, Variant(variant), || {
                made = true;
                Ok::<_, ()>(Bytes::from(vec![variant as u8; size]))
            });
            assert_eq!(bytes, Ok(Bytes::from(vec![variant as u8; size])), "{id} {variant}");
            made
        };
        // IDs are unique in the process, so no other test uses these.
        let id = u64::MAX - 10;
        assert!(ask(id, 1, 10) && !ask(id, 1, 10) && !ask(id, 1, 10));
        assert!(ask(id, 2, 10) && ask(id + 1, 1, 10) && !ask(id, 1, 10));
        let large = limits::REMEMBERED_BYTES + 1;
        assert!(ask(id + 2, 1, large) && !ask(id + 2, 1, large));
        LAST.with_borrow(|last| assert!(last.is_none(), "a thread keeps nothing large"));
    }
}
