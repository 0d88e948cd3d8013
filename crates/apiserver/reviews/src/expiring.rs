//! A cache with expiry, by the hash of the request. Guarantees a bound in bytes. Must never return an expired entry.

use std::time::{Duration, Instant};

use pintle_auth::kept::{Kept, key_of};

pub use pintle_auth::kept::Key;

/// Bytes of kept access reviews: as many as kube-apiserver keeps, 8192, at a kilobyte each.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Values with their expiry times.
#[derive(Debug)]
pub struct ExpiringCache<T>(Kept<(Instant, T)>);

impl<T: Clone> Default for ExpiringCache<T> {
    fn default() -> Self {
        ExpiringCache::with_bound(MAX_BYTES)
    }
}

impl<T: Clone> ExpiringCache<T> {
    /// A cache of at most so many bytes.
    pub fn with_bound(max_bytes: usize) -> Self {
        ExpiringCache(Kept::with_bound(max_bytes))
    }

    /// The key of a question.
    pub fn key(question: &[u8]) -> Key {
        key_of(question)
    }

    /// The value, unless it is expired.
    pub fn get(&self, key: &Key, now: Instant) -> Option<T> {
        self.0.get(key).filter(|(until, _)| now < *until).map(|(_, answer)| answer)
    }

    /// Adds a value, which refers to so many bytes on the heap, for some time; 0 adds nothing.
    pub fn set(&self, key: Key, answer: T, bytes: usize, now: Instant, time: Duration) {
        let Some(until) = now.checked_add(time).filter(|_| !time.is_zero()) else { return };
        self.0.set(key, (until, answer), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end() {
        let (cache, start) = (ExpiringCache::default(), Instant::now());
        let [one, two] = [b"one", b"two"].map(|question| ExpiringCache::<u8>::key(question));
        cache.set(one, 1, 0, start, Duration::from_secs(2));
        cache.set(two, 2, 0, start, Duration::ZERO);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!([cache.get(&one, at(1)), cache.get(&one, at(2)), cache.get(&two, start)], [Some(1), None, None]);
    }

    #[test]
    fn their_bytes_have_a_bound() {
        let (cache, start) = (ExpiringCache::default(), Instant::now());
        for number in 0..100_usize {
            let key = ExpiringCache::<usize>::key(&number.to_le_bytes());
            cache.set(key, number, MAX_BYTES / 40, start, Duration::from_secs(1));
            assert_eq!(cache.get(&key, start), Some(number));
        }
        assert!(cache.0.bytes() <= MAX_BYTES);
    }
}
