//! `serve()`: the steps of a request in their order. Read this page first.

use crate::aggregated_discovery::{AggregatedApi, DelegatedRequest};
use crate::audit::{
    CompletionGuard, FinalStage, RecordBuilder, RequestStart, ResponseAuditor, audit_id, record_received, set_audit_id,
};
use crate::body::Body;
use crate::context::{Context, agent_name};
use crate::deprecation;
use crate::error_responses::{
    self, bad_escape, forbidden_response, internal_server_error, is_timed_out, no_request_info, no_route,
    shutting_down, timed_out, too_many_requests,
};
use crate::flow::{self, InFlight, InFlightRequest, Slot};
use crate::handler::{self, Call};
use crate::metrics::{self, DryRun, FieldValidation, Labels, Outcome, Series};
use crate::negotiation::{AllowedMediaTypes, MediaTypeOptions, ResponseKind, negotiate, negotiate_error};
use crate::query::{Query, decode, well_escaped};
use crate::redefined::Repeatable;
use crate::request::{Request, ResourcePath, Verb, method_name, parse_path};
use crate::response::{ApiResponse, ResponseOptions, accepts_gzip, error_response, respond};
use crate::{
    Api, SharedApi, access, aggregated_discovery, documents, health, httplog, limits, non_resource, patch, peers, read,
    remove, routes, subresource, traces, write,
};
use http::header::{ACCEPT, USER_AGENT};
use http::{Method, Response};
use pintle_auth::Attributes;
use pintle_cache::ResourceCache;
use pintle_flowcontrol::FlowClass;
use pintle_meta::gates;
use pintle_registry::{RequestContext, Status, Step};
use pintle_resource::{Action, Found, Resource};
use pintle_schema::Str;
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The user of what is answered before the user of the request is known.
static NOBODY: Str = Str::new_static("");

/// Serves a request.
pub async fn serve(api: SharedApi, mut request: Request) -> Response<Body> {
    let started = Instant::now();
    // The document of all types is compressed by itself, as in kube-apiserver.
    let may_compress =
        api.registry.environment.gates().is_on(&gates::API_RESPONSE_COMPRESSION) || request.path == "/openapi/v2";
    let accepts_gzip = may_compress && accepts_gzip(request.header(http::header::ACCEPT_ENCODING));
    let shared = api.clone();
    let is_head = request.method == Method::HEAD;
    let turns = &shared.flow.turns;
    let response_options = ResponseOptions { accepts_gzip, is_head, turns, user: &NOBODY };
    if !well_escaped(&request.path) {
        return respond(bad_escape(), response_options);
    }
    let line = httplog::RequestLog::of(&request);
    let audit_start = RequestStart::of(&api, &request);
    let traced_uri = api.tracer.is_some().then(|| error_responses::url(&request));
    if let Cow::Owned(path) = decode(&request.path) {
        request.path = path;
    }
    let query = Query::parse(&request.query);
    let path = parse_path(&request.path);
    let agent = request.header(USER_AGENT);
    let pretty = crate::negotiation::pretty(&query, agent);
    let wanted = negotiate(request.header(ACCEPT), agent, &query, AllowedMediaTypes::Objects, api.formats());
    let is_acceptable = wanted.is_ok();
    let wanted = wanted.unwrap_or(MediaTypeOptions { pretty, ..MediaTypeOptions::JSON });
    let error_form = match is_acceptable && wanted.shape == ResponseKind::Object {
        true => Some(wanted),
        false => negotiate_error(request.header(ACCEPT), agent, &query, api.formats()),
    };
    let dry_run = DryRun::of(query.all("dryRun"));
    let system_client = metrics::system_client(agent);
    let validated = matches!(request.method, Method::POST | Method::PUT | Method::PATCH)
        .then(|| FieldValidation::of(query.get("fieldValidation")));
    let id = audit_id(&api, &request.headers);
    if api.health.rejects(&request.path, agent) {
        let mut response = respond(shutting_down(), response_options);
        set_audit_id(&mut response, &id);
        return response;
    }
    let verb = path.as_ref().map_or(Verb::Other, |path| Verb::of(&request.method, path, &query));
    let context = Arc::new(context_of(&api, &request, verb, path, &query, id));
    let mut accounting = Accounting::default();
    accounting.traced = traced_uri.and_then(|uri| traces::Traced::arrived(&api, &request, &uri, &context));
    let completion = audit_start.is_some().then(|| CompletionGuard { context: Some(context.clone()) });
    let outcome = match accounting.traced.as_ref().map(|traced| traced.current.clone()) {
        Some(trace) => {
            let processed = process(api, request, query, wanted, &context, audit_start, &mut accounting);
            Box::pin(pintle_spans::within(trace, processed)).await
        }
        None => process(api, request, query, wanted, &context, audit_start, &mut accounting).await,
    };
    let error = context.audit().and_then(|_| outcome.as_ref().err().map(Status::to_value));
    let is_acceptable = if outcome.is_ok() { is_acceptable } else { error_form.is_some() };
    // An error that the client does not accept in any form is indented JSON.
    let error_form = error_form.unwrap_or(MediaTypeOptions { pretty: true, ..MediaTypeOptions::JSON });
    let mut answer = outcome.unwrap_or_else(|status| error_response(&status, error_form));
    if let Some(record) = context.audit() {
        let is_long_running = context.deadline.is_none();
        let auditor = ResponseAuditor {
            api: &shared,
            context: &context,
            record,
            final_stage: accounting.final_stage,
            is_long_running,
            is_acceptable,
        };
        Box::pin(auditor.record(&mut answer, error)).await;
    }
    // Warnings about the client's credential come first.
    answer.warnings.splice(0..0, context.take_warnings());
    if accounting.is_unauthenticated_http2
        && shared.registry.environment.gates().is_on(&gates::UNAUTHENTICATED_HTTP2_DOS_MITIGATION)
    {
        answer.headers.push(("connection", "close".to_owned()));
    }
    let code = answer.code;
    // kube-apiserver hands over the connection before headers are set, and its timeout drops those that were set meanwhile.
    let (has_id, has_class) = (code != 101, code != 101 && !is_timed_out(&answer));
    let mut response = respond(answer, ResponseOptions { user: &context.user().name, ..response_options });
    if has_id {
        set_audit_id(&mut response, &context.id);
    }
    let class = accounting.class.take();
    if let Some(class) = class.as_ref().filter(|_| has_class) {
        flow::set_flow_headers(response.headers_mut(), class);
    }
    let logged = line.map(|line| line.on_drop(context, verb, code, class));
    let mut traced = accounting.traced.take();
    traced.iter_mut().for_each(|traced| traced.answered(code));
    let trace = traced.as_ref().and_then(|traced| traced.sampled_trace());
    let (series, slot) = accounting.finish();
    let outcome = Outcome { code, dry_run, system_client, took: started.elapsed(), trace };
    if response.body().is_long_running() {
        let counted = series.map(|series| series.long_running(started, outcome));
        let logged = logged.map(httplog::LogOnDrop::long_running);
        let completion = completion.filter(|_| accounting.final_stage == FinalStage::Complete);
        return response.map(|body| body.with_guard((counted, slot, logged, completion, traced)));
    }
    completion.into_iter().for_each(CompletionGuard::disarm);
    if let Some(series) = &series {
        series.answered(&outcome);
        if let Some(validation) = validated {
            shared.metrics.requests.validated(validation, outcome.took);
        }
    }
    response.map(|body| body.tracked(slot, series))
}

/// Under what a request is counted, and what it holds until its answer is sent; one that is dropped before it is answered was
/// aborted.
#[derive(Default)]
struct Accounting {
    series: Option<Arc<Series>>,
    slot: Option<Slot>,
    /// Its flow schema and priority level.
    class: Option<Arc<FlowClass<InFlight>>>,
    /// The connection is HTTP/2 and the client is not authenticated.
    is_unauthenticated_http2: bool,
    final_stage: FinalStage,
    traced: Option<Box<traces::Traced>>,
}

impl Accounting {
    fn finish(&mut self) -> (Option<Arc<Series>>, Option<Slot>) {
        (self.series.take(), self.slot.take())
    }

    /// Passes the slot on to the response. A response that exceeds the user's share of memory is replaced by 429.
    fn keep_slot(
        &mut self,
        in_flight: &InFlightRequest,
        outcome: Result<ApiResponse, Status>,
    ) -> Result<ApiResponse, Status> {
        let held = outcome.as_ref().ok().and_then(|answer| answer.body.buffered_bytes());
        let has_room = held.is_none_or(|bytes| in_flight.hold_response(bytes).is_ok());
        self.slot = in_flight.take_slot().filter(|_| has_room);
        if has_room && in_flight.rejection_code() != Some(429) { outcome } else { Ok(too_many_requests(in_flight)) }
    }
}

impl Drop for Accounting {
    fn drop(&mut self) {
        if let Some(series) = &self.series {
            series.aborted();
        }
    }
}

/// authenticate → impersonate → flow control → authorize → route → act. Reads take a slot at once, or wait for it; writes do when
/// their bodies have come.
async fn process(
    api: SharedApi,
    mut request: Request,
    query: Query,
    wanted: MediaTypeOptions,
    request_context: &Arc<RequestContext>,
    audit_start: Option<Box<RequestStart>>,
    accounting: &mut Accounting,
) -> Result<ApiResponse, Status> {
    let path = request_context.resource_path.as_ref();
    if path.is_some_and(ResourcePath::is_prefix_alone) {
        return Ok(no_request_info(&request));
    }
    let verb = path.map_or(Verb::Other, |path| Verb::of(&request.method, path, &query));
    let long_running = request_context.deadline.is_none();
    if !long_running {
        check_timeout(&query).inspect_err(|_| {
            let refused =
                RecordBuilder { api: &api, request: &request, path, verb, query: &query, context: request_context };
            accounting.final_stage = FinalStage::Started;
            audit_start.iter().for_each(|audit_start| drop(refused.record(audit_start, None)));
        })?;
    }
    let authenticated =
        before_deadline(request_context, access::authenticated(&api, &mut request, request_context)).await.flatten();
    accounting.is_unauthenticated_http2 = request.over_http2 && request.is_unauthenticated;
    if let Some(audit_start) = audit_start {
        let record =
            RecordBuilder { api: &api, request: &request, path, verb, query: &query, context: request_context }
                .record(&audit_start, authenticated.as_ref().ok());
        accounting.final_stage = if authenticated.is_ok() { FinalStage::Complete } else { FinalStage::Started };
        if let (Some(record), Ok(_)) = (record, &authenticated)
            && !Box::pin(record_received(&record, request_context)).await
        {
            accounting.final_stage = FinalStage::None;
            return Ok(internal_server_error(&request, &"failed to store audit event"));
        }
    }
    if let (Some(traced), Ok(user)) = (&mut accounting.traced, &authenticated) {
        traced.begin(user, path);
    }
    let identity = access::identify(&api, &mut request, path, verb, &query, request_context, authenticated?);
    let identity = before_deadline(request_context, identity).await?;
    request_context.identify(identity?);
    let user = request_context.user();
    let in_flight = InFlightRequest::new(&api.flow, request_context, verb);
    accounting.class = in_flight.class();
    let Some(path) = path else {
        // Health checks are answered in any case, unless a flow schema says otherwise.
        let is_limited = accounting.class.is_some() || !health::is_asked_for(&request.path);
        if is_limited && in_flight.enter().await.is_err() {
            return Ok(too_many_requests(&in_flight));
        }
        let (started, verb) = (Instant::now(), request.method.as_str().to_ascii_lowercase());
        let attributes = Attributes::non_resource(user, &verb, &request.path);
        let allowed =
            before_deadline(request_context, access::decide_request(&api, request_context, &attributes)).await?;
        request_context.spent(Step::Authorization, started);
        if let Err(why) = allowed {
            return forbidden_response(&request, why);
        }
        if documents::describe_resources(&request.path) {
            before_deadline(request_context, api.registry.install_definitions()).await?;
        }
        return match aggregated_discovery::server_of_document(&api, &request.path) {
            Some(server) => {
                let delegated = DelegatedRequest { api: api.clone(), request, query, context: request_context.clone() };
                delegate(server, delegated, &in_flight, accounting).await
            }
            None => {
                let answering = non_resource::answer(&api, user, &query, request, &mut accounting.series);
                let outcome = before_deadline(request_context, answering).await?;
                accounting.keep_slot(&in_flight, outcome)
            }
        };
    };
    let in_flight = in_flight.expecting(|class| flow::estimate(&api, path, verb, &query, wanted, class));
    let is_admitted = if verb.reads() || long_running { in_flight.enter().await.is_ok() } else { in_flight.has_room() };
    if !is_admitted {
        count_rejected(&api, path, verb, &query, &request);
        return Ok(too_many_requests(&in_flight));
    }
    let started = Instant::now();
    let allowed =
        before_deadline(request_context, access::authorize(&api, request_context, user, verb, path, &query)).await?;
    request_context.spent(Step::Authorization, started);
    if let Err(why) = allowed {
        return forbidden_response(&request, why);
    }
    if path.outside_apis {
        return Ok(ApiResponse::text(404, "404 page not found\n"));
    }
    let mut table = api.registry.resources.snapshot();
    let found = table.find(&path.group, &path.version, &path.resource);
    // Built-in resources do not depend on definitions.
    if !matches!(found, Found::Resource(resource) if resource.custom.is_none()) {
        before_deadline(request_context, api.registry.install_definitions()).await?;
        table = api.registry.resources.snapshot();
    }
    // What is defined is hidden by an extension server of the same version.
    let is_hidden = |resource: &Resource| {
        resource.custom.is_some() && aggregated_discovery::find(&api, &path.group, &path.version).is_some()
    };
    let resource = match table.find(&path.group, &path.version, &path.resource) {
        Found::Resource(resource) if !path.malformed && !is_hidden(resource) => resource,
        missing => match (remote_server(&api, &request, path), missing) {
            (Some(server), _) => {
                let delegated = DelegatedRequest { api: api.clone(), request, query, context: request_context.clone() };
                return delegate(server, delegated, &in_flight, accounting).await;
            }
            (None, Found::NoGroup) => return Ok(ApiResponse::text(404, "404 page not found\n")),
            // Only built-in groups have routes that a request can miss.
            (None, Found::NoResource) if !table.is_built_in(&path.group) => {
                return Ok(ApiResponse::text(404, "404 page not found\n"));
            }
            (None, _) => return Err(Status::no_such_path()),
        },
    };
    deprecation::annotate(request_context, resource);
    if let Err(status) = routes::check(resource, path, &request.method) {
        return match resource.custom.is_some() && status.code == 404 {
            true => no_route(resource, path),
            false => Err(status),
        };
    }
    let series = api.metrics.requests.series(labels_of(resource, path, verb, &query, &request));
    // Requests that are counted together are those that cost about the same.
    let kind = Arc::as_ptr(&series).addr() as u64;
    accounting.series = Some(series);
    if !verb.reads() && !long_running {
        request.body = api.metrics.bodies.counted(request.body, resource, verb);
    }
    let context = Context {
        method: request.method.clone(),
        headers: request.headers.clone(),
        api,
        request: request_context.clone(),
        query,
        in_flight,
    };
    if let Some(traced) = &mut accounting.traced {
        traced.act(verb, path, context.header(ACCEPT));
    }
    let acting = pin!(act_as_defined(&context, resource, path, verb, request));
    let acting = pin!(pintle_compute::run(&context.api.flow.turns, &user.name, kind, acting));
    let outcome = match long_running {
        true => acting.await,
        false => tokio::time::timeout_at(deadline(request_context), acting).await.unwrap_or_else(|_| {
            accounting.series.iter().for_each(|series| series.terminated(504));
            Ok(timed_out())
        }),
    };
    let outcome = outcome.map(|mut answer| {
        answer.body = answer.body.in_turns(&context.api.flow.turns, &user.name);
        answer
    });
    let outcome = accounting.keep_slot(&context.in_flight, deprecation::with_warning(resource, outcome));
    match context.in_flight.rejection_code() {
        Some(429) => {
            let client = metrics::system_client(context.header(USER_AGENT));
            let dry_run = DryRun::of(context.query.all("dryRun"));
            accounting.series.take().into_iter().for_each(|series| series.dropped(429, dry_run, client));
        }
        Some(code) => accounting.series.iter().for_each(|series| series.terminated(code)),
        None => {}
    }
    outcome
}

/// The server of a resource that is not served here: an extension server, or else another server over the same store.
fn remote_server(api: &Api, request: &Request, path: &ResourcePath) -> Option<Arc<dyn AggregatedApi>> {
    let extension = aggregated_discovery::find(api, &path.group, &path.version);
    extension.or_else(|| peers::find(api.peers.as_ref(), request, path))
}

/// Has another server answer a request. Its slot is given back before, as what that server takes is no work of this one, unless
/// the request has no end.
async fn delegate(
    server: Arc<dyn AggregatedApi>,
    delegated: DelegatedRequest,
    in_flight: &InFlightRequest,
    accounting: &mut Accounting,
) -> Result<ApiResponse, Status> {
    if delegated.context.deadline.is_some() {
        drop(in_flight.take_slot());
    }
    let outcome = aggregated_discovery::forward(server, delegated).await;
    accounting.keep_slot(in_flight, outcome)
}

/// Whether a request has no end of its own: limits of time and of requests in flight are not for it, but limits of their
/// own on watches and on connections to backends.
fn is_long_running(api: &Api, verb: Verb, subresource: &str) -> bool {
    matches!(verb, Verb::Watch | Verb::Proxy) || api.settings.long_running_subresources.contains(&subresource)
}

/// The context of a request before authentication. A long-running request has no deadline.
fn context_of(
    api: &Api,
    request: &Request,
    verb: Verb,
    path: Option<ResourcePath>,
    query: &Query,
    id: String,
) -> RequestContext {
    let agent = request.headers.get(USER_AGENT).map_or(&[][..], |agent| agent.as_bytes());
    let verb_name = if path.is_some() { verb.name() } else { method_name(&request.method) };
    let mut context = RequestContext::new(verb_name, agent_name(agent));
    context.id = id;
    if !path.as_ref().is_some_and(|path| is_long_running(api, verb, &path.subresource)) {
        context.deadline = Some(context.started + time_limit(api, query));
    }
    if path.is_none() {
        context.other_path.clone_from(&request.path);
    }
    context.resource_path = path;
    context
}

/// Bounds a step that may wait for another server, also of long-running requests.
///
/// # Errors
/// 504 when it has taken too long.
async fn before_deadline<T>(context: &RequestContext, step: impl Future<Output = T>) -> Result<T, Status> {
    tokio::time::timeout_at(deadline(context), step).await.map_err(|_| Status::timed_out())
}

/// The deadline of the response.
fn deadline(context: &RequestContext) -> tokio::time::Instant {
    context.deadline.map_or_else(|| tokio::time::Instant::now() + limits::REQUEST_TIMEOUT, Into::into)
}

/// The timeout of the request: as requested, up to the server's limit.
fn time_limit(api: &Api, query: &Query) -> Duration {
    let allowed = api.settings.request_timeout;
    let asked = pintle_schema::Duration::parse(query.get("timeout")).ok();
    let asked = asked.and_then(|asked| u64::try_from(asked.nanos).ok()).filter(|nanos| *nanos > 0);
    asked.map_or(allowed, |nanos| allowed.min(Duration::from_nanos(nanos)))
}

/// Acts under the definition of the resource as it is when the outcome is committed. A definition that was written is installed before
/// the answer.
async fn act_as_defined(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse, Status> {
    let (repeatable, request) = Repeatable::of(resource, verb, request);
    let mut outcome = act(context, resource, path, verb, request).await;
    let mut resource = resource.clone();
    while let (Some(repeatable), Err(status)) = (&repeatable, &outcome)
        && status.is_redefined
    {
        let (redefined, request) = repeatable.again(context, &resource, path).await?;
        resource = redefined;
        outcome = act(context, &resource, path, verb, request).await;
    }
    if !verb.reads() && outcome.is_ok() {
        context.api.registry.install_written(&resource).await;
    }
    outcome
}

/// negotiate → read, watch or write.
async fn act(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse, Status> {
    routes::check_watchable(resource, verb)?;
    routes::check_named(context, resource, path, verb)?;
    if verb.reads() && needs_fresh_state(context, resource) {
        catch_up(context, resource, verb).await?;
    }
    let call = Call { context, resource, path, verb, admitted: None };
    if !path.subresource.is_empty() {
        return Box::pin(subresource::serve(call, request)).await;
    }
    if resource.storage.is_none() {
        return handler::serve(call, request).await;
    }
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = context.api.registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    if verb == Verb::Patch {
        // The content type of the body is checked before the accepted types.
        context.patch_type(resource)?;
    }
    let offer = match verb {
        Verb::Watch => AllowedMediaTypes::Watch,
        Verb::List => AllowedMediaTypes::Collection,
        _ => AllowedMediaTypes::Objects,
    };
    let wanted = context.negotiate_of(resource, offer)?;
    // Large futures are boxed: most requests are reads, and many run at a time.
    match verb {
        Verb::Get => read::get(context, &target, wanted).await,
        Verb::List | Verb::Watch => read::list_or_watch(context, target, path, wanted).await,
        Verb::Create => Box::pin(write::create(context, &target, wanted, request)).await,
        Verb::Update => Box::pin(write::update(context, &target, wanted, request, None)).await,
        Verb::Patch => Box::pin(patch::patch(context, &target, wanted, request, None)).await,
        Verb::Delete => Box::pin(remove::delete(context, &target, wanted, request)).await,
        Verb::DeleteCollection => remove::delete_collection(context, &target, wanted, request).await,
        Verb::Proxy | Verb::Other => Err(Status::method_not_allowed()),
    }
}

/// Waits until all earlier writes are in the cache; without a slot where the store is shared and has to be asked.
async fn catch_up(context: &Context, resource: &Resource, verb: Verb) -> Result<(), Status> {
    let registry = &context.api.registry;
    let started = Instant::now();
    let cache = cache_of(context, resource);
    let caught_up = async {
        match &cache {
            Some(cache) => registry.catch_up(cache).await,
            None => registry.catch_up_main().await,
        }
    };
    let outcome = match registry.is_shared() {
        true => context.in_flight.wait(caught_up).await?,
        false => caught_up.await,
    };
    context.in_flight.enter().await?;
    if let Some(cache) = cache {
        if verb == Verb::List && context.query.get("resourceVersion").is_empty() {
            cache.stats().consistent(outcome.is_ok());
        }
        if registry.is_shared() {
            cache.stats().waited(started.elapsed());
        }
    }
    outcome
}

/// The cache of a resource that is stored.
fn cache_of(context: &Context, resource: &Resource) -> Option<Arc<ResourceCache>> {
    context.api.registry.cache.resource(&resource.storage.as_ref()?.prefix)
}

/// Whether a read needs all earlier writes, or a revision that may not be in the cache yet.
fn needs_fresh_state(context: &Context, resource: &Resource) -> bool {
    let current =
        || cache_of(context, resource).map_or_else(|| context.api.registry.cache.current(), |it| it.current());
    let version = context.query.get("resourceVersion");
    !context.query.get("continue").is_empty()
        || version.is_empty()
        || version.parse().is_ok_and(|version: u64| version > current().0)
}

/// Rejects a malformed timeout.
fn check_timeout(query: &Query) -> Result<(), Status> {
    let timeout = query.get("timeout");
    if timeout.is_empty() {
        return Ok(());
    }
    pintle_schema::Duration::parse(timeout)
        .map(drop)
        .map_err(|error| Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
}

/// Counts a request that was rejected before it was routed.
fn count_rejected(api: &Api, path: &ResourcePath, verb: Verb, query: &Query, request: &Request) {
    if let Found::Resource(resource) = api.registry.resources.read().find(&path.group, &path.version, &path.resource) {
        let series = api.metrics.requests.series(labels_of(resource, path, verb, query, request));
        let client = metrics::system_client(request.header(USER_AGENT));
        series.dropped(429, DryRun::of(query.all("dryRun")), client);
    }
}

fn labels_of(resource: &Resource, path: &ResourcePath, verb: Verb, query: &Query, request: &Request) -> Labels {
    let found = resource.subresource(&path.subresource);
    let connects = found.is_some_and(|found| matches!(found.action, Action::Connect));
    let subresource = found.map(|found| found.name.clone()).unwrap_or_default();
    let named = verb == Verb::Create || !access::requested_name(path, verb, query).is_empty();
    let scope = match (named, path.namespace.is_empty()) {
        (true, _) => "resource",
        (false, false) => "namespace",
        (false, true) => "cluster",
    };
    let applies =
        verb == Verb::Patch && request.header(http::header::CONTENT_TYPE).starts_with("application/apply-patch+");
    let verb = metrics::verb(verb, connects, applies);
    Labels::of(resource, subresource, verb, scope)
}
