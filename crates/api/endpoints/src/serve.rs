//! `serve()`: the steps of a request in their order. A reader learns the server from this page.

pub use crate::answer::Answer;

use crate::answer::{accepts_gzip, refusal, respond};
use crate::body::Body;
use crate::metrics::{self, DryRun, Labels, Outcome, Series};
use crate::negotiation::{Format, Offer, Wanted, body_format, negotiate};
use crate::query::Query;
use crate::request::{Request, ResourcePath, parse_path, verb};
use crate::router::Found;
use crate::upgrade::take_bearer_protocol;
use crate::{Api, SharedApi, documents, health, limits, read, remove, review, subresource, write};
use http::header::{ACCEPT, HeaderValue, USER_AGENT};
use http::{Method, Response};
use pintle_auth::{Attributes, Credentials, UserInfo};
use pintle_kinds::resource::{Resource, Verbs};
use pintle_registry::{Details, Requester, Status, Target};
use pintle_schema::field_selector::FieldSelector;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What every step after authentication knows.
pub struct Context {
    pub api: SharedApi,
    pub user: Arc<UserInfo>,
    pub query: Query,
    pub method: Method,
    pub headers: http::HeaderMap,
}

impl Context {
    pub fn requester(&self) -> Requester {
        Requester {
            agent: agent_name(self.header(USER_AGENT)),
            name: self.user.name.to_string(),
            uid: self.user.uid.to_string(),
            groups: self.user.groups.iter().map(ToString::to_string).collect(),
            extra: self
                .user
                .extra
                .iter()
                .map(|(key, values)| (key.to_string(), values.iter().map(ToString::to_string).collect()))
                .collect(),
        }
    }

    /// Whether the client may create what its request found missing.
    ///
    /// # Errors
    /// It may not.
    pub fn may_create(&self, target: &Target) -> Result<(), Status> {
        decide(
            &self.api,
            &Attributes {
                user: &self.user,
                verb: "create",
                is_resource: true,
                api_group: target.resource.group,
                api_version: target.resource.version,
                resource: target.resource.plural,
                subresource: "",
                namespace: &target.namespace,
                name: &target.name,
                path: "",
            },
        )
    }

    pub fn header(&self, name: http::header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The form of the answer.
    ///
    /// # Errors
    /// The client accepts nothing that is offered.
    pub fn negotiate(&self, offer: Offer) -> Result<Wanted, Status> {
        negotiate(self.header(ACCEPT), self.header(USER_AGENT), &self.query, offer, self.api.formats())
    }

    /// What kind of patch the body is.
    ///
    /// # Errors
    /// 415 for what is no patch.
    pub fn patch_type(&self) -> Result<write::PatchType, Status> {
        write::PatchType::of(self.header(http::header::CONTENT_TYPE), self.api.formats())
    }

    /// The form of the body.
    ///
    /// # Errors
    /// 415 for a media type that objects are not read from.
    pub fn body_format(&self) -> Result<Format, Status> {
        body_format(self.header(http::header::CONTENT_TYPE), self.api.formats())
    }
}

/// The name in a User-Agent: what stands before the first slash, as far as it can be printed and a manager's name may go.
fn agent_name(agent: &str) -> String {
    const LONGEST: usize = 128;
    let first = agent.split('/').next().unwrap_or("");
    let mut name = String::new();
    for c in first.chars().filter(|c| !c.is_control()) {
        if name.len() + c.len_utf8() > LONGEST {
            break;
        }
        name.push(c);
    }
    name
}

/// Answers a request.
pub async fn serve(api: SharedApi, request: Request) -> Response<Body> {
    let started = Instant::now();
    let query = Query::parse(&request.query);
    let path = parse_path(&request.path);
    let agent = request.header(USER_AGENT);
    let accepts_gzip = accepts_gzip(request.header(http::header::ACCEPT_ENCODING));
    let is_head = request.method == Method::HEAD;
    let pretty = crate::negotiation::pretty(&query, agent);
    let wanted = negotiate(request.header(ACCEPT), agent, &query, Offer::Objects, api.formats())
        .unwrap_or(Wanted { pretty, ..Wanted::JSON });
    let dry_run = DryRun::of(query.all("dryRun"));
    let system_client = metrics::system_client(agent);
    if api.health.turns_away(&request.path) {
        return respond(stopping(), accepts_gzip, is_head).await;
    }
    let mut tally = Tally::default();
    let outcome = steps(api, request, query, path.as_ref(), &mut tally).await;
    let answer = outcome.unwrap_or_else(|status| refusal(&status, wanted));
    let code = answer.code;
    let response = respond(answer, accepts_gzip, is_head).await;
    let Some(series) = tally.answered() else { return response };
    let size = (!response.body().is_long_running()).then(|| response.body().size());
    let outcome = Outcome { code, dry_run, system_client, took: started.elapsed(), size };
    if response.body().is_long_running() {
        return response.map(|body| body.holding(series.long_running(started, outcome)));
    }
    series.answered(&outcome);
    response
}

/// Under what a request is counted; one that is dropped before it is answered was aborted.
#[derive(Default)]
struct Tally(Option<Arc<Series>>);

impl Tally {
    fn answered(&mut self) -> Option<Arc<Series>> {
        self.0.take()
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(series) = &self.0 {
            series.aborted();
        }
    }
}

/// authenticate → flow control → authorize → route → act.
async fn steps(
    api: SharedApi,
    mut request: Request,
    query: Query,
    path: Option<&ResourcePath>,
    tally: &mut Tally,
) -> Result<Answer, Status> {
    let action = path.map_or("", |path| verb(&request.method, path, &query));
    let long_running = path.is_some_and(|path| is_long_running(action, &path.subresource));
    if !long_running {
        check_timeout(&query)?;
    }
    let user = authenticate(&api, &mut request)?;
    refuse_impersonation(&request)?;
    let Some(path) = path else { return outside_resources(api, user, query, request, tally).await };
    let counting = api.clone();
    let mutating = !matches!(action, "get" | "list" | "watch");
    let in_flight =
        (!long_running).then(|| counting.metrics.in_flight(mutating, api.settings.in_flight_limit(mutating)));
    // The administrator is never turned away.
    if matches!(in_flight, Some(None)) && !user.in_group(pintle_auth::groups::MASTERS) {
        return Ok(turn_away(&api, path, action, &query, &request));
    }
    authorize(&api, &user, action, path, &query)?;
    if path.malformed {
        return Err(Status::no_such_path());
    }
    let resource = match api.router.find(&path.group, &path.version, &path.resource) {
        Found::Resource(resource) => resource,
        Found::NoGroup => return Ok(Answer::text(404, "404 page not found\n")),
        Found::NoResource => return Err(Status::no_such_path()),
    };
    tally.0 = Some(api.metrics.requests.series(labels_of(resource, path, action, &query, &request)));
    check_scope(resource, path, action)?;
    if mutating && !long_running {
        request.body = api.metrics.bodies.counted(request.body, resource, action);
    }
    let context = Context { method: request.method.clone(), headers: request.headers.clone(), api, user, query };
    if path.subresource.is_empty() {
        check_verb(&context.method, resource, path, action)?;
    }
    let acting = act(&context, resource, path, action, request);
    let outcome = match long_running {
        true => acting.await,
        false => tokio::time::timeout(time_limit(&context), acting).await.unwrap_or_else(|_| {
            tally.0.iter().for_each(|series| series.terminated(504));
            Err(Status::timed_out())
        }),
    };
    with_deprecation(resource, outcome)
}

/// Whether a request has no end of its own: limits of time and of requests in flight are not for it.
fn is_long_running(action: &str, subresource: &str) -> bool {
    action == "watch" || matches!(subresource, "attach" | "exec" | "proxy" | "log" | "portforward")
}

/// How long the request may take: what it asks for, at most what the server allows.
fn time_limit(context: &Context) -> Duration {
    let allowed = context.api.settings.request_timeout;
    let asked = pintle_schema::Duration::parse(context.query.get("timeout")).ok();
    let asked = asked.and_then(|asked| u64::try_from(asked.nanos).ok()).filter(|nanos| *nanos > 0);
    asked.map_or(allowed, |nanos| allowed.min(Duration::from_nanos(nanos)))
}

/// Acting as somebody else is not built yet, and must not be taken for acting as oneself.
fn refuse_impersonation(request: &Request) -> Result<(), Status> {
    match request.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        true => Err(Status::new(501, "NotImplemented", "impersonation is not supported by this server")),
        false => Ok(()),
    }
}

/// negotiate → read, watch or write.
async fn act(
    context: &Context,
    resource: &'static Resource,
    path: &ResourcePath,
    action: &str,
    request: Request,
) -> Result<Answer, Status> {
    if matches!(action, "get" | "list" | "watch") && wants_more_than_known(context) {
        context.api.registry.catch_up().await?;
    }
    if !path.subresource.is_empty() {
        return subresource::serve(context, resource, path, request).await;
    }
    if resource.storage.is_none() {
        return review::serve(context, resource, path, request).await;
    }
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = context.api.registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    if action == "patch" {
        // A path is known by what it takes before it is known by what it gives.
        context.patch_type()?;
    }
    let wanted = context.negotiate(match action {
        "watch" => Offer::Watch,
        "list" => Offer::Collection,
        _ => Offer::Objects,
    })?;
    match action {
        "get" => read::get(context, &target, wanted),
        "list" | "watch" => read::list_or_watch(context, target, path, wanted),
        "create" => write::create(context, &target, wanted, request).await,
        "update" => write::update(context, &target, wanted, request, None).await,
        "patch" => write::patch(context, &target, wanted, request, None).await,
        "delete" => remove::delete(context, &target, wanted, request).await,
        "deletecollection" => remove::delete_collection(context, &target, wanted, request).await,
        _ => Err(Status::method_not_allowed()),
    }
}

/// Whether a read asks for everything that was written before it, or for what may not have been seen here yet.
fn wants_more_than_known(context: &Context) -> bool {
    let version = context.query.get("resourceVersion");
    !context.query.get("continue").is_empty()
        || version.is_empty()
        || version.parse().is_ok_and(|version: u64| version > context.api.registry.revision().0)
}

/// A deprecated version warns with every answer, good or bad.
fn with_deprecation(resource: &Resource, outcome: Result<Answer, Status>) -> Result<Answer, Status> {
    let warn = |warnings: &mut Vec<String>| {
        if !resource.deprecation.is_empty() {
            warnings.insert(0, resource.deprecation.to_owned());
        }
    };
    match outcome {
        Ok(mut answer) => {
            warn(&mut answer.warnings);
            Ok(answer)
        }
        Err(mut status) => {
            warn(&mut status.warnings);
            Err(status)
        }
    }
}

/// A time limit that cannot be read is refused.
fn check_timeout(query: &Query) -> Result<(), Status> {
    let timeout = query.get("timeout");
    if timeout.is_empty() {
        return Ok(());
    }
    pintle_schema::Duration::parse(timeout)
        .map(drop)
        .map_err(|error| Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
}

/// Only lists reach over all namespaces.
fn check_scope(resource: &Resource, path: &ResourcePath, action: &str) -> Result<(), Status> {
    if !resource.namespaced || !path.namespace.is_empty() || path.name.is_empty() && matches!(action, "list" | "watch")
    {
        return Ok(());
    }
    let is_path = path.name.is_empty() && resource.verbs.contains(Verbs::LIST);
    Err(if is_path { Status::method_not_allowed() } else { Status::no_such_path() })
}

fn authenticate(api: &Api, request: &mut Request) -> Result<Arc<UserInfo>, Status> {
    let started = Instant::now();
    let of_websocket = take_bearer_protocol(&mut request.headers).map_err(|_| Status::unauthorized())?;
    let authorization = request.headers.get(http::header::AUTHORIZATION).or(of_websocket.as_ref());
    let authorization = authorization.map(HeaderValue::as_bytes);
    let credentials =
        Credentials { authorization, client_certs: &request.client_certs, cert_cache: request.cert_cache.as_deref() };
    let user = api.authenticator.authenticate(credentials, SystemTime::now());
    api.metrics.access.authenticated(user.as_ref().ok().map(|user| &*user.name), started.elapsed());
    user.map_err(|_| Status::unauthorized())
}

/// What a request beyond the limits is answered.
fn turn_away(api: &Api, path: &ResourcePath, action: &'static str, query: &Query, request: &Request) -> Answer {
    if let Found::Resource(resource) = api.router.find(&path.group, &path.version, &path.resource) {
        let series = api.metrics.requests.series(labels_of(resource, path, action, query, request));
        let client = metrics::system_client(request.header(USER_AGENT));
        series.dropped(429, DryRun::of(query.all("dryRun")), client);
    }
    let mut answer = Answer::text(429, "Too many requests, please try again later.\n");
    answer.headers.push(("retry-after", limits::RETRY_AFTER_SECONDS.to_string()));
    answer
}

/// What a request is answered that comes while the server stops. The connection ends with it.
fn stopping() -> Answer {
    let mut answer = Answer::text(429, "The apiserver is shutting down, please try again later.\n");
    answer.headers.push(("retry-after", limits::RETRY_AFTER_SHUTDOWN_SECONDS.to_string()));
    answer.headers.push(("connection", "close".to_owned()));
    answer
}

pub(crate) fn authorize(
    api: &Api,
    user: &UserInfo,
    action: &str,
    path: &ResourcePath,
    query: &Query,
) -> Result<(), Status> {
    let attributes = Attributes {
        user,
        verb: action,
        is_resource: true,
        api_group: &path.group,
        api_version: &path.version,
        resource: &path.resource,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name: &name_asked_for(path, action, query),
        path: "",
    };
    decide(api, &attributes)
}

/// The object that a request is about: a list or watch may be narrowed down to one by a field selector.
fn name_asked_for<'a>(path: &'a ResourcePath, action: &str, query: &Query) -> Cow<'a, str> {
    let selector = query.get("fieldSelector");
    if !path.name.is_empty() || selector.is_empty() || !matches!(action, "list" | "watch") {
        return Cow::Borrowed(&path.name);
    }
    let selector = FieldSelector::parse(selector).unwrap_or_default();
    let name = selector.exact_match("metadata.name").unwrap_or("");
    let is_segment = !matches!(name, "." | "..") && !name.contains(['/', '%']);
    Cow::Owned(if is_segment { name.to_owned() } else { String::new() })
}

fn decide(api: &Api, attributes: &Attributes<'_>) -> Result<(), Status> {
    let started = Instant::now();
    let decision = api.authorizer.authorize(attributes);
    api.metrics.access.authorized(&decision, started.elapsed());
    if decision.is_allowed() {
        return Ok(());
    }
    let refused = pintle_auth::authorization::forbidden(attributes, &decision.reason());
    Err(Status::new(403, "Forbidden", refused.message).with_details(Details {
        name: refused.name.to_string(),
        group: refused.group.to_string(),
        kind: refused.kind.to_string(),
        ..Details::default()
    }))
}

/// Paths that name no resource: discovery, OpenAPI, version, health, metrics.
async fn outside_resources(
    api: SharedApi,
    user: Arc<UserInfo>,
    query: Query,
    request: Request,
    tally: &mut Tally,
) -> Result<Answer, Status> {
    let verb = request.method.as_str().to_ascii_lowercase();
    decide(&api, &Attributes::non_resource(&user, &verb, &request.path))?;
    let path = request.path.as_str();
    if let Some(endpoint) = health::ENDPOINTS.into_iter().find(|endpoint| *endpoint == path) {
        let labels = Labels { resource: None, subresource: endpoint, verb: "GET", scope: "" };
        tally.0 = Some(api.metrics.requests.series(labels));
    }
    if let Some(answer) = health::serve(&api.health, path, &query) {
        return Ok(answer);
    }
    match path {
        "/metrics" => Ok(Answer::new(200, METRICS_TYPE, metrics::render(&api))),
        "/metrics/slis" => Ok(Answer::new(200, METRICS_TYPE, api.health.metrics())),
        _ => documents::serve(&api, &request, &query),
    }
}

/// The content type of metrics.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

fn labels_of(
    resource: &'static Resource,
    path: &ResourcePath,
    action: &'static str,
    query: &Query,
    request: &Request,
) -> Labels {
    let subresource = resource.subresource(&path.subresource).map_or("", |found| found.name);
    let named = action == "create" || !name_asked_for(path, action, query).is_empty();
    let scope = match (named, path.namespace.is_empty()) {
        (true, _) => "resource",
        (false, false) => "namespace",
        (false, true) => "cluster",
    };
    let applies =
        action == "patch" && request.header(http::header::CONTENT_TYPE).starts_with("application/apply-patch+");
    Labels { resource: Some(resource), subresource, verb: metrics::verb(action, subresource, applies), scope }
}

fn check_verb(method: &Method, resource: &Resource, path: &ResourcePath, action: &str) -> Result<(), Status> {
    let of_objects = [Verbs::GET, Verbs::UPDATE, Verbs::PATCH, Verbs::DELETE];
    if !path.name.is_empty() && !of_objects.iter().any(|verb| resource.verbs.contains(*verb)) {
        // Where objects are only posted none has a path.
        return Err(Status::no_such_path());
    }
    let verb = match action {
        _ if !matches!(method.as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE") => {
            return Err(Status::method_not_allowed());
        }
        "create" if path.name.is_empty() => Verbs::CREATE,
        "get" => Verbs::GET,
        "list" => Verbs::LIST,
        "watch" if !resource.verbs.contains(Verbs::WATCH) && resource.verbs.contains(Verbs::LIST) => {
            let message = format!("watch is not supported on resources of kind {:?}", resource.plural);
            let details = Details { kind: resource.plural.into(), group: resource.group.into(), ..Details::default() };
            let status = Status::new(405, "MethodNotAllowed", message).with_details(details);
            return with_deprecation(resource, Err(status)).map(drop);
        }
        "watch" => Verbs::WATCH,
        "update" if !path.name.is_empty() => Verbs::UPDATE,
        "patch" if !path.name.is_empty() => Verbs::PATCH,
        "delete" => Verbs::DELETE,
        "deletecollection" => Verbs::DELETECOLLECTION,
        _ => return Err(Status::method_not_allowed()),
    };
    if resource.verbs.contains(verb) { Ok(()) } else { Err(Status::method_not_allowed()) }
}
