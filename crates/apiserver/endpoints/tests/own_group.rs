//! An API server with one group of its own and no built-in kind: resources, handlers, discovery and OpenAPI.
//! Guarantees that the generic server serves a group that is installed as anybody would install it.
//! Must never use a crate of the built-in groups.
use pintle_schema::gates::{GateSet, NO_GATES};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, HeaderValue, Method};
use pintle_auth::authentication::{AnonymousAccess, CurrentAnonymousAccess};
use pintle_auth::authorization::AlwaysAllow;
use pintle_auth::{Authorizer, AuthorizerUnion, Impersonator, NamedAuthorizer, RequestAuthenticator};
use pintle_cache::Cache;
use pintle_codec::{Strictness, json};
use pintle_discovery::ServerDescription;
use pintle_endpoints::documents::DiscoveryCache;
use pintle_endpoints::flow::InFlightLimits;
use pintle_endpoints::handler::{Call, Handler, Handlers};
use pintle_endpoints::health::Health;
use pintle_endpoints::metrics::Metrics;
use pintle_endpoints::request::{BodyFailure, Room, UnreadBody};
use pintle_endpoints::response::ApiResponse;
use pintle_endpoints::scheme::Scheme;
use pintle_endpoints::subresource::body;
use pintle_endpoints::{Api, Request, SentBody, Settings, SharedApi, serve};
use pintle_meta::autoscaling::v1::Scale;
use pintle_meta::v1::{ObjectMeta, TypeMeta};
use pintle_proxy::backend::{BackendResponse, ByteStream, Connector, Destination, Unreachable};
use pintle_registry::{AdmissionChain, Environment, NamespaceCheck, Registry, Result, Status};
use pintle_resource::{
    Action, GENERAL, Resource, Resources, STATUS, ScalePaths, Storage, Strategy, Subresource, Verbs,
};
use pintle_schema::{ApiType, ResourceNames, Value, value};
use pintle_storage::{MemoryStore, Store};
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

/// What a frobber should be.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FrobberSpec {
    /// How high it is.
    #[k8s(proto = 1, optional, default = 1, minimum = 1)]
    pub height: i32,
    /// How many there are.
    #[k8s(proto = 2, optional)]
    pub replicas: i32,
}

/// What a frobber is.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FrobberStatus {
    /// How far it has come.
    #[k8s(proto = 1, optional)]
    pub phase: String,
}

/// Something to frob.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "fun.example.com", version = "v6", plural = "frobbers", namespaced))]
pub struct Frobber {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// What it should be.
    #[k8s(proto = 2, optional)]
    pub spec: FrobberSpec,
    /// What it is.
    #[k8s(proto = 3, optional)]
    pub status: FrobberStatus,
}

/// Answers a POST to `frobbers/frob` with the object that it is about, and its own greeting.
struct Frob;

impl Handler for Frob {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        async move {
            let target = call.target()?;
            let (posted, ..) = body(call.context, call.subresource()?, &[], request).await?;
            let stored = target.get()?;
            let text = format!("{} of {}", posted.str_at(&["metadata", "name"]), stored.name());
            Ok(ApiResponse::text(201, text))
        }
        .boxed()
    }
}

/// Answers for a resource that stores nothing.
struct Census;

impl Handler for Census {
    fn handle<'a>(&'a self, call: Call<'a>, _: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        let text = format!("census by {}", call.context.user().name);
        async { Ok(ApiResponse::text(200, text)) }.boxed()
    }
}

struct Clock;

impl Environment for Clock {
    fn now_unix(&self) -> i64 {
        1_700_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

/// There is nobody to connect to.
struct Nobody;

impl Connector for Nobody {
    fn send(
        &self,
        _: Destination,
        _: http::Request<ByteStream>,
    ) -> BoxFuture<'_, std::result::Result<BackendResponse, Unreachable>> {
        async { Err(Unreachable("nobody is there".to_owned())) }.boxed()
    }
}

const GROUP: &str = "fun.example.com";

fn frobbers() -> Resource {
    Resource {
        storage: Some(Storage::of::<Frobber>().under("/registry/fun.example.com/frobbers/")),
        subresources: vec![
            Subresource::status::<Frobber>(&STATUS),
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::create::<Frobber>("frob", Action::Handler).of_group(GROUP, "v6"),
            Subresource::create::<Frobber>("lost", Action::Handler).of_group(GROUP, "v6"),
        ],
        ..Resource::of::<Frobber>()
    }
}

static SPACE: Strategy = Strategy { is_namespace: true, ..GENERAL };

/// The group's own namespaces.
fn spaces() -> Resource {
    Resource {
        storage: Some(Storage::named::<Frobber>("fun.example.com/v6", "Space", "/registry/fun.example.com/spaces/")),
        strategy: &SPACE,
        ..Resource::named::<Frobber>(ResourceNames::cluster(GROUP, "v6", "spaces", "space", "Space"))
    }
}

fn censuses() -> Resource {
    Resource {
        verbs: Verbs::LIST,
        ..Resource::named::<Frobber>(ResourceNames::cluster(GROUP, "v6", "censuses", "census", "Census"))
    }
}

/// A server of the group alone.
fn server() -> SharedApi {
    server_with(Settings::default())
}

fn server_with(settings: Settings) -> SharedApi {
    let store = Arc::new(MemoryStore::new());
    let cache = Cache::new([]);
    store.start(Box::new(cache.writer())).expect("the store starts");
    let resources = Arc::new(Resources::default());
    let admission = AdmissionChain { namespace_check: NamespaceCheck::Active, ..AdmissionChain::default() };
    let registry = Registry::new(cache, store, Box::new(Clock), admission, resources.clone());
    registry.install(Arc::new(frobbers()));
    registry.install(Arc::new(censuses()));
    let handlers = Handlers::default();
    handlers.register(GROUP, "frobbers", "frob", Arc::new(Frob));
    handlers.register(GROUP, "censuses", "", Arc::new(Census));
    let always: Arc<dyn Authorizer> = Arc::new(AlwaysAllow);
    Arc::new(Api {
        registry: Arc::new(registry),
        authenticator: RequestAuthenticator {
            anonymous: CurrentAnonymousAccess::new(AnonymousAccess::everywhere(true)),
            ..RequestAuthenticator::default()
        },
        authorizer: AuthorizerUnion::new(vec![NamedAuthorizer::new("AlwaysAllow", "alwaysallow", always)]),
        impersonator: Impersonator::default(),
        published: Vec::new(),
        documents: DiscoveryCache::new(resources.clone(), ServerDescription::default()),
        health: Health::default(),
        metrics: Metrics::default(),
        flow: InFlightLimits::new(&settings),
        settings,
        connector: Arc::new(Nobody),
        handlers,
        scheme: Scheme::new(resources, Box::new(())),
        auditor: None,
        tracer: None,
        aggregated: Box::new(()),
        peers: None,
        peer_discovery: Arc::default(),
    })
}

struct Whole(Bytes);

impl UnreadBody for Whole {
    fn whole(self: Box<Self>, _: Room) -> BoxFuture<'static, std::result::Result<Bytes, BodyFailure>> {
        async move { Ok(self.0) }.boxed()
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        stream::once(async move { Ok(self.0) }).boxed()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A body that never comes.
struct Never;

impl UnreadBody for Never {
    fn whole(self: Box<Self>, _: Room) -> BoxFuture<'static, std::result::Result<Bytes, BodyFailure>> {
        pending().boxed()
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        stream::pending().boxed()
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// Code and body of an answer.
async fn call(api: &SharedApi, method: Method, path: &str, sent: Option<Value>) -> (u16, String) {
    let (code, body) = ask(api, method, path, "", sent).await;
    (code, text(body).await)
}

/// Code and unread body of an answer.
async fn ask(api: &SharedApi, method: Method, path: &str, query: &str, sent: Option<Value>) -> (u16, SentBody) {
    let body = Whole(sent.map(|sent| json::to_vec(&sent)).unwrap_or_default().into());
    let answer = serve::serve(api.clone(), request(method, path, query, Box::new(body))).await;
    (answer.status().as_u16(), answer.into_body())
}

fn request(method: Method, path: &str, query: &str, body: Box<dyn UnreadBody>) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    Request { method, path: path.to_owned(), query: query.to_owned(), headers, body, ..Request::default() }
}

/// The next piece of a body; `None` at its end.
async fn piece(body: &mut SentBody) -> Option<Bytes> {
    let mut body = Pin::new(body);
    let frame = poll_fn(|context| http_body::Body::poll_frame(body.as_mut(), context)).await?;
    frame.expect("a piece").into_data().ok()
}

async fn text(mut body: SentBody) -> String {
    let mut text = Vec::new();
    while let Some(piece) = piece(&mut body).await {
        text.extend_from_slice(&piece);
    }
    String::from_utf8(text).expect("text")
}

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value
}

const COLLECTION: &str = "/apis/fun.example.com/v6/namespaces/default/frobbers";

fn frobber(height: i64) -> Value {
    value!({"apiVersion": "fun.example.com/v6", "kind": "Frobber", "metadata": {"name": "a"}, "spec": {"height": height}})
}

#[tokio::test]
async fn objects_of_the_group_are_created_read_scaled_and_deleted() {
    let api = server();
    let empty = value!({"apiVersion": "fun.example.com/v6", "kind": "Frobber", "metadata": {"name": "a"}});
    let (code, created) = call(&api, Method::POST, COLLECTION, Some(empty)).await;
    assert_eq!((code, parsed(&created).at(&["spec", "height"]).and_then(Value::as_i64)), (201, Some(1)), "{created}");
    let (code, refused) = call(&api, Method::PUT, &format!("{COLLECTION}/a"), Some(frobber(-1))).await;
    assert_eq!(code, 422, "{refused}");
    let (code, updated) = call(&api, Method::PUT, &format!("{COLLECTION}/a"), Some(frobber(3))).await;
    assert_eq!((code, parsed(&updated).at(&["spec", "height"]).and_then(Value::as_i64)), (200, Some(3)), "{updated}");
    let mut done = frobber(9);
    done.set_at(&["status", "phase"], "Done");
    let (code, updated) = call(&api, Method::PUT, &format!("{COLLECTION}/a/status"), Some(done)).await;
    let updated = parsed(&updated);
    assert_eq!((code, updated.str_at(&["status", "phase"])), (200, "Done"));
    assert_eq!(updated.at(&["spec", "height"]).and_then(Value::as_i64), Some(3));
    let scale = value!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"replicas": 5}
    });
    let (code, scaled) = call(&api, Method::PUT, &format!("{COLLECTION}/a/scale"), Some(scale)).await;
    assert_eq!((code, parsed(&scaled).at(&["spec", "replicas"]).and_then(Value::as_i64)), (200, Some(5)), "{scaled}");
    // The name in the body is checked before the object is looked for.
    for (name, code) in [("a", 400), ("missing", 404)] {
        let scale = value!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": (name)}});
        assert_eq!(call(&api, Method::PUT, &format!("{COLLECTION}/missing/scale"), Some(scale)).await.0, code);
    }
    let (code, list) = call(&api, Method::GET, COLLECTION, None).await;
    let list = parsed(&list);
    let replicas = list.get("items").and_then(Value::as_list).map(|items| items[0].at(&["spec", "replicas"]).cloned());
    assert_eq!((code, replicas.flatten().as_ref().and_then(Value::as_i64)), (200, Some(5)));
    assert_eq!(call(&api, Method::DELETE, &format!("{COLLECTION}/a"), None).await.0, 200);
    assert_eq!(call(&api, Method::GET, &format!("{COLLECTION}/a"), None).await.0, 404);
}

#[tokio::test]
async fn handlers_answer_for_subresources_and_for_resources_that_store_nothing() {
    let api = server();
    let post = async |path: String| call(&api, Method::POST, &path, Some(frobber(1))).await;
    assert_eq!(post(COLLECTION.to_owned()).await.0, 201);
    assert_eq!(post(format!("{COLLECTION}/a/frob")).await, (201, "a of a".to_owned()));
    let (code, refused) = post(format!("{COLLECTION}/b/frob")).await;
    assert_eq!(code, 404, "{refused}");
    let census = "/apis/fun.example.com/v6/censuses";
    assert_eq!(call(&api, Method::GET, census, None).await, (200, "census by system:anonymous".to_owned()));
    // One that nobody registered a handler for is there, and takes no method.
    assert_eq!(post(format!("{COLLECTION}/a/lost")).await.0, 405);
    api.handlers.remove(GROUP, "frobbers");
    assert_eq!(post(format!("{COLLECTION}/a/frob")).await.0, 405);
}

#[tokio::test]
async fn the_documents_show_the_group_and_no_other() {
    let api = server();
    let (code, groups) = call(&api, Method::GET, "/apis", None).await;
    let groups = parsed(&groups);
    let names = groups.get("groups").and_then(Value::as_list).unwrap_or_default();
    assert_eq!((code, names.iter().map(|group| group.str_at(&["name"])).collect::<Vec<_>>()), (200, vec![GROUP]));
    let (code, resources) = call(&api, Method::GET, "/apis/fun.example.com/v6", None).await;
    assert_eq!(code, 200);
    for name in ["frobbers", "frobbers/status", "frobbers/scale", "frobbers/frob", "censuses"] {
        assert!(resources.contains(&format!("\"name\":\"{name}\"")), "{name}: {resources}");
    }
    let (code, openapi) = call(&api, Method::GET, "/openapi/v3/apis/fun.example.com/v6", None).await;
    assert!(code == 200 && openapi.contains("com.example.fun.v6.Frobber"), "{openapi}");
    let (code, refused) = call(&api, Method::GET, "/api/v1/pods", None).await;
    assert_eq!(code, 404, "{refused}");
    let wrong = value!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    let (code, refused) = call(&api, Method::POST, COLLECTION, Some(wrong)).await;
    assert!(code == 400 && refused.contains("no kind \\\"Pod\\\" is registered"), "{refused}");
    let (code, metrics) = call(&api, Method::GET, "/metrics", None).await;
    assert!(code == 200 && metrics.contains("resource=\"frobbers\"") && !metrics.contains("clusterip"), "{metrics}");
}

/// Errors of handlers are put into the form that the client accepts.
struct Refuse;

impl Handler for Refuse {
    fn handle<'a>(&'a self, call: Call<'a>, _: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        let refusal = Status::forbidden(call.resource, &call.path.name, "it is not the time");
        async { Err(refusal) }.boxed()
    }
}

#[tokio::test]
async fn errors_of_handlers_are_statuses() {
    let api = server();
    api.handlers.register(GROUP, "frobbers", "frob", Arc::new(Refuse));
    let (code, refused) = call(&api, Method::POST, &format!("{COLLECTION}/a/frob"), Some(frobber(1))).await;
    let refused = parsed(&refused);
    assert_eq!((code, refused.str_at(&["kind"]), refused.str_at(&["reason"])), (403, "Status", "Forbidden"));
}

#[tokio::test]
async fn a_group_may_bring_the_kind_that_namespaces_are() {
    let api = server();
    let install = |resource: Resource| api.registry.install(Arc::new(resource));
    let create = async || call(&api, Method::POST, COLLECTION, Some(frobber(1))).await;
    let remove = async || call(&api, Method::DELETE, &format!("{COLLECTION}/a"), None).await.0;
    // Where namespaces are no objects each of them exists.
    assert_eq!((create().await.0, remove().await), (201, 200));
    install(spaces());
    let (code, refused) = create().await;
    assert_eq!((code, parsed(&refused).str_at(&["message"])), (404, "spaces.fun.example.com \"default\" not found"));
    let space = value!({"apiVersion": "fun.example.com/v6", "kind": "Space", "metadata": {"name": "default"}});
    assert_eq!(call(&api, Method::POST, "/apis/fun.example.com/v6/spaces", Some(space)).await.0, 201);
    assert_eq!((create().await.0, remove().await), (201, 200));
    assert_eq!(call(&api, Method::DELETE, "/apis/fun.example.com/v6/spaces/default", None).await.0, 200);
    assert_eq!(create().await.0, 404);
    api.registry.uninstall(GROUP, "v6", "spaces");
    assert_eq!(create().await.0, 201);
}

/// Creates frobbers with so many bytes of annotations each.
async fn create_frobbers(api: &SharedApi, count: usize, bytes: usize) {
    for at in 0..count {
        let mut object = frobber(1);
        object.set_at(&["metadata", "name"], format!("f{at}"));
        object.set_at(&["metadata", "annotations", "a"], "x".repeat(bytes));
        assert_eq!(call(api, Method::POST, COLLECTION, Some(object)).await.0, 201);
    }
}

async fn watch(api: &SharedApi, query: &str) -> (u16, SentBody) {
    ask(api, Method::GET, COLLECTION, &format!("watch=true&{query}"), None).await
}

/// The sizes of the pieces in which a watch sends so many events.
async fn pieces(body: &mut SentBody, events: usize) -> Vec<usize> {
    let (mut seen, mut sizes) = (0, Vec::new());
    while seen < events {
        let piece = piece(body).await.expect("events");
        seen += piece.iter().filter(|byte| **byte == b'\n').count();
        sizes.push(piece.len());
    }
    assert_eq!(seen, events);
    sizes
}

#[tokio::test]
async fn a_watch_that_lags_is_sent_a_bounded_piece_at_a_time() {
    let api = server();
    create_frobbers(&api, 10, 100_000).await;
    // From the history, and from the current state.
    for query in ["resourceVersion=1", "resourceVersion=0"] {
        let (code, mut body) = watch(&api, query).await;
        assert_eq!(code, 200);
        let sizes = pieces(&mut body, 10).await;
        let largest = sizes.iter().max().copied().unwrap_or_default();
        assert!(largest < (64 << 10) + 101_000, "{query}: {largest}");
    }
    let api = server();
    create_frobbers(&api, 10, 1_000).await;
    let (_, mut body) = watch(&api, "resourceVersion=1").await;
    assert_eq!(pieces(&mut body, 10).await.len(), 1, "small events are joined");
}

#[tokio::test]
async fn watches_are_bounded_by_the_bytes_that_they_hold() {
    const SHARE: u64 = 60_000;
    let api = server_with(Settings { max_watch_bytes: 4 * SHARE, ..Settings::default() });
    create_frobbers(&api, 10, 1_000).await;
    let selector = |bytes: usize| format!("labelSelector={}", vec!["a"; bytes / 2].join(","));
    // As many as there is room for, and what became of the next.
    let open = async |query: &str| {
        let mut open = Vec::new();
        loop {
            match watch(&api, query).await {
                (200, body) => open.push(body),
                (code, body) => return (open, code, text(body).await),
            }
        }
    };
    let (ordinary, code, refused) = open("labelSelector=app%3Dweb").await;
    let each = SHARE / ordinary.len() as u64;
    assert!(code == 429 && (50..=600).contains(&each), "{code} {each}");
    assert!(refused.contains("Too many requests, please try again later."), "{refused}");
    // What ends gives back what it held.
    drop(ordinary);
    for (query, most) in [
        (selector(30_000), 2),
        (format!("labelSelector=a+in+({})", vec!["b"; 15_000].join(",")), 2),
        (format!("fieldSelector=metadata.name%3D{}", "n".repeat(30_000)), 2),
        (format!("other={}", "n".repeat(30_000)), 2),
    ] {
        let (open, code, _) = open(&query).await;
        assert!(code == 429 && open.len() <= most, "{} of {:.30}", open.len(), query);
    }
    // While there is no room, events are sent one by one.
    let (_, mut body) = watch(&api, "resourceVersion=1").await;
    let (_rest, _, _) = open("labelSelector=app%3Dweb").await;
    assert_eq!(pieces(&mut body, 10).await.len(), 10);
}

/// The value of a metric of frobbers, by what else its line has; `None` if there is no such line.
async fn metric(api: &SharedApi, name: &str, labels: &[&str]) -> Option<u64> {
    let (_, text) = call(api, Method::GET, "/metrics", None).await;
    let is_wanted = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
            && line.contains("resource=\"frobbers\"")
            && labels.iter().all(|label| line.contains(label))
    };
    text.lines().find(is_wanted)?.rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn a_request_is_counted_when_it_is_answered_and_its_bytes_when_they_are_sent() {
    let api = server();
    create_frobbers(&api, 2, 10).await;
    assert_eq!(metric(&api, "apiserver_request_total", &["verb=\"POST\"", "code=\"201\""]).await, Some(2));
    let (code, body) = ask(&api, Method::GET, COLLECTION, "", None).await;
    assert_eq!(metric(&api, "apiserver_request_total", &["verb=\"LIST\"", "code=\"200\""]).await, Some(1));
    assert_eq!(metric(&api, "apiserver_response_sizes_count", &["verb=\"LIST\""]).await, None, "nothing was sent");
    assert_eq!(api.flow.in_flight(false), 1, "it has its slot until it has been sent");
    let text = text(body).await;
    assert_eq!((code, api.flow.in_flight(false)), (200, 0));
    let sent = metric(&api, "apiserver_response_sizes_sum", &["verb=\"LIST\""]).await;
    assert_eq!(sent, Some(text.len() as u64));
}

#[tokio::test]
async fn a_watch_is_open_until_its_body_is_dropped() {
    let api = server();
    let (_, body) = watch(&api, "resourceVersion=0").await;
    let open = "apiserver_longrunning_requests";
    assert_eq!(metric(&api, open, &["verb=\"WATCH\""]).await, Some(1));
    assert_eq!(metric(&api, "apiserver_request_total", &["verb=\"WATCH\""]).await, None, "it has not ended");
    drop(body);
    assert_eq!(metric(&api, open, &["verb=\"WATCH\""]).await, Some(0));
    assert_eq!(metric(&api, "apiserver_request_total", &["verb=\"WATCH\"", "code=\"200\""]).await, Some(1));
}

#[tokio::test]
async fn a_request_that_is_dropped_before_it_is_answered_was_aborted() {
    let api = server();
    let waiting = serve::serve(api.clone(), request(Method::POST, COLLECTION, "", Box::new(Never)));
    assert!(Box::pin(waiting).now_or_never().is_none(), "it waits for its body");
    assert_eq!(metric(&api, "apiserver_request_aborts_total", &["verb=\"POST\""]).await, Some(1));
    assert_eq!(metric(&api, "apiserver_request_total", &["verb=\"POST\""]).await, None);
    api.flow.drained().await;
}
