//! What happened to rules since the process began: counters that metrics show.
//!
//! Counted where objects are judged; read where metrics are rendered.

use pintle_validation::Verdict;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of verdicts that should not occur.
pub struct Outcomes {
    mismatches: AtomicU64,
    panics: AtomicU64,
}

/// The counts of this process.
pub static OUTCOMES: Outcomes = Outcomes { mismatches: AtomicU64::new(0), panics: AtomicU64::new(0) };

impl Outcomes {
    /// Counts what a verdict says of the rules themselves.
    pub fn count(&self, verdict: &Verdict) {
        self.mismatches.fetch_add(verdict.mismatches.len() as u64, Ordering::Relaxed);
        self.panics.fetch_add(u64::from(verdict.panicked), Ordering::Relaxed);
    }

    /// Errors that tags and handwritten rules did not agree on.
    pub fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// Rules that panicked.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}
