//! `serve()`: the steps of a request in their order. A reader learns the server from this page.

use crate::body::Body;
use crate::metrics::Labels;
use crate::negotiation::{Wanted, negotiate};
use crate::query::Query;
use crate::request::{Request, ResourcePath, parse_path, verb};
use crate::router::Found;
use crate::{Api, SharedApi, documents, health, read, remove, represent, subresource, write};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Method, Response, StatusCode};
use pintle_auth::{Attributes, Credentials, UserInfo};
use pintle_kinds::resource::{Resource, Verbs};
use pintle_registry::{Details, Requester, Status};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

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
}

/// An answer before it is put on the wire.
pub struct Answer {
    pub code: u16,
    pub content_type: String,
    pub body: Body,
    pub warnings: Vec<String>,
    pub headers: Vec<(&'static str, String)>,
}

impl Answer {
    pub fn new(code: u16, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Answer { code, content_type: content_type.into(), body: Body::Full(body.into()), warnings: Vec::new(), headers: Vec::new() }
    }

    pub fn text(code: u16, text: impl Into<String>) -> Self {
        Answer::new(code, "text/plain; charset=utf-8", text.into().into_bytes())
    }
}

/// Answers a request.
pub async fn serve(api: SharedApi, request: Request) -> Response<Body> {
    let started = Instant::now();
    let query = Query::parse(&request.query);
    let path = parse_path(&request.path);
    let agent = request.header(http::header::USER_AGENT).to_owned();
    let accept = request.header(http::header::ACCEPT).to_owned();
    let accepts_gzip = request.header(http::header::ACCEPT_ENCODING).contains("gzip");
    let is_head = request.method == Method::HEAD;
    let wanted = negotiate(&accept, &agent, &query).unwrap_or(Wanted { pretty: crate::negotiation::pretty(&query, &agent), ..Wanted::JSON });
    let mut labels = None;
    let (api_for_steps, query_for_steps) = (api.clone(), query.clone());
    let outcome = steps(api_for_steps, request, query_for_steps, path.as_ref(), &mut labels).await;
    let answer = outcome.unwrap_or_else(|status| refusal(&status, wanted));
    if let Some(labels) = labels {
        api.metrics.request(labels, answer.code, query.get("dryRun") == "All", started.elapsed());
    }
    respond(answer, accepts_gzip, is_head).await
}

/// authenticate → flow control → authorize → negotiate → read, watch or write.
async fn steps(
    api: SharedApi,
    request: Request,
    query: Query,
    path: Option<&ResourcePath>,
    labels: &mut Option<Labels>,
) -> Result<Answer, Status> {
    let user = authenticate(&api, &request)?;
    let Some(path) = path else { return outside_resources(api, user, query, request).await };
    let action = verb(&request.method, path, &query);
    let mutating = !matches!(action, "get" | "list" | "watch");
    let (_in_flight, count) = api.metrics.in_flight(mutating);
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
    if resource.namespaced && path.namespace.is_empty() && (!path.name.is_empty() || !matches!(action, "list" | "watch" | "create")) {
        return Err(if path.name.is_empty() { Status::method_not_allowed() } else { Status::no_such_path() });
    }
    let context = Context { method: request.method.clone(), headers: request.headers.clone(), api: api.clone(), user, query };
    if !path.subresource.is_empty() {
        return subresource::serve(&context, resource, path, request).await;
    }
    check_verb(resource, path, action)?;
    if resource.storage.is_none() {
        return crate::review::serve(&context, resource, path, request).await;
    }
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = api.registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    let wanted = negotiate(context.header(http::header::ACCEPT), context.header(http::header::USER_AGENT), &context.query)?;
    let mut answer = match action {
        "get" => read::get(&context, &target, wanted)?,
        "list" | "watch" => read::list_or_watch(&context, target, path, wanted)?,
        "create" => write::create(&context, &target, wanted, request).await?,
        "update" => write::update(&context, &target, wanted, request, None).await?,
        "patch" => write::patch(&context, &target, wanted, request, None).await?,
        "delete" => remove::delete(&context, &target, wanted, request).await?,
        "deletecollection" => remove::delete_collection(&context, &target, wanted, request).await?,
        _ => return Err(Status::method_not_allowed()),
    };
    if !resource.deprecation.is_empty() {
        answer.warnings.insert(0, resource.deprecation.to_owned());
    }
    Ok(answer)
}

fn authenticate(api: &Api, request: &Request) -> Result<Arc<UserInfo>, Status> {
    let authorization = request.headers.get(http::header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let credentials = Credentials {
        authorization,
        client_certs: &request.client_certs,
        cert_cache: request.cert_cache.as_deref(),
    };
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
async fn outside_resources(api: SharedApi, user: Arc<UserInfo>, query: Query, request: Request) -> Result<Answer, Status> {
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
        return Ok(Answer::new(200, "text/plain; version=0.0.4; charset=utf-8", api.metrics.render(objects.into_iter())));
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
    Labels { verb: action, group: resource.group, version: resource.version, resource: resource.plural, subresource, scope }
}

fn check_verb(resource: &Resource, path: &ResourcePath, action: &str) -> Result<(), Status> {
    let verb = match action {
        "create" if path.name.is_empty() => Verbs::CREATE,
        "get" => Verbs::GET,
        "list" => Verbs::LIST,
        "watch" if !resource.verbs.contains(Verbs::WATCH) && resource.verbs.contains(Verbs::LIST) => {
            let message = format!("watch is not supported on resources of kind {:?}", resource.plural);
            return Err(Status::new(405, "MethodNotAllowed", message).with_details(Details {
                kind: resource.plural.into(),
                group: resource.group.into(),
                ..Details::default()
            }));
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

/// A Status as an answer, in the form that was negotiated.
pub fn refusal(status: &Status, wanted: Wanted) -> Answer {
    let wanted = Wanted { shape: crate::negotiation::Shape::Object, ..wanted };
    let schema = <pintle_types::meta::v1::Status as pintle_schema::ApiType>::schema();
    let body = represent::encode(&status.to_value(), schema, wanted);
    let mut answer = Answer::new(status.code, wanted.format.content_type(), body);
    answer.warnings = status.warnings.clone();
    let retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry_after > 0 {
        answer.headers.push(("retry-after", retry_after.to_string()));
    }
    answer
}

/// Answers at least this large are compressed when the client takes it; smaller ones cost more than they save.
const GZIP_FROM: u64 = 128 << 10;

async fn respond(answer: Answer, accepts_gzip: bool, is_head: bool) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let no_body = answer.code == 304;
    if let (Ok(content_type), false) = (HeaderValue::try_from(&answer.content_type), no_body) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    for warning in &answer.warnings {
        if let Ok(value) = HeaderValue::try_from(format!("299 - {}", quoted(warning))) {
            headers.append(WARNING, value);
        }
    }
    let size = http_body::Body::size_hint(&answer.body).exact().unwrap_or(0);
    let body = match answer.body {
        body if !body.is_long_running() && accepts_gzip && size > GZIP_FROM && !headers.contains_key("content-encoding") => {
            headers.insert("content-encoding", HeaderValue::from_static("gzip"));
            Body::Full(gzip(&body.collect().await))
        }
        body => body,
    };
    let _ = RETRY_AFTER;
    if !is_head {
        *response.body_mut() = body;
    }
    response
}

/// A warning's text as a quoted string of a header.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn gzip(bytes: &[u8]) -> Bytes {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(bytes.len() / 8), flate2::Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().into()
}
