//! Metrics under kube-apiserver's names and labels.
//!
//! Counting is a few relaxed additions; text is made only when the metrics are scraped. Other parts of the server add
//! sources for metrics of their own; this module does not depend on them.

mod access;
mod admission;
mod bodies;
mod credentials;
mod flow_control;
mod objects;
mod request;
mod storage;
mod watch;

pub use access::Access;
pub use admission::AdmissionSteps;
pub use bodies::Bodies;
pub use credentials::client_certificates;
pub(crate) use request::removed_release;
pub use request::{
    DISCOVERY, DryRun, FieldValidation, Labels, LongRunning, Outcome, Requests, Series, system_client, verb,
};
pub use storage::{MeasuredStore, Transactions};
pub use watch::{WatchSeries, Watches};

use crate::Api;
use crate::encoding::preferred;
use crate::request::Request;
use crate::response::ApiResponse;
use http::Method;
use http::header::ACCEPT;
use pintle_metrics::{Exposition, Family, Format, Source};
use std::sync::{Arc, PoisonError, RwLock};

const IN_FLIGHT: Family = Family::gauge(
    "apiserver_current_inflight_requests",
    "Requests that are worked on or being answered, from when their bodies have come until their answers are sent, by kind.",
)
.stable();

const IN_QUEUE: Family = Family::gauge(
    "apiserver_current_inqueue_requests",
    "Requests that wait for seats of their priority level, by kind.",
);

/// All counters of the endpoints.
#[derive(Default)]
pub struct Metrics {
    pub requests: Requests,
    pub watches: Watches,
    pub access: Access,
    pub admission: Arc<AdmissionSteps>,
    pub bodies: Bodies,
    pub transactions: Arc<Transactions>,
    sources: RwLock<Vec<Source>>,
}

impl Metrics {
    /// Adds a source of metrics that another crate keeps.
    pub fn add_source(&self, source: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.sources.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }
}

/// The answer at `/metrics`, or at `/metrics/slis` for those of health checks.
pub fn answer(api: &Api, request: &Request) -> ApiResponse {
    let is_of_health = request.path == "/metrics/slis";
    if request.method == Method::DELETE {
        // Others stay: a counter that decreases tells a scraper that the server was started again.
        if is_of_health {
            api.health.forget_outcomes();
        }
        return ApiResponse::new(200, "text/plain; charset=utf-8", "metrics reset\n");
    }
    let format = if is_of_health { Format::Text } else { negotiated(request.header(ACCEPT)) };
    let text = if is_of_health { api.health.metrics(format) } else { render(api, format) };
    let mut answer = ApiResponse::new(200, format.content_type(), text);
    answer.headers.push(("process-start-time-unix", api.settings.started_unix.to_string()));
    answer
}

/// The format that an `Accept` header prefers; text if it names none, as kube-apiserver answers.
fn negotiated(accept: &str) -> Format {
    let named: Vec<&str> = accept.split(',').filter(|clause| !clause.contains('*')).collect();
    match preferred(&named.join(","), &["text/plain", "application/openmetrics-text"]) {
        Some(1) => Format::OpenMetrics,
        _ => Format::Text,
    }
}

/// Everything in a format.
fn render(api: &Api, format: Format) -> String {
    let metrics = &api.metrics;
    let mut out = Exposition::new(format, api.settings.metric_labels.clone());
    metrics.requests.render(&mut out);
    metrics.bodies.render(&mut out);
    metrics.watches.render(&mut out);
    metrics.access.render(&mut out);
    metrics.access.render_decisions(&api.authorizer, &mut out);
    credentials::render_impersonation(&api.impersonator.stats, &mut out);
    metrics.admission.render(&mut out);
    metrics.transactions.render(&mut out);
    out.family(&IN_FLIGHT);
    for (kind, mutating) in [("readOnly", false), ("mutating", true)] {
        out.sample(IN_FLIGHT.name, &[("request_kind", kind)], api.flow.in_flight(mutating));
    }
    out.family(&IN_QUEUE);
    for (kind, mutating) in [("readOnly", false), ("mutating", true)] {
        out.sample(IN_QUEUE.name, &[("request_kind", kind)], api.flow.waiting(mutating));
    }
    flow_control::render(&api.flow, &mut out);
    objects::render(api, &mut out);
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
    fn open_metrics_are_named() {
        for (accept, expected) in [
            ("", Format::Text),
            ("application/*", Format::Text),
            ("*/*", Format::Text),
            ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4,*/*;q=0.1", Format::OpenMetrics),
            ("application/openmetrics-text;q=0.4,text/plain;q=0.5", Format::Text),
        ] {
            assert_eq!(negotiated(accept), expected, "{accept}");
        }
    }
}
