//! Counts of policy checks, their durations and their outcomes. Must never name the metrics: the renderer does.

use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The labels of a policy check.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Check {
    pub policy: String,
    pub binding: String,
    pub error: &'static str,
    /// What was enforced; empty for mutations.
    pub action: &'static str,
}

/// Maximum number of label combinations: names of policies come and go.
const MAX_CHECKS: usize = 10_000;

/// Policy checks by their labels.
#[derive(Default)]
pub struct Checks {
    checks: Keyed<Check, Stats>,
    known: AtomicUsize,
}

/// How often, and how long.
pub struct Stats {
    pub count: Counter,
    pub seconds: Histogram,
}

/// kube-apiserver's buckets: an expression near its limit takes most of a second.
static SECONDS: Layout = Layout::seconds(&[0.000_000_5, 0.001, 0.01, 0.1, 1.0]);

pub const NO_ERROR: &str = "no_error";

/// The kind of error that a text is.
pub fn error_type(text: &str) -> &'static str {
    match text {
        text if text.starts_with("compilation") => "compile_error",
        text if text.starts_with("validation failed due to running out of cost budget") => "out_of_budget",
        _ => "invalid_error",
    }
}

impl Checks {
    /// Notes a check.
    pub fn note(&self, policy: &str, binding: &str, error: &'static str, action: &'static str, took: Duration) {
        let (policy, binding) = match self.known.load(Ordering::Relaxed) < MAX_CHECKS {
            true => (policy.to_owned(), binding.to_owned()),
            false => (String::new(), String::new()),
        };
        let check = Check { policy, binding, error, action };
        let stats = self.checks.get(&check, || {
            self.known.fetch_add(1, Ordering::Relaxed);
            Stats { count: Counter::new(), seconds: Histogram::new(&SECONDS) }
        });
        stats.count.increment();
        stats.seconds.observe_duration(took);
    }

    /// All checks in order.
    pub fn sorted(&self) -> Vec<(Check, Arc<Stats>)> {
        self.checks.sorted()
    }
}
