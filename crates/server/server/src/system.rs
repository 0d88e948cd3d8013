//! `System`: the environment of the registry: the system's clock and random numbers, and feature gates. Guarantees that random
//! numbers are random, or the process ends. Must never be used by a test for time.

use pintle_discovery::version::EffectiveVersion;
use pintle_registry::Environment;
use pintle_schema::GateSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The system's clock and random numbers, and which feature gates are on.
pub struct System {
    pub gates: Arc<GateSet>,
    pub version: EffectiveVersion,
}

impl Environment for System {
    fn now_unix(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn random(&self, buffer: &mut [u8]) {
        if getrandom::fill(buffer).is_err() {
            // Without a source of randomness uids would repeat: better no server than one that mixes objects up.
            std::process::abort();
        }
    }

    fn gates(&self) -> &GateSet {
        &self.gates
    }

    fn compatibility_minor(&self) -> Option<u32> {
        Some(self.version.compatibility_minor)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}
