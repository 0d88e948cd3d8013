//! The config map with the day since which uses of legacy service account tokens are recorded. Guarantees that an
//! invalid day is replaced, and that a deleted config map is recreated. Must never create it more often than once in
//! half an hour: servers that do not record uses may delete it.

use crate::bootstrap;
use pintle_bootstrap::{Settings, token_tracking};
use pintle_registry::{Registry, Target};
use std::time::{Duration, Instant};

const CREATION_PERIOD: Duration = Duration::from_secs(30 * 60);

/// Maintains the config map.
pub(crate) struct TokenTracking {
    period: Duration,
    created: Option<Instant>,
}

impl TokenTracking {
    /// `is_created`: the server has just created it.
    pub(crate) fn new(is_created: bool) -> Self {
        TokenTracking { period: CREATION_PERIOD, created: is_created.then(Instant::now) }
    }

    /// Whether the config map was created since the time in the settings.
    pub(crate) fn is_created(registry: &Registry, settings: &Settings) -> bool {
        let target = target(registry, settings);
        let stored = target.as_ref().and_then(|target| target.cache.get(&target.key()));
        let created = target.zip(stored).and_then(|(target, stored)| {
            let object = registry.decode(&target, &stored).ok()?;
            let created = pintle_registry::metadata::text(&object, "creationTimestamp");
            pintle_schema::Time::parse(created).ok()
        });
        created.is_some_and(|created| created.seconds >= settings.now.seconds)
    }

    /// Checks the config map. A failure is retried the next time.
    pub(crate) async fn look(&mut self, registry: &Registry, settings: &Settings) {
        let Some(target) = target(registry, settings) else { return };
        let is_missing = target.cache.get(&target.key()).is_none();
        if is_missing && self.created.is_some_and(|created| created.elapsed() < self.period) {
            return;
        }
        if bootstrap::restore(registry, token_tracking(settings)).await.is_ok() && is_missing {
            self.created = Some(Instant::now());
        }
    }
}

fn target(registry: &Registry, settings: &Settings) -> Option<Target> {
    let object = token_tracking(settings);
    registry.target(pintle_groups::find(object.group, object.version, object.plural)?, object.namespace, object.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::TestServer;
    use pintle_registry::DeleteOptions;
    use pintle_schema::Time;

    #[tokio::test]
    async fn the_config_map_comes_back_once_in_a_period() {
        let server = TestServer::start().await.expect("a server");
        let registry = &server.server().api().registry;
        let settings = Settings {
            service_ranges: Vec::new(),
            advertise_address: None,
            secure_port: 0,
            authorities: Default::default(),
            api_services: Vec::new(),
            now: Time::from_seconds(registry.environment.now_unix()),
        };
        let target = target(registry, &settings).expect("a target");
        let remove = || async { registry.delete(&target, &DeleteOptions::default()).await.map(drop).expect("removed") };
        let is_there = || target.cache.get(&target.key()).is_some();
        let mut tracking = TokenTracking::new(false);
        // (period, whether it comes back)
        for (period, comes_back) in [(CREATION_PERIOD, true), (CREATION_PERIOD, false), (Duration::ZERO, true)] {
            if is_there() {
                remove().await;
            }
            tracking.period = period;
            tracking.look(registry, &settings).await;
            assert_eq!(is_there(), comes_back, "{period:?}");
        }
        assert!(TokenTracking::is_created(registry, &settings));
        let later = Settings { now: Time::from_seconds(settings.now.seconds + 3600), ..settings };
        assert!(!TokenTracking::is_created(registry, &later));
    }
}
