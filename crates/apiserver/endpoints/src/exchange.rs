//! `Exchange`: a request with what is known of it, and what its response needs. Guarantees that the head of a request
//! is parsed once, whatever becomes of the request. Must never decide whether it is allowed.

use crate::audit::{audit_id, set_audit_id};
use crate::body::Body;
use crate::context::{Context, agent_name};
use crate::encoding::{AllowedMediaTypes, MediaTypeOptions, ResponseKind, negotiate, negotiate_error, pretty};
use crate::error_responses::is_timed_out;
use crate::flow::{self, InFlight, InFlightRequest};
use crate::query::{Query, decode};
use crate::request::{Request, ResourcePath, Verb, method_name, parse_path};
use crate::response::{ApiResponse, ResponseOptions, accepts_gzip, error_response, respond};
use crate::{Api, SharedApi, limits};
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use http::{Method, Response};
use pintle_flowcontrol::FlowClass;
use pintle_meta::gates;
use pintle_registry::{RequestContext, Status};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A request with what is known of it, and what its response needs. Steps that wait hold it alone: a body cannot be
/// shared by threads.
pub(crate) struct Exchange {
    pub api: SharedApi,
    /// Empty, as is `query`, from where it is carried out.
    pub request: Request,
    pub query: Query,
    pub verb: Verb,
    /// The request as all rings know it: its path, its user, its deadline.
    pub context: Arc<RequestContext>,
    /// The form of a response that is an object; JSON if the client accepts none.
    pub wanted: MediaTypeOptions,
    /// Its flow schema and priority level, once its user is known.
    pub class: Option<Arc<FlowClass<InFlight>>>,
    /// The connection is HTTP/2 and the client is not authenticated.
    pub is_unauthenticated_http2: bool,
    is_acceptable: bool,
    /// The form of an error; `None` if the client accepts none.
    error_form: Option<MediaTypeOptions>,
    accepts_gzip: bool,
    is_head: bool,
}

impl Exchange {
    /// Parses the head of a request.
    pub fn of(api: SharedApi, mut request: Request) -> Exchange {
        // The document of all types is compressed by itself, as in kube-apiserver.
        let is_on = api.registry.environment.gates().is_on(&gates::API_RESPONSE_COMPRESSION);
        let may_compress = is_on || request.path == "/openapi/v2";
        let accepts_gzip = may_compress && accepts_gzip(request.header(ACCEPT_ENCODING));
        let is_head = request.method == Method::HEAD;
        if let Cow::Owned(path) = decode(&request.path) {
            request.path = path;
        }
        let query = Query::parse(&request.query);
        let path = parse_path(&request.path);
        let (agent, accept) = (request.header(USER_AGENT), request.header(ACCEPT));
        let wanted = negotiate(accept, agent, &query, AllowedMediaTypes::Objects, api.formats());
        let is_acceptable = wanted.is_ok();
        let in_json = || MediaTypeOptions { pretty: pretty(&query, agent), ..MediaTypeOptions::JSON };
        let wanted = wanted.unwrap_or_else(|_| in_json());
        let error_form = match is_acceptable && wanted.shape == ResponseKind::Object {
            true => Some(wanted),
            false => negotiate_error(accept, agent, &query, api.formats()),
        };
        let verb = path.as_ref().map_or(Verb::Other, |path| Verb::of(&request.method, path, &query));
        let context = Arc::new(context_of(&api, &request, verb, path, &query));
        let (class, is_unauthenticated_http2) = (None, false);
        Exchange {
            api,
            request,
            query,
            verb,
            context,
            wanted,
            class,
            is_unauthenticated_http2,
            is_acceptable,
            error_form,
            accepts_gzip,
            is_head,
        }
    }

    /// The resource that the request names; `None` for other paths.
    pub fn path(&self) -> Option<&ResourcePath> {
        self.context.resource_path.as_ref()
    }

    /// Whether the request has no end of its own.
    pub fn is_long_running(&self) -> bool {
        self.context.deadline.is_none()
    }

    /// Whether the request comes too late: the server stops.
    pub fn is_too_late(&self) -> bool {
        self.api.health.rejects(&self.request.path, self.request.header(USER_AGENT))
    }

    /// Whether a response is in a form that the client accepts.
    pub fn accepts(&self, is_error: bool) -> bool {
        if is_error { self.error_form.is_some() } else { self.is_acceptable }
    }

    /// Whether a response goes on when its head is sent, until one side ends it.
    pub fn stays_open(&self, answer: &ApiResponse) -> bool {
        answer.body.is_long_running() && !self.is_head
    }

    /// The user's place among the requests in work, of which nothing is taken yet. Notes the flow schema and the
    /// priority level.
    pub fn classify(&mut self) -> InFlightRequest {
        let in_flight = InFlightRequest::new(&self.api.flow, &self.context, self.verb);
        self.class = in_flight.class();
        match self.path() {
            Some(path) => {
                in_flight.expecting(|class| flow::estimate(&self.api, path, self.verb, &self.query, self.wanted, class))
            }
            None => in_flight,
        }
    }

    /// The request, and its query.
    pub fn take(&mut self) -> (Request, Query) {
        (std::mem::take(&mut self.request), std::mem::take(&mut self.query))
    }

    /// What the steps of a resource's verbs need, and the request.
    pub fn take_for_verb(&mut self, in_flight: InFlightRequest) -> (Context, Request) {
        let (request, query) = self.take();
        let context = Context {
            method: request.method.clone(),
            headers: request.headers.clone(),
            api: self.api.clone(),
            request: self.context.clone(),
            query,
            in_flight,
        };
        (context, request)
    }

    /// An error in a form that the client accepts; one that it does not accept in any form is indented JSON.
    pub fn error(&self, status: &Status) -> ApiResponse {
        let indented = MediaTypeOptions { pretty: true, ..MediaTypeOptions::JSON };
        error_response(status, self.error_form.unwrap_or(indented))
    }

    /// The response as it is sent, with the headers that tell about its request.
    pub fn respond(&self, mut answer: ApiResponse) -> Response<Body> {
        // Warnings about the client's credential come first.
        answer.warnings.splice(0..0, self.context.take_warnings());
        let gates = self.api.registry.environment.gates();
        if self.is_unauthenticated_http2 && gates.is_on(&gates::UNAUTHENTICATED_HTTP2_DOS_MITIGATION) {
            answer.headers.push(("connection", "close".to_owned()));
        }
        // kube-apiserver hands over the connection before headers are set, and its timeout drops those that were set
        // meanwhile.
        let (has_id, has_class) = (answer.code != 101, answer.code != 101 && !is_timed_out(&answer));
        let mut response = respond(
            answer,
            ResponseOptions {
                accepts_gzip: self.accepts_gzip,
                is_head: self.is_head,
                turns: &self.api.flow.turns,
                user: &self.context.user().name,
            },
        );
        if has_id {
            set_audit_id(&mut response, &self.context.id);
        }
        if let Some(class) = self.class.as_ref().filter(|_| has_class) {
            flow::set_flow_headers(response.headers_mut(), class);
        }
        response
    }
}

/// The context of a request before authentication. A long-running request has no deadline.
fn context_of(api: &Api, request: &Request, verb: Verb, path: Option<ResourcePath>, query: &Query) -> RequestContext {
    let agent = request.headers.get(USER_AGENT).map_or(&[][..], |agent| agent.as_bytes());
    let verb_name = if path.is_some() { verb.name() } else { method_name(&request.method) };
    let mut context = RequestContext::new(verb_name, agent_name(agent));
    context.id = audit_id(api, &request.headers);
    if !path.as_ref().is_some_and(|path| has_no_end(api, verb, &path.subresource)) {
        context.deadline = Some(context.started + time_limit(api, query));
    }
    if path.is_none() {
        context.other_path.clone_from(&request.path);
    }
    context.resource_path = path;
    context
}

/// Whether a request has no end of its own: limits of time and of requests in flight are not for it, but limits of
/// their own on watches and on connections to backends.
fn has_no_end(api: &Api, verb: Verb, subresource: &str) -> bool {
    matches!(verb, Verb::Watch | Verb::Proxy) || api.settings.long_running_subresources.contains(&subresource)
}

/// The timeout of the request: as requested, up to the server's limit.
fn time_limit(api: &Api, query: &Query) -> Duration {
    let allowed = api.settings.request_timeout;
    let asked = pintle_schema::Duration::parse(query.get("timeout")).ok();
    let asked = asked.and_then(|asked| u64::try_from(asked.nanos).ok()).filter(|nanos| *nanos > 0);
    asked.map_or(allowed, |nanos| allowed.min(Duration::from_nanos(nanos)))
}

/// Bounds a step that may wait for another server, also of long-running requests.
///
/// # Errors
/// 504 when it has taken too long.
pub(crate) async fn before_deadline<T>(context: &RequestContext, step: impl Future<Output = T>) -> Result<T, Status> {
    tokio::time::timeout_at(deadline(context), step).await.map_err(|_| Status::timed_out())
}

/// The deadline of the response.
pub(crate) fn deadline(context: &RequestContext) -> tokio::time::Instant {
    context.deadline.map_or_else(|| tokio::time::Instant::now() + limits::REQUEST_TIMEOUT, Into::into)
}
