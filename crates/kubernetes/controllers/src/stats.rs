//! `Stats`: the statistics of a queue, for client-go's metrics. Guarantees that counting is a few relaxed additions.
//! Must never influence a decision.

use pintle_metrics::{Counter, Histogram, Layout, exponential};
use std::time::Duration;

static DURATIONS: Layout = Layout::seconds(&BOUNDS);
/// From 10 ns to 10 s in steps of ten, as in client-go.
const BOUNDS: [f64; 10] = exponential(1e-8, 10.0);

/// The counters of a queue.
pub struct Stats {
    pub name: &'static str,
    pub adds: Counter,
    pub retries: Counter,
    /// The time from a key's due time until a worker took it.
    pub waits: Histogram,
    /// The processing times of keys.
    pub works: Histogram,
}

/// The counters and the current state of a queue.
pub struct QueueSnapshot<'a> {
    pub stats: &'a Stats,
    /// The number of due keys.
    pub depth: usize,
    /// The total time that the keys in progress have taken so far.
    pub unfinished: Duration,
    /// The longest of these times.
    pub longest: Duration,
}

impl Stats {
    pub(crate) fn new(name: &'static str) -> Self {
        let (waits, works) = (Histogram::new(&DURATIONS), Histogram::new(&DURATIONS));
        Stats { name, adds: Counter::new(), retries: Counter::new(), waits, works }
    }

    pub(crate) fn added(&self) {
        self.adds.increment();
    }

    pub(crate) fn taken(&self, waited: Duration) {
        self.waits.observe_duration(waited);
    }

    pub(crate) fn finished(&self, took: Duration, comes_again: bool) {
        self.works.observe_duration(took);
        if comes_again {
            self.retries.increment();
        }
    }
}
