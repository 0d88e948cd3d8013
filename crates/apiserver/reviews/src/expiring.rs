//! Answers that are kept for a time, by the hash of what was asked.
//! Guarantees a bound of entries. Must never give an answer after its time.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

/// As many as kube-apiserver keeps.
const MAX_ENTRIES: usize = 8192;

/// The hash of a question.
pub(crate) type Key = [u8; 32];

/// Answers with the time at which each one ends.
pub(crate) struct Expiring<T>(RwLock<HashMap<Key, (Instant, T)>>);

impl<T> Default for Expiring<T> {
    fn default() -> Self {
        Expiring(RwLock::default())
    }
}

impl<T: Clone> Expiring<T> {
    /// The key of a question.
    pub fn key(question: &[u8]) -> Key {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, question).as_ref());
        key
    }

    pub fn get(&self, key: &Key, now: Instant) -> Option<T> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(until, _)| now < *until).map(|(_, answer)| answer.clone())
    }

    pub fn set(&self, key: Key, answer: T, now: Instant, time: Duration) {
        let Some(until) = now.checked_add(time).filter(|_| !time.is_zero()) else { return };
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= MAX_ENTRIES {
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
        let (cache, start) = (Expiring::default(), Instant::now());
        let [one, two] = [b"one", b"two"].map(|question| Expiring::<u8>::key(question));
        cache.set(one, 1, start, Duration::from_secs(2));
        cache.set(two, 2, start, Duration::ZERO);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!([cache.get(&one, at(1)), cache.get(&one, at(2)), cache.get(&two, start)], [Some(1), None, None]);
    }

    #[test]
    fn their_number_has_a_bound() {
        let (cache, start) = (Expiring::default(), Instant::now());
        for number in 0..3 * MAX_ENTRIES {
            cache.set(Expiring::<usize>::key(&number.to_le_bytes()), number, start, Duration::from_secs(1));
        }
        assert!(cache.0.read().expect("unlocked").len() <= MAX_ENTRIES);
    }
}
