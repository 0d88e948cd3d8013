//! `Stats`: counters of allocations of addresses and node ports, and the numbers of free ones. Guarantees that dry runs
//! are not counted. Must never influence a decision.

use super::range::AddressRange;
use super::taken::Claim;
use super::{ADDRESSES_PREFIX, Allocation, claims_of_stored};
use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::sync::Arc;
use std::time::Instant;

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);

/// The kind of allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any free value.
    Dynamic,
    /// A given value.
    Static,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 2] = [Scope::Dynamic, Scope::Static];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Dynamic => "dynamic",
            Scope::Static => "static",
        }
    }
}

/// Allocation attempts by outcome and scope.
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

    /// The number of successful attempts.
    pub fn given(&self, scope: Scope) -> u64 {
        self.given[scope as usize].get()
    }

    /// The number of failed attempts.
    pub fn refused(&self, scope: Scope) -> u64 {
        self.refused[scope as usize].get()
    }
}

/// Allocations of addresses of a range.
#[derive(Debug)]
pub struct RangeStats {
    pub attempts: Attempts,
    /// Durations of successful allocations.
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
    /// Allocations of node ports.
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

/// How many values are allocated, and how many are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub given: u64,
    pub free: u64,
}

impl Allocation<'_> {
    /// The ranges of addresses, with their free addresses and their counters.
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

    /// The number of free node ports, and their counters.
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
