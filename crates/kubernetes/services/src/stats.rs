//! `Stats`: how often addresses and node ports were given and refused, and how many are left.
//! Guarantees that dry runs are not counted, and that nothing is counted for show: what is left is read when asked for.
//! Must never be asked for a decision.

use super::range::AddressRange;
use super::taken::Claim;
use super::{ADDRESSES_PREFIX, Allocation, claims_of_stored};
use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::sync::Arc;
use std::time::Instant;

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);

/// How something was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any would do.
    Dynamic,
    /// It was named.
    Static,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 2] = [Scope::Dynamic, Scope::Static];

    /// As metrics call it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Dynamic => "dynamic",
            Scope::Static => "static",
        }
    }
}

/// What became of attempts to have something, each by scope.
#[derive(Debug, Default)]
pub struct Attempts {
    given: [Counter; 2],
    refused: [Counter; 2],
}

impl Attempts {
    pub(super) fn made(&self, scope: Scope, given: bool) {
        let counters = if given { &self.given } else { &self.refused };
        counters[scope as usize].increment();
    }

    /// How many were successful.
    pub fn given(&self, scope: Scope) -> u64 {
        self.given[scope as usize].get()
    }

    /// How many were not.
    pub fn refused(&self, scope: Scope) -> u64 {
        self.refused[scope as usize].get()
    }
}

/// Attempts to have an address of a range.
#[derive(Debug)]
pub struct RangeStats {
    pub attempts: Attempts,
    /// Of those that were successful.
    pub durations: Histogram,
}

impl RangeStats {
    fn new() -> Self {
        RangeStats { attempts: Attempts::default(), durations: Histogram::new(&DURATIONS) }
    }
}

/// The counters of a server's allocators.
#[derive(Default)]
pub struct Stats {
    ranges: Keyed<String, RangeStats>,
    /// Of node ports.
    pub ports: Attempts,
}

impl Stats {
    pub(super) fn address(&self, range: &AddressRange, scope: Scope, since: Instant, given: bool) {
        let stats = self.ranges.get(range.text(), RangeStats::new);
        stats.attempts.made(scope, given);
        if given {
            stats.durations.observe_duration(since.elapsed());
        }
    }
}

/// How much of something is given, and how much is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub given: u64,
    pub free: u64,
}

impl Allocation<'_> {
    /// The ranges that services' addresses come from, how much of each is left, and what was asked of it.
    pub fn address_stats(&self) -> Vec<(String, Left, Arc<RangeStats>)> {
        if self.services().is_none() {
            return Vec::new();
        }
        let addresses: Vec<std::net::IpAddr> = match self.registry.cache.resource(ADDRESSES_PREFIX) {
            Some(cache) => cache.state().objects.values().filter_map(|object| object.path().parse().ok()).collect(),
            None => Vec::new(),
        };
        let ranges = self.ranges().into_iter();
        let stats = ranges.map(|range| {
            let given = addresses.iter().filter(|address| range.contains(**address)).count() as u64;
            let left = Left { given, free: range.size().saturating_sub(given) };
            (range.text().to_owned(), left, self.allocators.stats.ranges.get(range.text(), RangeStats::new))
        });
        stats.collect()
    }

    /// How many node ports are left, and what was asked of them.
    pub fn node_port_stats(&self) -> (Left, &Attempts) {
        let range = &self.allocators.node_ports;
        let given = self.port_map().map(|map| map.len()).unwrap_or_else(|| {
            let cache = self.services().map(|services| services.cache);
            let in_range = |claim: &Claim| matches!(claim, Claim::NodePort(port) if range.contains(port));
            cache.map_or(0, |cache| {
                self.allocators.taken.of(&cache, &claims_of_stored).in_use().filter(|claim| in_range(claim)).count()
            })
        });
        let given = given as u64;
        (Left { given, free: (range.len() as u64).saturating_sub(given) }, &self.allocators.stats.ports)
    }
}
