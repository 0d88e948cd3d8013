//! `Kept`: what was found out about credentials and requests, by their hash. Guarantees a bound in bytes, whatever the size of
//! the values, and that values in use stay longer than others. Must never hold a credential itself: only its hash.

use std::fmt;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use ring::digest::{SHA256, digest};

/// The hash of a credential or a request.
pub type Key = [u8; 32];

/// One value may have this share of all bytes. Larger ones are not kept: they would displace what many clients use.
const LARGEST_SHARE: usize = 32;

/// Bytes of a usual value, by which the cache sizes its parts.
const USUAL_BYTES: usize = 1024;

/// The hash of some bytes.
pub fn key_of(bytes: &[u8]) -> Key {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, bytes).as_ref());
    key
}

/// Values by hash. Those that were read since they were added stay longest.
pub struct Kept<T>(Cache<Key, Entry<T>, ByBytes>);

#[derive(Clone)]
struct Entry<T> {
    bytes: usize,
    value: T,
}

#[derive(Clone)]
struct ByBytes;

impl<T> Weighter<Key, Entry<T>> for ByBytes {
    fn weight(&self, _: &Key, entry: &Entry<T>) -> u64 {
        u64::try_from(entry.bytes).unwrap_or(u64::MAX)
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl<T: Clone> Kept<T> {
    /// Keeps at most so many bytes.
    pub fn with_bound(max_bytes: usize) -> Kept<T> {
        let weight = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        Kept(Cache::with_weighter(max_bytes / USUAL_BYTES, weight, ByBytes))
    }

    /// The value.
    pub fn get(&self, key: &Key) -> Option<T> {
        self.0.get(key).map(|entry| entry.value)
    }

    /// Keeps a value, which refers to so many bytes on the heap.
    pub fn set(&self, key: Key, value: T, bytes: usize) {
        // A table has up to twice as many places as entries.
        let bytes = bytes.saturating_add(2 * size_of::<(Key, Entry<T>)>());
        if self.bytes_max() / LARGEST_SHARE >= bytes {
            self.0.insert(key, Entry { bytes, value });
        }
    }

    fn bytes_max(&self) -> usize {
        usize::try_from(self.0.capacity()).unwrap_or(usize::MAX)
    }

    /// The bytes of all values, with their places in the table.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.0.weight()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 256 * 1024;

    #[test]
    fn bytes_are_bounded_and_values_in_use_stay() {
        let kept = Kept::with_bound(BOUND);
        let used = key_of(b"used");
        kept.set(used, 7, 100);
        for number in 0_usize..10_000 {
            assert_eq!(kept.get(&used), Some(7), "{number}");
            kept.set(key_of(&number.to_le_bytes()), number, 1000);
            assert!(kept.bytes() <= BOUND, "{number}: {}", kept.bytes());
        }
        assert!(kept.bytes() > BOUND / 3, "{}", kept.bytes());
    }

    #[test]
    fn small_values_have_a_bound_too() {
        let kept = Kept::with_bound(BOUND);
        for number in 0_usize..10_000 {
            kept.set(key_of(&number.to_le_bytes()), (), 0);
        }
        assert!(kept.0.len() * size_of::<Key>() < BOUND / 2, "{}", kept.0.len());
    }

    #[test]
    fn large_values_are_not_kept() {
        let kept = Kept::with_bound(BOUND);
        let [small, large] = [key_of(b"small"), key_of(b"large")];
        kept.set(small, 1, 100);
        kept.set(large, 2, BOUND / LARGEST_SHARE);
        assert_eq!([kept.get(&small), kept.get(&large)], [Some(1), None]);
        kept.set(small, 3, 200);
        assert_eq!(kept.get(&small), Some(3));
    }
}
