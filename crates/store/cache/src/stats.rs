//! `Stats`: statistics of the cache of a resource.
//! Guarantees that counting is a relaxed addition.
//! Must never influence a decision: it is for metrics only.

use pintle_metrics::{Counter, Histogram, Layout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static WAITS: Layout = Layout::seconds(&[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0]);

/// Counts of lists by one access path.
#[derive(Debug, Default)]
struct Lists {
    lists: AtomicU64,
    fetched: AtomicU64,
}

/// The counters of a resource.
#[derive(Debug)]
pub struct Stats {
    events: AtomicU64,
    /// For full scans, and then for each index.
    lists: Box<[Lists]>,
    returned: AtomicU64,
    /// Received objects that could not be decoded.
    pub undecodable: Counter,
    /// Consistent lists: failed and successful ones.
    consistent: [Counter; 2],
    /// How long readers waited for consistency.
    waits: OnceLock<Histogram>,
}

/// The number of lists by one access path, and of the objects examined for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The selectable field of the index, if one was used.
    pub index: Option<usize>,
    pub lists: u64,
    pub fetched: u64,
}

impl Stats {
    pub(crate) fn new(indexes: usize) -> Self {
        Stats {
            events: AtomicU64::new(0),
            lists: (0..=indexes).map(|_| Lists::default()).collect(),
            returned: AtomicU64::new(0),
            undecodable: Counter::new(),
            consistent: Default::default(),
            waits: OnceLock::new(),
        }
    }

    pub(crate) fn received(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
    }

    pub(crate) fn listed(&self, index: Option<usize>, fetched: usize, returned: usize) {
        if let Some(lists) = self.lists.get(index.map_or(0, |index| index + 1)) {
            lists.lists.fetch_add(1, Ordering::Relaxed);
            lists.fetched.fetch_add(fetched as u64, Ordering::Relaxed);
        }
        self.returned.fetch_add(returned as u64, Ordering::Relaxed);
    }

    /// Counts a consistent list.
    pub fn consistent(&self, success: bool) {
        self.consistent[usize::from(success)].increment();
    }

    /// Counts a wait for consistency.
    pub fn waited(&self, took: Duration) {
        self.waits.get_or_init(|| Histogram::new(&WAITS)).observe_duration(took);
    }

    /// The numbers of failed and successful consistent lists.
    pub fn consistent_lists(&self, success: bool) -> u64 {
        self.consistent[usize::from(success)].get()
    }

    /// The wait times, if there were any.
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.get()
    }

    /// Changes published since the start.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Objects returned by lists.
    pub fn returned(&self) -> u64 {
        self.returned.load(Ordering::Relaxed)
    }

    /// Lists by the position of the index among the resource's indexes.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (Option<usize>, u64, u64)> {
        self.lists.iter().enumerate().map(|(at, lists)| {
            (at.checked_sub(1), lists.lists.load(Ordering::Relaxed), lists.fetched.load(Ordering::Relaxed))
        })
    }
}
