//! `Stats`: calls to a cluster, sharing of leases, and the sizes of its members' databases. Guarantees that a call costs two
//! look-ups and two additions. Must never be used for a decision.

use pintle_grpc::{Code, Status, code_name};
use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static LEASE_KEYS: Layout = Layout::bytes(&[10.0, 50.0, 100.0, 500.0, 1_000.0, 2_500.0, 5_000.0]);

/// The calls of one method.
#[derive(Default)]
pub struct Calls {
    pub started: Counter,
    pub sent: Counter,
    pub received: Counter,
    /// By the name of the code that they ended with.
    pub ended: Keyed<&'static str, Counter>,
}

/// The counters of a store.
pub struct Stats {
    /// By the path of the method, and whether it is a stream.
    pub calls: Arc<Keyed<(&'static str, bool), Calls>>,
    /// How many keys shared each lease that was left for another.
    pub lease_keys: Arc<Histogram>,
    /// By endpoint, as far as reported: the bytes of the member's database.
    sizes: Vec<AtomicU64>,
    /// The number of the first endpoint.
    first: usize,
}

impl Stats {
    pub(crate) fn new(endpoints: usize) -> Self {
        let sizes = (0..endpoints).map(|_| AtomicU64::new(0)).collect();
        Stats { calls: Arc::default(), lease_keys: Arc::new(Histogram::new(&LEASE_KEYS)), sizes, first: 0 }
    }

    /// The counters of a store that is counted together with another one, and whose endpoints follow those of the other.
    pub(crate) fn beside(other: &Stats, endpoints: usize) -> Self {
        let first = other.first + other.sizes.len();
        Stats { calls: other.calls.clone(), lease_keys: other.lease_keys.clone(), first, ..Stats::new(endpoints) }
    }

    pub(crate) fn ended<T>(calls: &Calls, outcome: &Result<T, Status>) {
        let code = outcome.as_ref().err().map_or(Code::Ok, |status| status.code);
        calls.ended.get(&code_name(code), Counter::new).increment();
    }

    pub(crate) fn set_size(&self, endpoint: usize, bytes: i64) {
        if let Some(size) = self.sizes.get(endpoint) {
            size.store(bytes.unsigned_abs(), Ordering::Relaxed);
        }
    }

    /// The bytes of the members' databases, by endpoint, as far as they are known.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, u64)> {
        let sizes = self.sizes.iter().map(|size| size.load(Ordering::Relaxed));
        (self.first..).zip(sizes).filter(|(_, size)| *size > 0)
    }
}
