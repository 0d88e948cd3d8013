//! `Count`: how many requests there are, and for how long there were how many, as a share of how many there may be.
//! Guarantees that a change costs a few additions. Must never read the clock: callers pass the time.

use pintle_metrics::{Layout, TimingHistogram};
use std::sync::atomic::{AtomicI64, Ordering};

static RATIOS: Layout =
    Layout::ratios(&[0.0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]);

/// How many requests there are, now and over time.
pub struct Count {
    pub now: AtomicI64,
    /// In proportion to how many there may be.
    pub over_time: TimingHistogram,
}

impl Count {
    pub fn new() -> Count {
        Count { now: AtomicI64::new(0), over_time: TimingHistogram::new(&RATIOS, 0) }
    }

    /// Adds to the number. `most`: how many there may be.
    pub fn add(&self, change: i64, most: f64, now_ns: u64) {
        let before = self.now.fetch_add(change, Ordering::Relaxed);
        self.over_time.advance(before as f64 / most, now_ns);
    }
}
