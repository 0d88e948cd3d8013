//! Counters, histograms, families of them by key, and their exposition as text.
//! Guarantees that observing is a few relaxed additions, without contended locks, text or allocation.
//! Must never know what it measures, or how a client asks for it.

mod allowed;
mod exposition;
mod histogram;
mod keyed;

pub use allowed::AllowedLabels;
pub use exposition::{Exposition, Family, Format, Label, Number, Source};
pub use histogram::{Exemplar, Histogram, Layout, TimingHistogram, TraceId, exponential};
pub use keyed::{Keyed, SERIES_MAX};

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter of events.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Self {
        Counter(AtomicU64::new(0))
    }

    pub fn add(&self, times: u64) {
        self.0.fetch_add(times, Ordering::Relaxed);
    }

    pub fn increment(&self) {
        self.add(1);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
