//! How long rules of definitions take: to be compiled, for each place of a schema, and to be evaluated, for each object.
//! All servers of a process share them. Must never name the metrics: who renders them does.

use pintle_metrics::{Histogram, Layout};
use std::sync::LazyLock;

static SECONDS: Layout = Layout::seconds(&[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);

/// Times in seconds.
#[derive(Debug)]
pub struct RuleTimes {
    pub compilation: Histogram,
    pub evaluation: Histogram,
}

/// The times of all rules.
pub static RULE_TIMES: LazyLock<RuleTimes> =
    LazyLock::new(|| RuleTimes { compilation: Histogram::new(&SECONDS), evaluation: Histogram::new(&SECONDS) });
