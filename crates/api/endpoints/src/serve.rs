//! `serve()`: the steps of a request in their order. A reader learns the server from this page.

pub use crate::answer::Answer;

use crate::answer::{accepts_gzip, refusal, respond};
use crate::body::Body;
use crate::metrics::Labels;
use crate::negotiation::{Offer, Wanted, negotiate};
use crate::query::Query;
use crate::request::{Request, ResourcePath, parse_path, verb};
use crate::router::Found;
use crate::{Api, SharedApi, documents, health, read, remove, review, subresource, write};
use http::header::{ACCEPT, HeaderValue, USER_AGENT};
use http::{Method, Response};
use pintle_auth::{Attributes, Credentials, UserInfo};
use pintle_kinds::resource::{Resource, Verbs};
use pintle_registry::{Details, Requester, Status};
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

    pub fn header(&self, name: http::header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The form of the answer.
    ///
    /// # Errors
    /// The client accepts nothing that is offered.
    pub fn negotiate(&self, offer: Offer) -> Result<Wanted, Status> {
        negotiate(self.header(ACCEPT), self.header(USER_AGENT), &self.query, offer)
    }
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
    let wanted =
        negotiate(request.header(ACCEPT), agent, &query, Offer::Objects).unwrap_or(Wanted { pretty, ..Wanted::JSON });
    let mut labels = None;
    let (api_for_steps, query_for_steps) = (api.clone(), query.clone());
    let outcome = steps(api_for_steps, request, query_for_steps, path.as_ref(), &mut labels).await;
    let answer = outcome.unwrap_or_else(|status| refusal(&status, wanted));
    if let Some(labels) = labels {
        api.metrics.request(labels, answer.code, query.get("dryRun") == "All", started.elapsed());
    }
    respond(answer, accepts_gzip, is_head).await
}

/// authenticate → flow control → authorize → route → act.
async fn steps(
    api: SharedApi,
    request: Request,
    query: Query,
    path: Option<&ResourcePath>,
    labels: &mut Option<Labels>,
) -> Result<Answer, Status> {
    let action = path.map_or("", |path| verb(&request.method, path, &query));
    check_timeout(&query, path, action)?;
    let user = authenticate(&api, &request)?;
    refuse_impersonation(&request)?;
    let Some(path) = path else { return outside_resources(api, user, query, request).await };
    let mutating = !matches!(action, "get" | "list" | "watch");
    let metered = api.clone();
    let (_in_flight, count) = metered.metrics.in_flight(mutating);
    if action != "watch" {
        check_load(&api, &user, mutating, count)?;
    }
    authorize(&api, &user, action, path)?;
    if path.malformed {
        return Err(Status::no_such_path());
    }
    let resource = match api.router.find(&path.group, &path.version, &path.resource) {
        Found::Resource(resource) => resource,
        Found::NoGroup => return Ok(Answer::text(404, "404 page not found\n")),
        Found::NoResource => return Err(Status::no_such_path()),
    };
    *labels = Some(labels_of(resource, path, action));
    check_scope(resource, path, action)?;
    let context = Context { method: request.method.clone(), headers: request.headers.clone(), api, user, query };
    if path.subresource.is_empty() {
        check_verb(&context.method, resource, path, action)?;
    }
    let limit = time_limit(&context);
    let outcome = tokio::time::timeout(limit, act(&context, resource, path, action, request)).await;
    with_deprecation(resource, outcome.unwrap_or_else(|_| Err(Status::timed_out())))
}

/// How long the request may take: what it asks for, at most what the server allows. A watch's stream has its own limit.
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
        write::PatchType::of(context.header(http::header::CONTENT_TYPE))?;
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

/// A time limit that cannot be read is refused, unless the request has no end of its own.
fn check_timeout(query: &Query, path: Option<&ResourcePath>, action: &str) -> Result<(), Status> {
    let subresource = path.map_or("", |path| path.subresource.as_str());
    let timeout = query.get("timeout");
    if timeout.is_empty()
        || action == "watch"
        || matches!(subresource, "attach" | "exec" | "proxy" | "log" | "portforward")
    {
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

fn authenticate(api: &Api, request: &Request) -> Result<Arc<UserInfo>, Status> {
    let authorization = request.headers.get(http::header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let credentials =
        Credentials { authorization, client_certs: &request.client_certs, cert_cache: request.cert_cache.as_deref() };
    api.authenticator.authenticate(credentials, SystemTime::now()).map_err(|_| Status::unauthorized())
}

/// Requests beyond the limits are turned away; the administrator's never are.
fn check_load(api: &Api, user: &UserInfo, mutating: bool, count: i64) -> Result<(), Status> {
    let limit = if mutating { api.settings.max_mutating_in_flight } else { api.settings.max_read_only_in_flight };
    if limit <= 0 || count <= limit || user.in_group(pintle_auth::groups::MASTERS) {
        return Ok(());
    }
    Err(Status::new(429, "TooManyRequests", "Too many requests, please try again later.")
        .with_details(Details { retry_after_seconds: 1, ..Details::default() }))
}

fn authorize(api: &Api, user: &UserInfo, action: &str, path: &ResourcePath) -> Result<(), Status> {
    let attributes = Attributes {
        user,
        verb: action,
        is_resource: true,
        api_group: &path.group,
        api_version: &path.version,
        resource: &path.resource,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name: &path.name,
        path: "",
    };
    decide(api, &attributes)
}

fn decide(api: &Api, attributes: &Attributes<'_>) -> Result<(), Status> {
    let decision = api.authorizer.authorize(attributes);
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
) -> Result<Answer, Status> {
    let verb = request.method.as_str().to_ascii_lowercase();
    decide(&api, &Attributes::non_resource(&user, &verb, &request.path))?;
    let path = request.path.as_str();
    if let Some(answer) = health::serve(&api, path, &query) {
        return Ok(answer);
    }
    if path == "/metrics" {
        let objects = api.router.resources().filter_map(|resource| {
            let storage = resource.storage.as_ref()?;
            let hub = resource.api_version() == storage.api_version;
            let cache = api.registry.cache.resource(storage.prefix).filter(|_| hub)?;
            Some((resource.qualified(), cache.state().objects.len()))
        });
        let mut objects: Vec<_> = objects.collect();
        objects.sort();
        return Ok(Answer::new(
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            api.metrics.render(objects.into_iter()),
        ));
    }
    documents::serve(&api, &request, &query)
}

fn labels_of(resource: &'static Resource, path: &ResourcePath, action: &'static str) -> Labels {
    let subresource = resource.subresource(&path.subresource).map_or("", |found| found.name);
    let scope = match (path.name.is_empty(), path.namespace.is_empty()) {
        (false, _) => "resource",
        (true, false) => "namespace",
        (true, true) => "cluster",
    };
    Labels {
        verb: action,
        group: resource.group,
        version: resource.version,
        resource: resource.plural,
        subresource,
        scope,
    }
}

fn check_verb(method: &Method, resource: &Resource, path: &ResourcePath, action: &str) -> Result<(), Status> {
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
