//! `Duration` and `Timestamp`: moments and lengths in nanoseconds.
//!
//! Arithmetic is checked against the ranges of kube-apiserver; parsing and printing are the library's.

use std::cmp::Ordering;

/// The first second of year 1.
pub const MIN_SECONDS: i64 = -62_135_596_800;
/// The last second of year 9999.
pub const MAX_SECONDS: i64 = 253_402_300_799;

/// A length of time, as Go's `time.Duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    pub nanos: i64,
}

/// A moment: seconds since 1970 in UTC and nanoseconds below one second. Comparisons look at the moment only.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    pub seconds: i64,
    pub nanos: u32,
    /// The zone it was written in, in seconds east of UTC: it is printed in that zone.
    pub offset_seconds: i32,
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

impl Timestamp {
    /// A moment in UTC.
    pub fn utc(seconds: i64, nanos: u32) -> Timestamp {
        Timestamp { seconds, nanos, offset_seconds: 0 }
    }

    /// Whether it is Go's zero time, the first moment of year 1.
    pub fn is_zero(&self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    /// Whether it lies in years 1 to 9999.
    pub fn is_in_range(&self) -> bool {
        (MIN_SECONDS..=MAX_SECONDS).contains(&self.seconds)
    }

    fn total_nanos(&self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    /// The moment so many nanoseconds later; `None` outside of years 1 to 9999.
    pub fn plus(&self, nanos: i128) -> Option<Timestamp> {
        let nanos = self.total_nanos().checked_add(nanos)?;
        let moment = Timestamp {
            seconds: i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?,
            nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?,
            offset_seconds: self.offset_seconds,
        };
        moment.is_in_range().then_some(moment)
    }

    /// The time since another moment; `None` when it is more than a duration holds.
    pub fn since(&self, earlier: Timestamp) -> Option<Duration> {
        i64::try_from(self.total_nanos() - earlier.total_nanos()).ok().map(|nanos| Duration { nanos })
    }
}
