//! What has taken long before is expected to take long again.
//! Guarantees that a kind of request, of one user, whose computation nobody declares runs long on a worker thread a few times at most.
//! Must never grow: it is a table of fixed size, in which different kinds may share a place.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};

/// Places of the table, a byte each.
const PLACES: usize = 4096;

/// After so many long computations in a row the next one is expected to be long. One alone may have been interrupted by the system.
const LONG: u8 = 2;

/// So many short ones make up for any number of long ones.
const MOST: u8 = 32;

/// How long the computations of users' kinds of requests were.
pub(crate) struct Experience(Box<[AtomicU8]>);

impl Default for Experience {
    fn default() -> Self {
        Experience((0..PLACES).map(|_| AtomicU8::new(0)).collect())
    }
}

impl Experience {
    fn place(&self, user: &str, kind: u64) -> Option<&AtomicU8> {
        let mut hasher = DefaultHasher::new();
        (user, kind).hash(&mut hasher);
        self.0.get(hasher.finish() as usize % PLACES)
    }

    /// Whether a request is expected to compute for long.
    pub fn is_long(&self, user: &str, kind: u64) -> bool {
        self.place(user, kind).is_some_and(|place| place.load(Ordering::Relaxed) >= LONG)
    }

    /// Notes how a request turned out. A lost note of two at the same time does no harm.
    pub fn note(&self, user: &str, kind: u64, was_long: bool) {
        let Some(place) = self.place(user, kind) else { return };
        let before = place.load(Ordering::Relaxed);
        let after = match was_long {
            true => before.saturating_add(1).min(MOST),
            // What takes long now and then is not forgotten at once, and what did once is.
            false if before < LONG => 0,
            false => before - 1,
        };
        if before != after {
            place.store(after, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_long_twice_in_a_row_is_expected_to_take_long() {
        let experience = Experience::default();
        let expected = |notes: &[bool]| {
            notes.iter().for_each(|long| experience.note("user", 7, *long));
            experience.is_long("user", 7)
        };
        assert!(!expected(&[true, false, true]), "one may have been interrupted");
        assert!(expected(&[true]));
        assert!(expected(&[true, true, false]));
        assert!(!expected(&[false, false]));
        assert!(expected(&[true; 300]));
        assert!(!expected(&[false; MOST as usize]));
        assert!(!experience.is_long("other", 7));
    }
}
