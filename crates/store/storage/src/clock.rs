//! The wall clock as a parameter: only retention by time reads it.
//! Guarantees that tests and simulators control the time.
//! Must never be used to order writes: revisions do that.

use std::time::{SystemTime, UNIX_EPOCH};

/// Provides the time for retention.
pub trait Clock: Send + Sync + 'static {
    /// Seconds since the Unix epoch. May jump in both directions.
    fn unix_seconds(&self) -> u64;
}

/// The clock of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
    }
}
