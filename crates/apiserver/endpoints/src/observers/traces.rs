//! The spans of a request: one for the request as its client sees it, and a part for what was done to its resource.
//! Guarantees kube-apiserver's names and attributes, and that a server without a tracer pays a look at an option. Must
//! never let a client decide about sampling whose user is not privileged.

use super::{Answered, Routed};
use crate::Api;
use crate::exchange::Exchange;
use crate::request::{Request, ResourcePath, Verb};
use http::HeaderName;
use http::header::{ACCEPT, HOST, USER_AGENT};
use pintle_auth::UserInfo;
use pintle_auth::groups;
use pintle_metrics::TraceId;
use pintle_registry::RequestContext;
use pintle_spans::{
    Attribute, Current, Decision, Event, Span, SpanContext, SpanKind, TRACE_PARENT, TRACE_STATE, Tracer,
};
use std::sync::Arc;
use std::time::SystemTime;

/// Users of these groups decide for their requests whether they are sampled.
const TRUSTED: [&str; 2] = [groups::MASTERS, "system:monitoring"];
/// Longer audit ids are cut.
const AUDIT_ID_BYTES: usize = 64;
/// Longer texts of clients are cut: some thousand spans may wait for the collector.
const ATTRIBUTE_BYTES: usize = 1024;

type Attributes = Vec<(&'static str, Attribute)>;

/// Makes the spans of a request, which end when it is answered, or when a response ends that stays open.
pub(crate) struct TraceObserver(Option<Box<Traced>>);

/// The spans of a request, which end when this is dropped. There are none until the user is known.
struct Traced {
    tracer: Arc<Tracer>,
    /// What calls to other servers pass on.
    current: Arc<Current>,
    started: SystemTime,
    uri: String,
    begun: Option<Begun>,
}

/// The span of a request whose user is known.
struct Begun {
    decision: Decision,
    name: String,
    request: Arc<RequestContext>,
    attributes: Attributes,
    part: Option<Part>,
    code: Option<u16>,
}

/// What is done to a resource.
struct Part {
    name: &'static str,
    context: SpanContext,
    start: SystemTime,
    attributes: Attributes,
}

impl TraceObserver {
    pub(super) fn received(api: &Api, request: &Request) -> TraceObserver {
        TraceObserver(api.tracer.as_ref().map(|tracer| {
            Box::new(Traced {
                tracer: tracer.clone(),
                current: Arc::default(),
                started: SystemTime::now(),
                uri: cut(&request.uri()).to_owned(),
                begun: None,
            })
        }))
    }

    pub(super) fn current(&self) -> Option<Arc<Current>> {
        self.0.as_ref().map(|traced| traced.current.clone())
    }

    pub(super) fn identified(&mut self, exchange: &Exchange, user: Option<&Arc<UserInfo>>) {
        if let (Some(traced), Some(user)) = (&mut self.0, user) {
            traced.begin(exchange, user);
        }
    }

    pub(super) fn routed(&mut self, exchange: &Exchange, routed: Routed<'_>) {
        if let (Some(traced), Routed::Resource(_), Some(path)) = (&mut self.0, routed, exchange.path()) {
            traced.act(exchange.verb, path, exchange.request.header(ACCEPT));
        }
    }

    /// Returns the trace that the request belongs to, if it is sampled.
    pub(super) fn answered(&mut self, answered: Answered) -> Option<TraceId> {
        let begun = self.0.as_mut()?.begun.as_mut()?;
        begun.code = Some(answered.code);
        begun.decision.context.is_sampled.then_some(begun.decision.context.trace_id)
    }

    /// Ends the spans of a request whose response does not stay open, when it has been counted.
    pub(super) fn ended(&mut self, answered: Answered) {
        if !answered.stays_open {
            self.0 = None;
        }
    }

    pub(super) fn sent(&mut self) {
        self.0 = None;
    }
}

impl Traced {
    /// Begins the span of the request, whose user is known now.
    fn begin(&mut self, exchange: &Exchange, user: &UserInfo) {
        let Exchange { request, context, .. } = exchange;
        let caller = SpanContext::parse(request.header(HeaderName::from_static(TRACE_PARENT)));
        let is_trusted = user.groups.iter().any(|group| TRUSTED.contains(&group.as_str()));
        let Some(decision) = self.tracer.begin(caller, is_trusted) else { return };
        let state = request.headers.get(TRACE_STATE).filter(|_| caller.is_some() && decision.parent.is_some());
        self.current.set(decision.context, state.cloned());
        let name = match exchange.path() {
            Some(path) => format!("{} {}", request.method, pattern(path)),
            None => request.method.as_str().to_owned(),
        };
        let peer = request.peer.map(|peer| peer.to_string()).unwrap_or_default();
        let audit_id = &context.id[..context.id.floor_char_boundary(AUDIT_ID_BYTES)];
        let attributes = vec![
            ("server.address", cut(request.header(HOST)).into()),
            ("http.request.method", request.method.as_str().into()),
            ("url.scheme", "https".into()),
            ("url.path", cut(&request.path).into()),
            ("network.peer.address", peer.as_str().into()),
            ("client.address", peer.into()),
            ("user_agent.original", cut(request.header(USER_AGENT)).into()),
            ("network.protocol.name", "http".into()),
            ("network.protocol.version", if request.over_http2 { "2" } else { "1.1" }.into()),
            ("http.target", self.uri.as_str().into()),
            ("audit-id", audit_id.into()),
        ];
        self.begun = Some(Begun { decision, name, request: context.clone(), attributes, part: None, code: None });
    }

    /// Begins the part that is about the resource.
    fn act(&mut self, verb: Verb, path: &ResourcePath, accept: &str) {
        let name = match verb {
            Verb::Get => "Get",
            Verb::List | Verb::Watch => "List",
            Verb::Create => "Create",
            Verb::Update => "Update",
            Verb::Patch => "Patch",
            Verb::Delete | Verb::DeleteCollection => "Delete",
            Verb::Proxy | Verb::Other => return,
        };
        let Some(begun) = self.begun.as_mut().filter(|begun| begun.decision.context.is_sampled) else { return };
        let Some(context) = self.tracer.part(begun.decision.context) else { return };
        self.current.set(context, None);
        let scope = match (path.name.is_empty(), path.namespace.is_empty()) {
            (false, _) => "resource",
            (true, false) => "namespace",
            (true, true) => "cluster",
        };
        let own = [
            ("accept", accept),
            ("api-group", &path.group),
            ("api-version", &path.version),
            ("name", &path.name),
            ("namespace", &path.namespace),
            ("resource", &path.resource),
            ("subresource", &path.subresource),
            ("scope", scope),
            ("url", &self.uri),
            ("verb", verb.name()),
        ];
        let attributes = own.into_iter().map(|(key, value)| (key, cut(value).into())).collect();
        begun.part = Some(Part { name, context, start: SystemTime::now(), attributes });
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let Some(begun) = self.begun.take().filter(|begun| begun.decision.context.is_sampled) else { return };
        let Begun { decision, name, request, mut attributes, part, code } = begun;
        let end = SystemTime::now();
        if let Some(part) = part {
            // Only the sum of the times that a step took is known.
            let step = |(step, took): (_, std::time::Duration)| Event {
                name: format!("{step:?}"),
                time: end,
                attributes: vec![("duration-us", i64::try_from(took.as_micros()).unwrap_or(i64::MAX).into())],
            };
            self.tracer.ended(Span {
                context: part.context,
                parent: Some(decision.context.span_id),
                link: None,
                name: part.name.to_owned(),
                kind: SpanKind::Internal,
                start: part.start,
                end,
                attributes: part.attributes,
                events: request.timings().into_iter().map(step).collect(),
                is_error: false,
            });
        }
        attributes.extend(code.map(|code| ("http.response.status_code", i64::from(code).into())));
        self.tracer.ended(Span {
            context: decision.context,
            parent: decision.parent,
            link: decision.link,
            name,
            kind: SpanKind::Server,
            start: self.started,
            end,
            attributes,
            events: Vec::new(),
            is_error: code.is_some_and(|code| code >= 500),
        });
    }
}

/// What a span shows of a text that a client sends: spans wait in memory, and collectors bound a batch.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(ATTRIBUTE_BYTES)]
}

/// A path without the names in it.
fn pattern(path: &ResourcePath) -> String {
    let mut pattern = match path.group.as_str() {
        "" => format!("/api/{}", path.version),
        group => format!("/apis/{group}/{}", path.version),
    };
    if !path.namespace.is_empty() {
        pattern.push_str("/namespaces/{:namespace}");
    }
    pattern.push('/');
    pattern.push_str(&path.resource);
    if !path.name.is_empty() {
        pattern.push_str("/{:name}");
    }
    if !path.subresource.is_empty() {
        pattern.push('/');
        pattern.push_str(&path.subresource);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::parse_path;

    #[test]
    fn names_of_spans_have_no_names_of_objects() {
        for (path, expected) in [
            ("/api/v1/pods", "/api/v1/pods"),
            ("/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/{:namespace}/pods/{:name}"),
            ("/api/v1/namespaces/a/pods/b/log", "/api/v1/namespaces/{:namespace}/pods/{:name}/log"),
            ("/apis/apps/v1/namespaces/a/deployments", "/apis/apps/v1/namespaces/{:namespace}/deployments"),
        ] {
            assert_eq!(pattern(&parse_path(path).expect("a path")), expected);
        }
    }
}
