//! A cache with expiry, by the hash of the request. Guarantees a bound of entries. Must never return an expired entry.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

/// As many as kube-apiserver keeps of access reviews.
const MAX_ENTRIES: usize = 8192;

/// The hash of a question.
pub type Key = [u8; 32];

/// Values with their expiry times.
#[derive(Debug)]
pub struct ExpiringCache<T> {
    entries: RwLock<HashMap<Key, (Instant, T)>>,
    max_entries: usize,
}

impl<T> Default for ExpiringCache<T> {
    fn default() -> Self {
        ExpiringCache::with_bound(MAX_ENTRIES)
    }
}

impl<T> ExpiringCache<T> {
    /// A cache of at most so many entries.
    pub fn with_bound(max_entries: usize) -> Self {
        ExpiringCache { entries: RwLock::default(), max_entries }
    }
}

impl<T: Clone> ExpiringCache<T> {
    /// The key of a question.
    pub fn key(question: &[u8]) -> Key {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, question).as_ref());
        key
    }

    /// The value, unless it is expired.
    pub fn get(&self, key: &Key, now: Instant) -> Option<T> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(until, _)| now < *until).map(|(_, answer)| answer.clone())
    }

    /// Adds a value for some time; 0 adds nothing.
    pub fn set(&self, key: Key, answer: T, now: Instant, time: Duration) {
        let Some(until) = now.checked_add(time).filter(|_| !time.is_zero()) else { return };
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.max_entries {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= self.max_entries {
            entries.clear();
        }
        entries.insert(key, (until, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end() {
        let (cache, start) = (ExpiringCache::default(), Instant::now());
        let [one, two] = [b"one", b"two"].map(|question| ExpiringCache::<u8>::key(question));
        cache.set(one, 1, start, Duration::from_secs(2));
        cache.set(two, 2, start, Duration::ZERO);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!([cache.get(&one, at(1)), cache.get(&one, at(2)), cache.get(&two, start)], [Some(1), None, None]);
    }

    #[test]
    fn their_number_has_a_bound() {
        let (cache, start) = (ExpiringCache::default(), Instant::now());
        for number in 0..3 * MAX_ENTRIES {
            cache.set(ExpiringCache::<usize>::key(&number.to_le_bytes()), number, start, Duration::from_secs(1));
        }
        assert!(cache.entries.read().expect("unlocked").len() <= MAX_ENTRIES);
    }
}
