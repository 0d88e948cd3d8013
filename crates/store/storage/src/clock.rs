//! The wall clock as a parameter: retention by time reads it, nothing else does.
//! Guarantees that tests and simulators decide what time it is.
//! Must never be used to order writes: revisions do that.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time to retention.
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
