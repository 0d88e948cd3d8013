//! How long match conditions took, and how often they excluded a request or had no value.
//! Guarantees that the number of series is bounded, whatever names come and go. Must never name the metrics: who renders them does.

use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static SECONDS: Layout = Layout::seconds(&[0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25]);

/// The most webhooks and policies that are counted separately.
const MAX_OWNERS: usize = 10_000;

/// What has conditions, and what is done to the object of the request.
#[derive(Clone, Copy, Debug)]
pub struct ConditionOwner<'a> {
    /// The name of a webhook or policy.
    pub name: &'a str,
    /// `webhook` or `policy`.
    pub kind: &'static str,
    /// The type of admission.
    pub admission_type: &'static str,
    pub operation: &'static str,
}

/// Name, kind, type and operation.
pub type ConditionOwnerKey = (String, &'static str, &'static str, &'static str);

/// The metrics of one owner for one operation.
#[derive(Debug)]
pub struct ConditionStats {
    pub durations: Histogram,
    exclusions: Counter,
    errors: Counter,
}

impl ConditionStats {
    /// How many requests a condition excluded.
    pub fn exclusions(&self) -> u64 {
        self.exclusions.get()
    }

    /// How many conditions had no value.
    pub fn errors(&self) -> u64 {
        self.errors.get()
    }
}

/// The metrics of all match conditions.
#[derive(Default)]
pub struct ConditionMetrics {
    owners: Keyed<ConditionOwnerKey, ConditionStats>,
    known: AtomicUsize,
}

impl ConditionMetrics {
    pub(crate) fn note(&self, owner: &ConditionOwner<'_>, is_excluded: bool, errors: usize, took: Duration) {
        let is_full = self.known.load(Ordering::Relaxed) >= MAX_OWNERS;
        let name = if is_full { String::new() } else { owner.name.to_owned() };
        let stats = self.owners.get(&(name, owner.kind, owner.admission_type, owner.operation), || {
            self.known.fetch_add(1, Ordering::Relaxed);
            ConditionStats { durations: Histogram::new(&SECONDS), exclusions: Counter::new(), errors: Counter::new() }
        });
        stats.durations.observe_duration(took);
        stats.exclusions.add(u64::from(is_excluded));
        stats.errors.add(errors as u64);
    }

    /// All in order: name, kind, type and operation.
    pub fn sorted(&self) -> Vec<(ConditionOwnerKey, Arc<ConditionStats>)> {
        self.owners.sorted()
    }
}
