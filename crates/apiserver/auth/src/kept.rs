//! `Kept`: what was found out about credentials and requests, by their hash. Guarantees a bound in bytes, whatever the size of
//! the values, and that values in use stay longer than others. Must never hold a credential itself: only its hash.

use std::collections::HashMap;
use std::mem::{size_of, take};
use std::sync::{PoisonError, RwLock};

use ring::digest::{SHA256, digest};

/// The hash of a credential or a request.
pub type Key = [u8; 32];

/// One value may have this share of all bytes. Larger ones are not kept: they would displace what many clients use.
const LARGEST_SHARE: usize = 32;

/// The hash of some bytes.
pub fn key_of(bytes: &[u8]) -> Key {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, bytes).as_ref());
    key
}

/// Values by hash. When the newer half is full, it becomes the older half, and what was in that is dropped, except values that
/// were read meanwhile.
#[derive(Debug)]
pub struct Kept<T> {
    max_bytes: usize,
    halves: RwLock<Halves<T>>,
}

#[derive(Debug)]
struct Halves<T> {
    newer: HashMap<Key, Entry<T>>,
    older: HashMap<Key, Entry<T>>,
    newer_bytes: usize,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    bytes: usize,
    value: T,
}

impl<T: Clone> Kept<T> {
    /// Keeps at most so many bytes.
    pub fn with_bound(max_bytes: usize) -> Kept<T> {
        let halves = Halves { newer: HashMap::new(), older: HashMap::new(), newer_bytes: 0 };
        Kept { max_bytes, halves: RwLock::new(halves) }
    }

    /// The value.
    pub fn get(&self, key: &Key) -> Option<T> {
        let older = {
            let halves = self.halves.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = halves.newer.get(key) {
                return Some(entry.value.clone());
            }
            halves.older.get(key)?.clone()
        };
        self.put(*key, older.clone());
        Some(older.value)
    }

    /// Keeps a value, which refers to so many bytes on the heap.
    pub fn set(&self, key: Key, value: T, bytes: usize) {
        // A table has up to twice as many places as entries.
        let bytes = bytes.saturating_add(2 * size_of::<(Key, Entry<T>)>());
        if bytes <= self.max_bytes / LARGEST_SHARE {
            self.put(key, Entry { bytes, value });
        }
    }

    fn put(&self, key: Key, entry: Entry<T>) {
        let mut halves = self.halves.write().unwrap_or_else(PoisonError::into_inner);
        let bytes = entry.bytes;
        if halves.newer_bytes.saturating_add(bytes) > self.max_bytes / 2 {
            halves.older = take(&mut halves.newer);
            halves.newer_bytes = 0;
        }
        halves.older.remove(&key);
        let before = halves.newer.insert(key, entry).map_or(0, |before| before.bytes);
        halves.newer_bytes = halves.newer_bytes.saturating_add(bytes).saturating_sub(before);
    }

    /// The bytes of all values, with their places in the table.
    pub fn bytes(&self) -> usize {
        let halves = self.halves.read().unwrap_or_else(PoisonError::into_inner);
        halves.newer.values().chain(halves.older.values()).map(|entry| entry.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 64 * 1024;

    #[test]
    fn bytes_are_bounded_and_values_in_use_stay() {
        let kept = Kept::with_bound(BOUND);
        let used = key_of(b"used");
        kept.set(used, 7, 100);
        for number in 0_usize..10_000 {
            kept.set(key_of(&number.to_le_bytes()), number, 1000);
            assert_eq!(kept.get(&used), Some(7), "{number}");
            assert!(kept.bytes() <= BOUND, "{number}: {}", kept.bytes());
        }
        assert!(kept.bytes() > BOUND / 3, "{}", kept.bytes());
        assert_eq!(kept.get(&key_of(&0_usize.to_le_bytes())), None);
        assert_eq!(kept.get(&key_of(&9_999_usize.to_le_bytes())), Some(9_999));
    }

    #[test]
    fn small_values_have_a_bound_too() {
        let kept = Kept::with_bound(BOUND);
        for number in 0_usize..10_000 {
            kept.set(key_of(&number.to_le_bytes()), (), 0);
        }
        let halves = kept.halves.read().expect("unlocked");
        assert!((halves.newer.len() + halves.older.len()) * size_of::<Key>() < BOUND / 2);
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
