//! Observers of requests: audit, traces, metrics, the log line, and the slot. A fixed list, each with the moments of a
//! request that matter to it: received, identified, routed, answered, sent.
//!
//! Guarantees that they are called in one order, and that one whose subject is off costs a look at an option. Must never
//! change a response, except that a request is rejected when its first audit event had to be stored and was not.

mod audit;
pub mod httplog;
mod requests;
mod slot;
mod traces;

use crate::Api;
use crate::exchange::Exchange;
use crate::request::Request;
use crate::response::ApiResponse;
use audit::AuditObserver;
use httplog::LogObserver;
use pintle_auth::UserInfo;
use pintle_registry::Status;
use pintle_resource::Resource;
use pintle_spans::Current;
use requests::MetricsObserver;
use slot::SlotObserver;
use std::sync::Arc;
use traces::TraceObserver;

/// What watches a request. A request that is dropped before it was answered was aborted.
pub(crate) struct Observers {
    audit: AuditObserver,
    trace: TraceObserver,
    pub metrics: MetricsObserver,
    log: LogObserver,
    pub slot: SlotObserver,
}

/// What a request was found to be about.
#[derive(Clone, Copy)]
pub(crate) enum Routed<'a> {
    Resource(&'a Resource),
    /// A path that names no resource, as metrics call it.
    Path(&'static str),
}

/// How a request was answered.
#[derive(Clone, Copy)]
struct Answered {
    code: u16,
    /// The response goes on until one side ends it.
    stays_open: bool,
}

impl Observers {
    /// A request has arrived. Nothing of it is parsed.
    pub fn received(api: &Api, request: &Request) -> Observers {
        Observers {
            audit: AuditObserver::received(api, request),
            trace: TraceObserver::received(api, request),
            metrics: MetricsObserver::received(),
            log: LogObserver::received(request),
            slot: SlotObserver::default(),
        }
    }

    /// The trace of the request, under which its steps are carried out; `None` if nothing is traced.
    pub fn trace(&self) -> Option<Arc<Current>> {
        self.trace.current()
    }

    /// The user that sends the request is known, or `None`: it was rejected before. Returns false if the request must
    /// be rejected.
    pub async fn identified(&mut self, exchange: &mut Exchange, user: Option<&Arc<UserInfo>>) -> bool {
        if !self.audit.identified(exchange, user).await {
            return false;
        }
        self.trace.identified(exchange, user);
        true
    }

    /// What answers the request is known.
    pub fn routed(&mut self, exchange: &Exchange, routed: Routed<'_>) {
        self.metrics.routed(exchange, routed);
        self.trace.routed(exchange, routed);
    }

    /// The head of the response is known. `error`: what the response was made of, if it is an error.
    pub async fn answered(&mut self, exchange: &mut Exchange, answer: &mut ApiResponse, error: Option<&Status>) {
        let answered = Answered { code: answer.code, stays_open: exchange.stays_open(answer) };
        self.audit.answered(exchange, answer, error, answered.stays_open).await;
        let trace = self.trace.answered(answered);
        self.metrics.answered(exchange, answered, trace);
        self.trace.ended(answered);
        self.log.answered(exchange, answered);
    }

    /// So many bytes of the response have been sent, and there are no more.
    pub fn sent(&mut self, bytes: u64) {
        self.metrics.sent(bytes);
        self.slot.sent();
        self.log.sent();
        self.audit.sent();
        self.trace.sent();
    }
}
