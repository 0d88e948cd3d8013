//! The system's clock, in the form that objects have times in.

use pintle_schema::MicroTime;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time now.
pub(crate) fn now() -> MicroTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MicroTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_micros() * 1_000 }
}
