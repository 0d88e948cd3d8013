//! The spans of a request: one for the request as its client sees it, and a part for what was done to its resource.
//! Guarantees kube-apiserver's names and attributes, and that a server without a tracer pays a look at an option. Must
//! never let a client decide about sampling whose user is not privileged.

use crate::Api;
use crate::request::{Request, ResourcePath, Verb};
use http::header::{HOST, USER_AGENT};
use http::{HeaderName, HeaderValue};
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

/// The spans of a request, which end when this is dropped. There are none until the user is known.
pub(crate) struct Traced {
    tracer: Arc<Tracer>,
    request: Arc<RequestContext>,
    /// What calls to other servers pass on.
    pub current: Arc<Current>,
    caller: Option<SpanContext>,
    state: Option<HeaderValue>,
    started: SystemTime,
    method: String,
    uri: String,
    attributes: Attributes,
    begun: Option<(Decision, String)>,
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

impl Traced {
    /// Notes a request as it came; `None` if nothing is traced.
    pub fn arrived(api: &Api, request: &Request, uri: &str, context: &Arc<RequestContext>) -> Option<Box<Traced>> {
        let tracer = api.tracer.clone()?;
        let caller = SpanContext::parse(request.header(HeaderName::from_static(TRACE_PARENT)));
        let state = request.headers.get(TRACE_STATE).filter(|_| caller.is_some()).cloned();
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
            ("http.target", cut(uri).into()),
            ("audit-id", audit_id.into()),
        ];
        Some(Box::new(Traced {
            tracer,
            request: context.clone(),
            current: Arc::default(),
            caller,
            state,
            started: SystemTime::now(),
            method: request.method.as_str().to_owned(),
            uri: cut(uri).to_owned(),
            attributes,
            begun: None,
            part: None,
            code: None,
        }))
    }

    /// Begins the span of the request, whose user is known now.
    pub fn begin(&mut self, user: &UserInfo, path: Option<&ResourcePath>) {
        let is_trusted = user.groups.iter().any(|group| TRUSTED.contains(&group.as_str()));
        let Some(decision) = self.tracer.begin(self.caller, is_trusted) else { return };
        let state = self.state.take().filter(|_| decision.parent.is_some());
        self.current.set(decision.context, state);
        let name = match path {
            Some(path) => format!("{} {}", self.method, pattern(path)),
            None => self.method.clone(),
        };
        self.begun = Some((decision, name));
    }

    /// The trace that the request belongs to, if it is sampled.
    pub fn sampled_trace(&self) -> Option<TraceId> {
        let (decision, _) = self.begun.as_ref()?;
        decision.context.is_sampled.then_some(decision.context.trace_id)
    }

    /// Begins the part that is about the resource.
    pub fn act(&mut self, verb: Verb, path: &ResourcePath, accept: &str) {
        let name = match verb {
            Verb::Get => "Get",
            Verb::List | Verb::Watch => "List",
            Verb::Create => "Create",
            Verb::Update => "Update",
            Verb::Patch => "Patch",
            Verb::Delete | Verb::DeleteCollection => "Delete",
            Verb::Proxy | Verb::Other => return,
        };
        let Some((decision, _)) = self.begun.as_ref().filter(|(decision, _)| decision.context.is_sampled) else {
            return;
        };
        let Some(context) = self.tracer.part(decision.context) else { return };
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
        self.part = Some(Part { name, context, start: SystemTime::now(), attributes });
    }

    /// Notes the status code of the answer.
    pub fn answered(&mut self, code: u16) {
        self.code = Some(code);
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let Some((decision, name)) = self.begun.take().filter(|(decision, _)| decision.context.is_sampled) else {
            return;
        };
        let end = SystemTime::now();
        if let Some(part) = self.part.take() {
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
                events: self.request.timings().into_iter().map(step).collect(),
                is_error: false,
            });
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.extend(self.code.map(|code| ("http.response.status_code", i64::from(code).into())));
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
            is_error: self.code.is_some_and(|code| code >= 500),
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
