//! One line for each request, on demand (`--v=3`), and the time of each step of those that took long (`--v=2`).
//! Guarantees the names of kube-apiserver's fields, and that requests pay nothing when these lines are off.
//! Must never log a body or a credential.

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

/// The fields of a request that are logged at its end.
pub struct RequestLog {
    method: String,
    uri: String,
    agent: String,
    peer: Option<IpAddr>,
    started: Instant,
}

impl RequestLog {
    /// Copies them from a request that has arrived; `None` when it will not be logged.
    pub fn of(request: &Request) -> Option<RequestLog> {
        if !enabled!(target: REQUESTS, tracing::Level::INFO) && !enabled!(target: SLOW, tracing::Level::INFO) {
            return None;
        }
        let query = if request.query.is_empty() { "" } else { "?" };
        Some(RequestLog {
            method: request.method.as_str().to_owned(),
            uri: format!("{}{query}{}", request.path, request.query),
            agent: request.header(USER_AGENT).to_owned(),
            peer: request.peer,
            started: Instant::now(),
        })
    }

    /// Logs the request when the returned value is dropped: at once, or at the end of a long-running response. `class`:
    /// what flow control made of it, if it was asked.
    pub fn on_drop(
        self,
        context: Arc<RequestContext>,
        verb: Verb,
        code: u16,
        class: Option<Arc<FlowClass<InFlight>>>,
    ) -> LogOnDrop {
        LogOnDrop { line: self, context, verb, code, class, ends: true }
    }
}

/// A request that is logged when this is dropped.
pub struct LogOnDrop {
    line: RequestLog,
    context: Arc<RequestContext>,
    verb: Verb,
    code: u16,
    class: Option<Arc<FlowClass<InFlight>>>,
    ends: bool,
}

impl LogOnDrop {
    /// The same for a request without an end of its own: it is never slow.
    #[must_use]
    pub fn long_running(self) -> LogOnDrop {
        let mut log = self;
        log.ends = false;
        log
    }
}

impl Drop for LogOnDrop {
    fn drop(&mut self) {
        let LogOnDrop { line, context, verb, code, class, ends } = self;
        let took = line.started.elapsed();
        let verb = match verb {
            Verb::Proxy | Verb::Other => line.method.as_str(),
            verb => metrics::verb(*verb, false, false),
        };
        let peer = line.peer.map(|peer| peer.to_string()).unwrap_or_default();
        info!(
            target: REQUESTS,
            verb,
            URI = line.uri,
            latency = %shown(took),
            userAgent = line.agent,
            "audit-ID" = context.id,
            srcIP = peer,
            apf_pl = class.as_ref().map(|class| class.level.name.as_str()),
            apf_fs = class.as_ref().map(|class| class.schema.name.as_str()),
            resp = *code,
            "HTTP"
        );
        if *ends && took >= SLOW_THRESHOLD {
            info!(
                target: SLOW,
                verb,
                url = line.uri,
                "user-agent" = line.agent,
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
