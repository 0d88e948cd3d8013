//! Histograms, of values and of values over time, and exemplars. Guarantees that observing is a few relaxed additions,
//! without text or allocation. Must never know what it measures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The layout of a histogram: upper bounds of its buckets, and the resolution of its sum.
#[derive(Debug)]
pub struct Layout {
    bounds: &'static [f64],
    /// Steps of the sum per observed unit.
    steps: f64,
}

impl Layout {
    /// For durations in seconds; the sum is exact to the nanosecond.
    pub const fn seconds(bounds: &'static [f64]) -> Self {
        Layout { bounds, steps: 1e9 }
    }

    /// For ratios that are observed at every nanosecond.
    pub const fn ratios(bounds: &'static [f64]) -> Self {
        Layout { bounds, steps: 1.0 }
    }

    /// For sizes in bytes, and other whole numbers.
    pub const fn bytes(bounds: &'static [f64]) -> Self {
        Layout { bounds, steps: 1.0 }
    }
}

/// Bounds that begin with `first`, each `factor` times the previous one.
pub const fn exponential<const N: usize>(first: f64, factor: f64) -> [f64; N] {
    let mut bounds = [first; N];
    let mut at = 1;
    while at < N {
        bounds[at] = bounds[at - 1] * factor;
        at += 1;
    }
    bounds
}

/// A histogram.
#[derive(Debug)]
pub struct Histogram {
    layout: &'static Layout,
    /// One for each bound, and one for larger values.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    /// The last exemplar of each bucket; made with the first one.
    exemplars: OnceLock<Box<[Mutex<Option<Exemplar>>]>>,
}

/// The id of a trace, as in W3C Trace Context.
pub type TraceId = [u8; 16];

/// An observed value and the trace in which it was observed.
#[derive(Clone, Copy, Debug)]
pub struct Exemplar {
    pub trace: TraceId,
    pub value: f64,
    pub observed: SystemTime,
}

impl Histogram {
    pub fn new(layout: &'static Layout) -> Self {
        let buckets = (0..=layout.bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { layout, buckets, sum: AtomicU64::new(0), exemplars: OnceLock::new() }
    }

    pub fn observe(&self, value: f64) {
        self.observe_times(value, 1);
    }

    /// Observes a value so many times at once.
    pub fn observe_times(&self, value: f64, times: u64) {
        if let Some(bucket) = self.buckets.get(self.bucket_of(value)) {
            bucket.fetch_add(times, Ordering::Relaxed);
        }
        // Saturates: neither a negative nor a huge value can wrap the sum.
        self.sum.fetch_add((value * times as f64 * self.layout.steps) as u64, Ordering::Relaxed);
    }

    pub fn observe_duration(&self, took: Duration) {
        self.observe(took.as_secs_f64());
    }

    /// Observes a duration of a request that belongs to a sampled trace, if any; it becomes the exemplar of its bucket.
    pub fn observe_traced(&self, took: Duration, trace: Option<TraceId>) {
        self.observe_duration(took);
        let Some(trace) = trace else { return };
        let value = took.as_secs_f64();
        let none = || self.buckets.iter().map(|_| Mutex::default()).collect();
        if let Some(last) = self.exemplars.get_or_init(none).get(self.bucket_of(value)) {
            let exemplar = Exemplar { trace, value, observed: SystemTime::now() };
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(exemplar);
        }
    }

    /// The last exemplar of each bucket, in their order; nothing if there was none.
    pub fn exemplars(&self) -> impl Iterator<Item = Option<Exemplar>> {
        let buckets = self.exemplars.get().into_iter().flatten();
        buckets.map(|last| *last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bucket that a value falls into.
    fn bucket_of(&self, value: f64) -> usize {
        self.layout.bounds.partition_point(|bound| *bound < value)
    }

    /// Each bucket's upper bound and count; the last one has no bound.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.layout.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)))
    }

    pub fn sum(&self) -> f64 {
        self.sum.load(Ordering::Relaxed) as f64 / self.layout.steps
    }

    /// The number of observed values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    /// Whether no value was observed.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A histogram of a value over time: it is observed at the end of every nanosecond.
#[derive(Debug)]
pub struct TimingHistogram {
    histogram: Histogram,
    /// Up to when it has been observed.
    until_ns: AtomicU64,
}

impl TimingHistogram {
    /// The value is observed from now on.
    pub fn new(layout: &'static Layout, now_ns: u64) -> Self {
        TimingHistogram { histogram: Histogram::new(layout), until_ns: AtomicU64::new(now_ns) }
    }

    /// Observes the value that there has been since the last call. Every nanosecond is observed once, also by calls at
    /// a time.
    pub fn advance(&self, value: f64, now_ns: u64) {
        let before = self.until_ns.fetch_max(now_ns, Ordering::Relaxed);
        let passed = now_ns.saturating_sub(before);
        if passed > 0 {
            self.histogram.observe_times(value, passed);
        }
    }

    /// What was observed up to the last call.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it() {
        static LAYOUT: Layout = Layout::seconds(&[0.1, 1.0]);
        let histogram = Histogram::new(&LAYOUT);
        assert!(histogram.is_empty());
        for value in [0.05, 0.1, 0.5, 7.0] {
            histogram.observe(value);
        }
        let found: Vec<_> = histogram.buckets().collect();
        assert_eq!(found, [(0.1, 2), (1.0, 1), (f64::INFINITY, 1)]);
        assert!((histogram.sum() - 7.65).abs() < 1e-6, "{}", histogram.sum());
        histogram.observe(-1.0);
        assert!((histogram.sum() - 7.65).abs() < 1e-6, "a clock that went back adds nothing");
    }

    #[test]
    fn a_bucket_keeps_its_last_exemplar() {
        static LAYOUT: Layout = Layout::seconds(&[0.1, 1.0]);
        let histogram = Histogram::new(&LAYOUT);
        histogram.observe_traced(Duration::from_millis(50), None);
        assert_eq!(histogram.exemplars().count(), 0);
        for (millis, trace) in [(50, 1), (60, 2), (5000, 3)] {
            histogram.observe_traced(Duration::from_millis(millis), Some([trace; 16]));
        }
        let found: Vec<_> = histogram.exemplars().map(|last| last.map(|last| (last.trace[0], last.value))).collect();
        assert_eq!(found, [Some((2, 0.06)), None, Some((3, 5.0))]);
        assert_eq!(histogram.count(), 4);
    }

    #[test]
    fn a_value_over_time_is_observed_once_a_nanosecond() {
        static LAYOUT: Layout = Layout::ratios(&[0.0, 0.5, 1.0]);
        let timing = TimingHistogram::new(&LAYOUT, 100);
        timing.advance(0.0, 150);
        timing.advance(0.75, 170);
        // A clock that stands still, or goes back, adds nothing.
        timing.advance(0.25, 170);
        timing.advance(0.25, 120);
        timing.advance(2.0, 171);
        let found: Vec<_> = timing.histogram().buckets().map(|(_, count)| count).collect();
        assert_eq!((found.as_slice(), timing.histogram().sum()), (&[50, 0, 20, 1][..], 17.0));
    }
}
