//! Metrics of requests, as their moments pass. Guarantees that a request is counted once: when it is answered, when its
//! response ends that stays open, or when it is dropped. Must never make a series of what a client chose.

use super::{Answered, Routed};
use crate::access;
use crate::exchange::Exchange;
use crate::metrics::{self, DryRun, FieldValidation, Labels, LongRunning, Outcome, Series};
use crate::request::Verb;
use http::Method;
use http::header::{CONTENT_TYPE, USER_AGENT};
use pintle_metrics::TraceId;
use pintle_registry::ResourcePath;
use pintle_resource::{Action, Found, Resource};
use pintle_schema::Str;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

/// Counts a request.
pub(crate) struct MetricsObserver {
    started: Instant,
    state: State,
}

enum State {
    /// Not under anything: it was not routed, or was counted already.
    Uncounted,
    Routed(Counted),
    /// Its response ends by itself; its bytes are counted then.
    Answered(Arc<Series>),
    Open {
        _counted: LongRunning,
    },
}

/// What a request that was routed is counted under.
struct Counted {
    series: Arc<Series>,
    dry_run: DryRun,
    system_client: &'static str,
    /// Of a write: how it asks for its fields to be validated.
    validation: Option<FieldValidation>,
}

impl Counted {
    fn of(exchange: &Exchange, labels: Labels) -> Counted {
        let Exchange { api, request, query, .. } = exchange;
        let is_write = matches!(request.method, Method::POST | Method::PUT | Method::PATCH);
        Counted {
            series: api.metrics.requests.series(labels),
            dry_run: DryRun::of(query.all("dryRun")),
            system_client: metrics::system_client(request.header(USER_AGENT)),
            validation: is_write.then(|| FieldValidation::of(query.get("fieldValidation"))),
        }
    }
}

impl MetricsObserver {
    pub(super) fn received() -> Self {
        MetricsObserver { started: Instant::now(), state: State::Uncounted }
    }

    pub(super) fn routed(&mut self, exchange: &Exchange, routed: Routed<'_>) {
        let labels = match (routed, exchange.path()) {
            (Routed::Resource(resource), Some(path)) => labels_of(exchange, resource, path),
            (Routed::Resource(_), None) => return,
            (Routed::Path(path), _) => Labels { subresource: Str::new_static(path), verb: "GET", ..Labels::default() },
        };
        self.state = State::Routed(Counted::of(exchange, labels));
    }

    /// A number that requests share which are counted together.
    pub fn kind(&self) -> u64 {
        match &self.state {
            State::Routed(counted) => Arc::as_ptr(&counted.series).addr() as u64,
            _ => 0,
        }
    }

    /// Counts a request that was rejected before it was routed.
    pub fn turned_away(&self, exchange: &Exchange) {
        let Some(path) = exchange.path() else { return };
        let table = exchange.api.registry.resources.read();
        if let Found::Resource(resource) = table.find(&path.group, &path.version, &path.resource) {
            let counted = Counted::of(exchange, labels_of(exchange, resource, path));
            counted.series.dropped(429, counted.dry_run, counted.system_client);
        }
    }

    /// The request was given up to protect the server, with a code. One that may come again is not counted as answered.
    pub fn given_up(&mut self, code: u16) {
        match &self.state {
            State::Routed(counted) if code == 429 => {
                counted.series.dropped(429, counted.dry_run, counted.system_client);
                self.state = State::Uncounted;
            }
            State::Routed(counted) => counted.series.terminated(code),
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, exchange: &Exchange, answered: Answered, trace: Option<TraceId>) {
        let State::Routed(counted) = mem::replace(&mut self.state, State::Uncounted) else { return };
        let Counted { series, dry_run, system_client, validation } = counted;
        let took = self.started.elapsed();
        let outcome = Outcome { code: answered.code, dry_run, system_client, took, trace };
        self.state = match answered.stays_open {
            true => State::Open { _counted: series.long_running(self.started, outcome) },
            false => {
                series.answered(&outcome);
                if let Some(validation) = validation {
                    exchange.api.metrics.requests.validated(validation, took);
                }
                State::Answered(series)
            }
        };
    }

    pub(super) fn sent(&mut self, bytes: u64) {
        if let State::Answered(series) = mem::replace(&mut self.state, State::Uncounted) {
            series.sent(bytes);
        }
    }
}

impl Drop for MetricsObserver {
    fn drop(&mut self) {
        if let State::Routed(counted) = &self.state {
            counted.series.aborted();
        }
    }
}

fn labels_of(exchange: &Exchange, resource: &Resource, path: &ResourcePath) -> Labels {
    let Exchange { request, query, verb, .. } = exchange;
    let found = resource.subresource(&path.subresource);
    let connects = found.is_some_and(|found| matches!(found.action, Action::Connect));
    let subresource = found.map(|found| found.name.clone()).unwrap_or_default();
    let named = *verb == Verb::Create || !access::requested_name(path, *verb, query).is_empty();
    let scope = match (named, path.namespace.is_empty()) {
        (true, _) => "resource",
        (false, false) => "namespace",
        (false, true) => "cluster",
    };
    let applies = *verb == Verb::Patch && request.header(CONTENT_TYPE).starts_with("application/apply-patch+");
    Labels::of(resource, subresource, metrics::verb(*verb, connects, applies), scope)
}
