//! One line for each request, on demand (`--v=3`), and the time of each step of those that took long (`--v=2`).
//! Guarantees the names of kube-apiserver's fields, and that requests pay nothing when these lines are off.
//! Must never log a body or a credential.

use super::Answered;
use crate::exchange::Exchange;
use crate::flow::InFlight;
use crate::metrics;
use crate::request::{Request, Verb};
use http::header::USER_AGENT;
use pintle_flowcontrol::FlowClass;
use pintle_registry::RequestContext;
use pintle_schema::Duration as Shown;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{enabled, info};

/// The target of the lines about requests. Verbosity turns it on.
pub const REQUESTS: &str = "pintle::http";
/// The target of the lines about slow requests.
pub const SLOW: &str = "pintle::trace";

/// Requests that take longer show their steps, as in kube-apiserver.
const SLOW_THRESHOLD: Duration = Duration::from_millis(500);

/// Logs a request when it is answered, or at the end of a response that stays open.
pub(crate) struct LogObserver(Option<Box<Line>>);

/// What is logged of a request.
struct Line {
    method: String,
    uri: String,
    agent: String,
    peer: Option<IpAddr>,
    started: Instant,
    response: Option<Response>,
}

/// What is known when the request is answered.
struct Response {
    context: Arc<RequestContext>,
    verb: Verb,
    code: u16,
    /// What flow control made of the request, if it was asked.
    class: Option<Arc<FlowClass<InFlight>>>,
    stays_open: bool,
}

impl LogObserver {
    /// Copies the fields of the request that are logged, unless nothing will be.
    pub(super) fn received(request: &Request) -> LogObserver {
        if !enabled!(target: REQUESTS, tracing::Level::INFO) && !enabled!(target: SLOW, tracing::Level::INFO) {
            return LogObserver(None);
        }
        LogObserver(Some(Box::new(Line {
            method: request.method.as_str().to_owned(),
            uri: request.uri(),
            agent: request.header(USER_AGENT).to_owned(),
            peer: request.peer,
            started: Instant::now(),
            response: None,
        })))
    }

    pub(super) fn answered(&mut self, exchange: &Exchange, answered: Answered) {
        let Some(line) = &mut self.0 else { return };
        line.response = Some(Response {
            context: exchange.context.clone(),
            verb: exchange.verb,
            code: answered.code,
            class: exchange.class.clone(),
            stays_open: answered.stays_open,
        });
        if !answered.stays_open {
            self.0 = None;
        }
    }

    pub(super) fn sent(&mut self) {
        self.0 = None;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A request that was dropped before it was answered is not logged.
        let Some(Response { context, verb, code, class, stays_open }) = &self.response else { return };
        let took = self.started.elapsed();
        let verb = match verb {
            Verb::Proxy | Verb::Other => self.method.as_str(),
            verb => metrics::verb(*verb, false, false),
        };
        let peer = self.peer.map(|peer| peer.to_string()).unwrap_or_default();
        info!(
            target: REQUESTS,
            verb,
            URI = self.uri,
            latency = %shown(took),
            userAgent = self.agent,
            "audit-ID" = context.id,
            srcIP = peer,
            apf_pl = class.as_ref().map(|class| class.level.name.as_str()),
            apf_fs = class.as_ref().map(|class| class.schema.name.as_str()),
            resp = *code,
            "HTTP"
        );
        // One without an end of its own is never slow.
        if !stays_open && took >= SLOW_THRESHOLD {
            info!(
                target: SLOW,
                verb,
                url = self.uri,
                "user-agent" = self.agent,
                "audit-id" = context.id,
                client = peer,
                steps = steps(context),
                total = %shown(took),
                "Trace"
            );
        }
    }
}

/// The steps of a request and their times, in the order in which they first ended.
fn steps(context: &RequestContext) -> String {
    let mut text = String::new();
    for (step, took) in context.timings() {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}{step:?} {}", shown(took));
    }
    text
}

/// A time as Go writes it.
fn shown(time: Duration) -> Shown {
    Shown { nanos: i64::try_from(time.as_nanos()).unwrap_or(i64::MAX) }
}
