//! `Stats`: what a queue has done, under the names that client-go gives it.
//! Guarantees that counting is a few relaxed additions.
//! Must never be asked for a decision: it is for those who look at a server from outside.

use pintle_metrics::{Counter, Histogram, Layout, exponential};
use std::time::Duration;

static DURATIONS: Layout = Layout::seconds(&BOUNDS);
/// A hundred millionth of a second, and nine times ten times as much.
const BOUNDS: [f64; 10] = exponential(1e-8, 10.0);

/// The counters of a queue.
pub struct Stats {
    pub name: &'static str,
    pub adds: Counter,
    pub retries: Counter,
    /// How long keys were due before a worker took them.
    pub waits: Histogram,
    /// How long workers were at keys.
    pub works: Histogram,
}

/// The counters of a queue, and how it stands.
pub struct Reading<'a> {
    pub stats: &'a Stats,
    /// Keys that are due.
    pub depth: usize,
    /// The time that the keys in work have been so, all together.
    pub unfinished: Duration,
    /// The longest of them.
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
