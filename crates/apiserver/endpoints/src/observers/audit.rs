//! The audit events of a request, as its moments pass. Guarantees that a request that is not audited costs one check of
//! an option, and that an audited one has a last event, whatever becomes of it. Must never change a response, except
//! that a request is rejected when its first event had to be stored and was not.

mod response;

use crate::Api;
use crate::access::requested_name;
use crate::exchange::Exchange;
use crate::request::Request;
use crate::response::ApiResponse;
use http::HeaderMap;
use http::header::USER_AGENT;
use pintle_audit::{Record, RequestInfo, ResponseStatus, Stage, truncated_user_agent};
use pintle_auth::{Attributes, UserInfo};
use pintle_registry::{RequestContext, Status};
use response::ResponseAuditor;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// Emits the audit events of a request.
pub(crate) struct AuditObserver {
    /// Absent when auditing is off.
    start: Option<Box<RequestStart>>,
    final_stage: FinalStage,
    /// Emits the last event if nothing else does.
    completion: Option<CompletionGuard>,
}

/// The time and URI of a request, noted before anything of it is parsed.
struct RequestStart {
    received: SystemTime,
    uri: String,
}

/// Which events the end of a request makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FinalStage {
    /// `ResponseComplete`.
    #[default]
    Complete,
    /// `ResponseStarted` only: the request failed before the audited steps.
    Started,
    /// None: the first event could not be stored.
    None,
}

impl AuditObserver {
    pub(super) fn received(api: &Api, request: &Request) -> AuditObserver {
        let start = || Box::new(RequestStart { received: SystemTime::now(), uri: request.uri() });
        AuditObserver {
            start: api.auditor.as_ref().map(|_| start()),
            final_stage: FinalStage::default(),
            completion: None,
        }
    }

    /// Begins the record of a request, if it is audited, and emits `RequestReceived` unless the request could not be
    /// authenticated. Returns false if the event had to be stored and was not.
    pub(super) async fn identified(&mut self, exchange: &mut Exchange, user: Option<&Arc<UserInfo>>) -> bool {
        let Some(start) = self.start.take() else { return true };
        self.final_stage = if user.is_some() { FinalStage::Complete } else { FinalStage::Started };
        let Some(record) = begin(exchange, *start, user) else { return true };
        self.completion = Some(CompletionGuard { context: Some(exchange.context.clone()) });
        if user.is_none() || Box::pin(record.stage(Stage::RequestReceived, exchange.context.annotations())).await {
            return true;
        }
        record.rejected();
        self.final_stage = FinalStage::None;
        false
    }

    /// Emits the events of a response whose head is known.
    pub(super) async fn answered(
        &mut self,
        exchange: &mut Exchange,
        answer: &mut ApiResponse,
        error: Option<&Status>,
        stays_open: bool,
    ) {
        if let Some(record) = exchange.context.audit() {
            let auditor = ResponseAuditor {
                api: &exchange.api,
                context: &exchange.context,
                record,
                has_started: exchange.is_long_running() || self.final_stage == FinalStage::Started,
                is_complete: self.final_stage == FinalStage::Complete,
                is_acceptable: exchange.accepts(error.is_some()),
            };
            Box::pin(auditor.record(answer, error.map(Status::to_value))).await;
        }
        if !stays_open {
            self.completion.take().into_iter().for_each(CompletionGuard::disarm);
        }
    }

    pub(super) fn sent(&mut self) {
        self.completion = None;
    }
}

/// Begins the record of a request, if it is audited; one that could not be authenticated has no user.
fn begin(exchange: &Exchange, start: RequestStart, user: Option<&Arc<UserInfo>>) -> Option<Arc<Record>> {
    let Exchange { api, request, query, verb, context, .. } = exchange;
    let auditor = api.auditor.as_ref()?;
    let (name, method, nobody);
    let of = match user {
        Some(user) => user,
        None => {
            nobody = UserInfo::default();
            &nobody
        }
    };
    let attributes = match exchange.path() {
        Some(path) => {
            name = requested_name(path, *verb, query);
            Attributes {
                api_version: &path.version,
                subresource: &path.subresource,
                namespace: &path.namespace,
                name: &name,
                ..Attributes::resource(of, verb.name(), &path.group, &path.resource)
            }
        }
        None => {
            method = request.method.as_str().to_ascii_lowercase();
            Attributes::non_resource(of, &method, &request.path)
        }
    };
    let info = || RequestInfo {
        id: context.id.clone(),
        received: start.received,
        uri: start.uri,
        verb: attributes.verb.to_owned(),
        user: user.cloned(),
        source_ips: source_ips(&request.headers, request.peer),
        user_agent: truncated_user_agent(request.headers.get(USER_AGENT).map_or(&[], |agent| agent.as_bytes())),
    };
    let record = auditor.begin(&attributes, info, user.is_some())?;
    context.audited_by(record.clone());
    Some(record)
}

/// The addresses that the client's proxies named, without the same one twice in a row at the end.
fn source_ips(headers: &HeaderMap, peer: Option<IpAddr>) -> Vec<IpAddr> {
    let parse = |text: &str| text.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical());
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut addresses: Vec<IpAddr> =
        text("x-forwarded-for").into_iter().flat_map(|list| list.split(',')).filter_map(parse).collect();
    if let Some(real) = text("x-real-ip").and_then(parse)
        && !addresses.contains(&real)
    {
        addresses.push(real);
    }
    if let Some(peer) = peer.map(|peer| peer.to_canonical())
        && addresses.last() != Some(&peer)
    {
        addresses.push(peer);
    }
    addresses
}

/// Emits the last event of a request when it is dropped: its body has been sent, or its client has disconnected.
struct CompletionGuard {
    context: Option<Arc<RequestContext>>,
}

impl CompletionGuard {
    /// The last event has been made.
    fn disarm(mut self) {
        self.context = None;
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else { return };
        let Some(record) = context.audit().cloned() else { return };
        let stage = if std::thread::panicking() { Stage::Panic } else { Stage::ResponseComplete };
        if stage == Stage::Panic {
            let status = Status::new(500, "InternalError", "APIServer panic'd");
            record.response(ResponseStatus::of(&status.to_value(), 500));
        } else if !record.has_response() {
            let status = ResponseStatus {
                status: "Success".to_owned(),
                message: "Connection closed early".to_owned(),
                ..ResponseStatus::of_code(200)
            };
            record.response(status);
        }
        // Without a runtime the process ends.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { record.stage(stage, context.annotations()).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn addresses_of_proxies_come_before_the_peer() {
        let peer = Some(IpAddr::from([10, 0, 0, 1]));
        for (forwarded, real, expected) in [
            ("", "", vec!["10.0.0.1"]),
            ("1.2.3.4, x, 5.6.7.8", "", vec!["1.2.3.4", "5.6.7.8", "10.0.0.1"]),
            ("1.2.3.4", "1.2.3.4", vec!["1.2.3.4", "10.0.0.1"]),
            ("1.2.3.4", "10.0.0.1", vec!["1.2.3.4", "10.0.0.1"]),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("x-forwarded-for", forwarded), ("x-real-ip", real)] {
                headers.insert(name, HeaderValue::from_static(value));
            }
            let found: Vec<String> = source_ips(&headers, peer).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
        }
    }
}
