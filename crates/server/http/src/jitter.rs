//! `Jitter`: random numbers that need not be unpredictable. Guarantees that a number costs one addition and a few shifts, and
//! that processes get different ones. Must never be used for a secret or an identity.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) struct Jitter(AtomicU64);

impl Default for Jitter {
    fn default() -> Self {
        // The standard library seeds its hashers from the system.
        Jitter(AtomicU64::new(RandomState::new().hash_one(0)))
    }
}

impl Jitter {
    /// Whether this throw is among the given share of all throws.
    pub(crate) fn falls_within(&self, share: f64) -> bool {
        share > 0.0 && self.sample() < share
    }

    /// A part of a time, any as likely as any other; nothing of nothing.
    pub(crate) fn part_of(&self, whole: Duration) -> Duration {
        if whole.is_zero() { whole } else { whole.mul_f64(self.sample()) }
    }

    /// A number from 0 up to 1: a counter with a large odd step, its bits mixed (SplitMix64).
    fn sample(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.0.fetch_add(STEP, Ordering::Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_requested_probability() {
        let jitter = Jitter(AtomicU64::new(7));
        let fallen = (0..100_000).filter(|_| jitter.falls_within(0.02)).count();
        assert!((1_800..2_200).contains(&fallen), "{fallen}");
        assert!((0..1000).all(|_| !jitter.falls_within(0.0)));
        let second = Duration::from_secs(1);
        let long = (0..1000).map(|_| jitter.part_of(second)).filter(|part| *part > second / 2).count();
        assert!((400..600).contains(&long) && jitter.part_of(Duration::ZERO).is_zero(), "{long}");
    }
}
