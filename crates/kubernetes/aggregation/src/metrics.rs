//! Metrics of extension servers: which are unavailable, and how often they became so. Guarantees one sample for each
//! API service that names a server. Must never send a request.

use crate::services::{ExtensionApi, Shared};
use pintle_metrics::{Counter, Exposition, Family, Keyed};
use pintle_registry::Registry;

const UNAVAILABLE: Family = Family::gauge(
    "aggregator_unavailable_apiservice",
    "Whether the server of an API service does not answer, by name.",
);
const UNAVAILABLE_TOTAL: Family = Family::counter(
    "aggregator_unavailable_apiservice_total",
    "How often servers of API services stopped answering, by name and reason.",
);

/// How often servers became unavailable, by API service and reason.
#[derive(Default)]
pub struct AvailabilityMetrics(Keyed<[String; 2], Counter>);

impl AvailabilityMetrics {
    /// Counts a version whose server has become unavailable.
    pub fn changed(&self, before: &ExtensionApi, now: &ExtensionApi) {
        if before.available && !now.available {
            self.0.get(&[now.name.clone(), now.reason.clone()], Counter::default).increment();
        }
    }
}

/// Writes the metrics.
pub fn render(shared: &Shared, registry: &Registry, out: &mut Exposition) {
    out.family(&UNAVAILABLE);
    if let Some(snapshot) = shared.snapshot(registry) {
        let mut apis: Vec<&ExtensionApi> = snapshot.extensions().map(|entry| &*entry.api).collect();
        apis.sort_by(|a, b| a.name.cmp(&b.name));
        for api in apis {
            out.sample(UNAVAILABLE.name, &[("name", &api.name)], u8::from(!api.available));
        }
    }
    out.family(&UNAVAILABLE_TOTAL);
    for ([name, reason], count) in shared.availability.0.sorted() {
        out.sample(UNAVAILABLE_TOTAL.name, &[("name", &name), ("reason", &reason)], count.get());
    }
}
