//! The clock of flow control: nanoseconds since the server began.
//! Guarantees that time never goes back. Must never be read by what decides: times are passed on as numbers.

use std::time::Duration;
use tokio::time::Instant;

/// Nanoseconds since the server began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    pub fn now_ns(self) -> u64 {
        nanoseconds(self.0.elapsed())
    }

    pub fn instant(self, at_ns: u64) -> Instant {
        self.0 + Duration::from_nanos(at_ns)
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
