//! `serve()`: a request from path to response.
//!
//! A request goes in and a response comes out; nothing here knows about sockets. The registry changes objects; this crate
//! parses requests and encodes responses.

pub mod access;
mod apply;
pub mod audit;
pub mod body;
mod compress;
mod connection;
pub mod context;
pub mod decode;
pub mod delegation;
mod deprecation;
pub mod documents;
pub mod encoding;
mod error_responses;
mod exchange;
pub mod flow;
mod freshness;
pub mod handler;
pub mod health;
mod impersonation;
pub mod limits;
pub mod metrics;
mod non_resource;
mod observers;
pub mod patch;
pub mod peers;
pub mod query;
pub mod read;
mod redefined;
pub mod remove;
pub mod request;
pub mod response;
mod routes;
pub mod runtime_config;
mod scale;
pub mod scheme;
pub mod selectors;
mod sent;
pub mod serve;
mod steps;
pub mod subresource;
mod verbs;
pub mod watch;
pub mod write;

pub use body::Body;
pub use observers::httplog;
pub use request::{BodyFailure, LazyBody, Request, ResourcePath, Room, UnreadBody};
pub use sent::SentBody;

use delegation::AggregatedApis;
use documents::{DiscoveryCache, PublishedDocument};
use encoding::Format;
use flow::InFlightLimits;
use handler::Handlers;
use health::Health;
use metrics::Metrics;
use peers::{PeerDiscovery, Peers};
use pintle_audit::Auditor;
use pintle_auth::{AuthorizerUnion, Impersonator, RequestAuthenticator};
use pintle_discovery::version::EffectiveVersion;
use pintle_meta::gates;
use pintle_metrics::AllowedLabels;
use pintle_proxy::backend::Connector;
use pintle_registry::Registry;
use pintle_spans::Tracer;
use scheme::Scheme;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Limits and addresses that the flags set.
#[derive(Clone, Debug)]
pub struct Settings {
    pub max_mutating_in_flight: i64,
    pub max_read_only_in_flight: i64,
    /// How many connections to kubelets and other backends there may be at a time, of all users.
    pub max_streams: u64,
    /// How many watches there may be at a time, of all users.
    pub max_watches: u64,
    /// How many bytes they may hold of what was asked for with them.
    pub max_watch_bytes: u64,
    /// The longest time a request may take that is no watch.
    pub request_timeout: Duration,
    /// The shortest time a watch without a timeout is kept open.
    pub min_request_timeout_seconds: u64,
    /// How many objects of a collection are deleted at a time.
    pub delete_collection_workers: usize,
    /// `host:port`, as shown by `/api`.
    pub server_address: String,
    /// The program's flags for `/flagz`; `None` if there are none.
    pub flags: Option<BTreeMap<String, String>>,
    /// The allowed values of metric labels.
    pub metric_labels: Arc<AllowedLabels>,
    /// The release that the server behaves as.
    pub version: EffectiveVersion,
    /// When the process began, in seconds since 1970.
    pub started_unix: i64,
    /// Long-running subresources: exempt from the request timeout and the limits of requests in flight.
    pub long_running_subresources: &'static [&'static str],
    /// Whether requests get seats by priority and fairness; if not, by the two limits above.
    pub priority_and_fairness: bool,
}

impl Settings {
    /// How many requests of a kind are worked on at a time; 0 is no limit.
    pub fn in_flight_limit(&self, mutating: bool) -> i64 {
        if mutating { self.max_mutating_in_flight } else { self.max_read_only_in_flight }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_mutating_in_flight: limits::MUTATING_REQUESTS_IN_FLIGHT,
            max_read_only_in_flight: limits::READ_ONLY_REQUESTS_IN_FLIGHT,
            max_streams: limits::STREAMS,
            max_watches: limits::WATCHES,
            max_watch_bytes: limits::WATCH_BYTES,
            request_timeout: limits::REQUEST_TIMEOUT,
            min_request_timeout_seconds: limits::MIN_WATCH_SECONDS,
            delete_collection_workers: 1,
            server_address: "127.0.0.1:6443".into(),
            flags: None,
            metric_labels: Arc::default(),
            version: EffectiveVersion::default(),
            started_unix: 0,
            long_running_subresources: &[],
            priority_and_fairness: true,
        }
    }
}

/// The state that serves requests.
pub struct Api {
    pub registry: Arc<Registry>,
    pub authenticator: RequestAuthenticator,
    pub authorizer: AuthorizerUnion,
    pub impersonator: Impersonator,
    /// Documents that others publish here.
    pub published: Vec<PublishedDocument>,
    pub documents: DiscoveryCache,
    pub health: Health,
    pub metrics: Metrics,
    pub flow: Arc<InFlightLimits>,
    pub settings: Settings,
    /// How other servers are reached.
    pub connector: Arc<dyn Connector>,
    /// The handlers of subresources that act, and of resources that store nothing.
    pub handlers: Handlers,
    pub scheme: Scheme,
    /// The receiver of audit events; `None` if nothing is audited.
    pub auditor: Option<Arc<Auditor>>,
    /// Where spans of requests go; `None` if nothing is traced.
    pub tracer: Option<Arc<Tracer>>,
    /// What is served elsewhere.
    pub aggregated: Box<dyn AggregatedApis>,
    /// Other servers over the same store that requests may be passed on to.
    pub peers: Option<Arc<dyn Peers>>,
    pub peer_discovery: Arc<PeerDiscovery>,
}

impl Api {
    /// The media types of objects, in requests and responses.
    pub(crate) fn formats(&self) -> &'static [Format] {
        match self.registry.environment.gates().is_on(&gates::CBOR_SERVING_AND_STORAGE) {
            true => encoding::FORMATS,
            false => encoding::GENERAL,
        }
    }

    /// The timeout of a watch that specifies none: the minimum and up to as much again, at random.
    pub(crate) fn default_watch_seconds(&self) -> u64 {
        let mut random = [0u8; 2];
        self.registry.environment.random(&mut random);
        let minimum = self.settings.min_request_timeout_seconds;
        minimum + minimum * u64::from(u16::from_le_bytes(random)) / u64::from(u16::MAX)
    }
}

/// The API, shared by all connections.
pub type SharedApi = Arc<Api>;
