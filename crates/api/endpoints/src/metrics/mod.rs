//! Metrics under the reference's names and labels.
//!
//! Counting is a few relaxed additions; text is made only when somebody reads it. A part of the server that has figures
//! of its own adds a source; nothing here knows where they come from.

mod access;
mod admission;
mod allocation;
mod bodies;
mod credentials;
pub mod exposition;
mod objects;
mod request;
mod storage;
mod streams;
mod watch;

pub use access::Access;
pub use admission::{AdmissionSteps, Measured};
pub use bodies::Bodies;
pub use exposition::{Exposition, Family};
pub use request::{
    DISCOVERY, DryRun, FieldValidation, Labels, LongRunning, Outcome, Requests, Series, system_client, verb,
};
pub use storage::{MeasuredStore, Transactions};
pub use streams::Streams;
pub use watch::{WatchSeries, Watches};

use crate::{Api, limits};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

const IN_FLIGHT: Family = Family::gauge(
    "apiserver_current_inflight_requests",
    "Requests being worked on that count against a limit, by kind.",
)
.stable();

/// Something that writes families of its own.
pub type Source = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// All counters of the endpoints.
#[derive(Default)]
pub struct Metrics {
    pub requests: Requests,
    pub watches: Watches,
    pub access: Access,
    pub admission: Arc<AdmissionSteps>,
    pub bodies: Bodies,
    pub streams: Streams,
    pub transactions: Arc<Transactions>,
    /// Reading and mutating requests.
    in_flight: [AtomicI64; 2],
    sources: RwLock<Vec<Source>>,
}

/// Counts one request in flight for as long as it lives.
pub struct InFlight<'a>(&'a AtomicI64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts a request that is being worked on; `None` when as many as allowed are already. No limit is 0.
    pub fn in_flight(&self, mutating: bool, limit: i64) -> Option<InFlight<'_>> {
        let counter = &self.in_flight[usize::from(mutating)];
        let now = counter.fetch_add(1, Ordering::Relaxed) + 1;
        // Dropped where it is refused, so that it does not count.
        let counted = InFlight(counter);
        (limit <= 0 || now <= limit).then_some(counted)
    }

    /// Waits until no request is in flight: looks now and then, as it is done once, at the end.
    pub async fn none_in_flight(&self) {
        while self.in_flight.iter().any(|counter| counter.load(Ordering::Relaxed) > 0) {
            tokio::time::sleep(limits::IN_FLIGHT_POLL).await;
        }
    }

    /// Adds figures that others keep.
    pub fn add_source(&self, source: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.sources.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }
}

/// Everything in the text format of Prometheus.
pub fn render(api: &Api) -> String {
    let metrics = &api.metrics;
    let mut out = Exposition::default();
    metrics.requests.render(&mut out);
    metrics.bodies.render(&mut out);
    metrics.watches.render(&mut out);
    metrics.streams.render(&mut out);
    metrics.access.render(&mut out);
    credentials::render(&api.authenticator, &mut out);
    credentials::render_impersonation(&api.impersonator.figures, &mut out);
    metrics.admission.render(&mut out);
    metrics.transactions.render(&mut out);
    out.family(&IN_FLIGHT);
    for (kind, counter) in ["readOnly", "mutating"].iter().zip(&metrics.in_flight) {
        out.sample(IN_FLIGHT.name, &[("request_kind", kind)], counter.load(Ordering::Relaxed));
    }
    objects::render(api, &mut out);
    allocation::render(&api.registry, &mut out);
    for source in metrics.sources.read().unwrap_or_else(PoisonError::into_inner).iter() {
        source(&mut out);
    }
    out.of_metrics();
    out.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_does_not_count() {
        let metrics = Metrics::default();
        let held: Vec<_> = (0..2).map(|_| metrics.in_flight(true, 2)).collect();
        assert!(held.iter().all(Option::is_some));
        for _ in 0..3 {
            assert!(metrics.in_flight(true, 2).is_none());
        }
        assert!(metrics.in_flight(false, 2).is_some(), "reads have a limit of their own");
        assert!(metrics.in_flight(true, 0).is_some(), "0 is no limit");
        drop(held);
        assert!(metrics.in_flight(true, 1).is_some());
    }
}
