//! Metrics of flow control: of each priority level, and of each flow schema at its level.
//! Guarantees that counting takes neither a lock nor memory. Must never decide anything: these numbers are only shown.

use crate::estimate::WorkEstimate;
use pintle_metrics::{Counter, Histogram, Layout, TimingHistogram};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static SECONDS: Layout = Layout::seconds(&[0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0]);
static QUEUE_LENGTHS: Layout = Layout::bytes(&[0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0]);
static WATCHES: Layout = Layout::bytes(&[0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0]);
static SEATS: Layout = Layout::bytes(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0]);

static SEAT_RATIOS: Layout = Layout::ratios(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]);
static REQUEST_RATIOS: Layout = Layout::ratios(&[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0]);
static DEMAND_RATIOS: Layout = Layout::ratios(&[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0]);

/// A number that rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub(crate) fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }

    pub(crate) fn add_seats(&self, seats: u64) {
        self.add(i64::try_from(seats).unwrap_or(i64::MAX));
    }

    pub(crate) fn take_seats(&self, seats: u64) {
        self.add(-i64::try_from(seats).unwrap_or(i64::MAX));
    }

    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No seat is free, and the level has no queues.
    ConcurrencyLimit,
    /// Its queue is full.
    QueueFull,
    /// It has waited for as long as a request may.
    TimeOut,
    /// Its client has gone.
    Cancelled,
}

impl Reason {
    pub const ALL: [Reason; 4] = [Reason::ConcurrencyLimit, Reason::QueueFull, Reason::TimeOut, Reason::Cancelled];

    /// As metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::ConcurrencyLimit => "concurrency-limit",
            Reason::QueueFull => "queue-full",
            Reason::TimeOut => "time-out",
            Reason::Cancelled => "cancelled",
        }
    }
}

/// The metrics of a flow schema at a level.
#[derive(Debug)]
pub struct FlowStats {
    pub dispatched: Counter,
    pub executing_requests: Gauge,
    pub executing_seats: Gauge,
    pub waiting_requests: Gauge,
    pub waiting_seats: Gauge,
    /// Of the length of a queue when a request was put into it.
    pub queue_lengths: Histogram,
    /// Of the time until a request was rejected, and until it was dispatched.
    pub waits: [Histogram; 2],
    /// Of the time that requests that are no watches took, and watches until they had begun.
    pub executions: [Histogram; 2],
    pub estimated_seats: Histogram,
    /// Of the watches that a write concerns.
    pub watches: Histogram,
    /// How often the next request found too few seats.
    pub no_accommodation: Counter,
    rejected: [Counter; 4],
}

impl Default for FlowStats {
    fn default() -> Self {
        let seconds = || [(); 2].map(|()| Histogram::new(&SECONDS));
        FlowStats {
            dispatched: Counter::default(),
            executing_requests: Gauge::default(),
            executing_seats: Gauge::default(),
            waiting_requests: Gauge::default(),
            waiting_seats: Gauge::default(),
            queue_lengths: Histogram::new(&QUEUE_LENGTHS),
            waits: seconds(),
            executions: seconds(),
            estimated_seats: Histogram::new(&SEATS),
            watches: Histogram::new(&WATCHES),
            no_accommodation: Counter::default(),
            rejected: Default::default(),
        }
    }
}

impl FlowStats {
    /// How many requests were rejected for a reason.
    pub fn rejected(&self, reason: Reason) -> &Counter {
        &self.rejected[reason as usize]
    }

    pub(crate) fn begins(&self, work: &WorkEstimate) {
        self.executing_requests.add(1);
        self.executing_seats.add_seats(work.max_seats());
    }

    pub(crate) fn waits(&self, work: &WorkEstimate, length: usize) {
        self.queue_lengths.observe(length as f64);
        self.waiting_requests.add(1);
        self.waiting_seats.add_seats(work.max_seats());
    }

    pub(crate) fn waits_no_more(&self, work: &WorkEstimate) {
        self.waiting_requests.add(-1);
        self.waiting_seats.take_seats(work.max_seats());
    }
}

/// How much of a level is used, over time.
#[derive(Debug)]
pub struct LevelStats {
    /// Of the seats in use to the limit.
    pub seats: TimingHistogram,
    /// Of the executing requests to the limit.
    pub executing: TimingHistogram,
    /// Of the waiting requests to the most that may wait.
    pub waiting: TimingHistogram,
    /// Of the seats that are wanted to the limit.
    pub demand: TimingHistogram,
    /// The virtual time when a request was dispatched last, as bits of a float of seat-seconds.
    dispatched_at: AtomicU64,
    /// The earliest and the latest virtual start of the requests that were next in their queues then.
    bounds: [AtomicU64; 2],
}

impl LevelStats {
    pub(crate) fn new(now_ns: u64) -> Self {
        LevelStats {
            seats: TimingHistogram::new(&SEAT_RATIOS, now_ns),
            executing: TimingHistogram::new(&REQUEST_RATIOS, now_ns),
            waiting: TimingHistogram::new(&REQUEST_RATIOS, now_ns),
            demand: TimingHistogram::new(&DEMAND_RATIOS, now_ns),
            dispatched_at: AtomicU64::new(0),
            bounds: Default::default(),
        }
    }

    pub(crate) fn dispatches(&self, virtual_start: u128, bounds: (u128, u128)) {
        self.dispatched_at.store(seat_seconds(virtual_start).to_bits(), Ordering::Relaxed);
        for (bound, value) in self.bounds.iter().zip([bounds.0, bounds.1]) {
            bound.store(seat_seconds(value).to_bits(), Ordering::Relaxed);
        }
    }

    /// The virtual time when a request was dispatched from a queue last, in seat-seconds.
    pub fn dispatched_at(&self) -> f64 {
        f64::from_bits(self.dispatched_at.load(Ordering::Relaxed))
    }

    /// The earliest and the latest virtual start among queues then, in seat-seconds.
    pub fn bounds(&self) -> [f64; 2] {
        [0, 1].map(|bound: usize| f64::from_bits(self.bounds[bound].load(Ordering::Relaxed)))
    }
}

/// Work in seat-seconds, from seats by nanoseconds.
pub fn seat_seconds(work: u128) -> f64 {
    work as f64 / 1e9
}
