//! `Stats`: what the cache of a resource has done so far.
//! Guarantees that counting is a relaxed addition.
//! Must never be asked for a decision: it is for those who look at a server from outside.

use pintle_metrics::{Counter, Histogram, Layout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static WAITS: Layout = Layout::seconds(&[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0]);

/// Counts of one way to find objects.
#[derive(Debug, Default)]
struct Lists {
    lists: AtomicU64,
    fetched: AtomicU64,
}

/// The counters of a resource.
#[derive(Debug)]
pub struct Stats {
    events: AtomicU64,
    /// By walking the collection, and after that by each index.
    lists: Box<[Lists]>,
    returned: AtomicU64,
    /// States of objects that came and could not be decoded.
    pub undecodable: Counter,
    /// Lists that were to show everything written before them: those that failed to, and the others.
    consistent: [Counter; 2],
    /// How long readers waited until everything written before had come.
    waits: OnceLock<Histogram>,
}

/// How many lists were answered in one way, and how many objects were looked at for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The selectable field whose index was used, if one was.
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

    /// Counts a list that was to show everything written before it.
    pub fn consistent(&self, success: bool) {
        self.consistent[usize::from(success)].increment();
    }

    /// Counts a wait for everything written before.
    pub fn waited(&self, took: Duration) {
        self.waits.get_or_init(|| Histogram::new(&WAITS)).observe_duration(took);
    }

    /// How many lists were to show everything written before them, and did or did not.
    pub fn consistent_lists(&self, success: bool) -> u64 {
        self.consistent[usize::from(success)].get()
    }

    /// How long readers waited, if one ever did.
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.get()
    }

    /// Changes published since the start.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Objects that lists were answered with.
    pub fn returned(&self) -> u64 {
        self.returned.load(Ordering::Relaxed)
    }

    /// Lists by the place of the index among the indexes of the resource.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (Option<usize>, u64, u64)> {
        self.lists.iter().enumerate().map(|(at, lists)| {
            (at.checked_sub(1), lists.lists.load(Ordering::Relaxed), lists.fetched.load(Ordering::Relaxed))
        })
    }
}
