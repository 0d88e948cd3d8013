//! Encodings derived from images when first asked for: protobuf, other versions, metadata only.
//!
//! Bounded in bytes; what is dropped is made again. Never the only copy of anything.

use crate::limits;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Which encoding of an object: assigned by the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant(pub u32);

#[derive(Clone)]
struct ByBytes;

impl Weighter<(u64, Variant), Bytes> for ByBytes {
    fn weight(&self, _: &(u64, Variant), bytes: &Bytes) -> u64 {
        bytes.len() as u64 + 96
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
    /// The encoding, made by `make` when it is not there.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_make<E>(
        &self,
        id: u64,
        variant: Variant,
        make: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if let Some(bytes) = self.0.get(&(id, variant)) {
            return Ok(bytes);
        }
        let bytes = make()?;
        self.0.insert((id, variant), bytes.clone());
        Ok(bytes)
    }
}
