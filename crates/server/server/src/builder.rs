//! `Builder`: what a server consists of before its store is read. Guarantees that nothing is read, written or served
//! before `open`. Must never have a default that grants access.

use crate::cors::CorsConfig;
use pintle_audit::Auditor;
use pintle_auth::authentication::CurrentAnonymousAccess;
use pintle_auth::{Authenticator, AuthorizerUnion, NamedAuthorizer, Str};
use pintle_discovery::KnownVersions;
use pintle_endpoints::Settings;
use pintle_endpoints::delegation::AggregatedApis;
use pintle_endpoints::documents::PublishedDocument;
use pintle_endpoints::handler::Handlers;
use pintle_endpoints::health::Health;
use pintle_endpoints::metrics::Metrics;
use pintle_endpoints::peers::Peers;
use pintle_endpoints::scheme::KnownKinds;
use pintle_http::{ServerConfig, TlsConfig};
use pintle_meta::gates;
use pintle_proxy::backend::Connector;
use pintle_registry::{AdmissionChain, AdmissionPlugin, Allocator, EtcdCodec};
use pintle_resource::{Group, Resource, Resources};
use pintle_schema::gates::{FeatureGates, GateError};
use pintle_schema::{Gate, GateSet};
use pintle_spans::Tracer;
use pintle_storage::{Store, StoreError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Gates(#[from] GateError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A socket that accepts connections.
pub struct Listener {
    pub socket: TcpListener,
    /// `None` is plain HTTP.
    pub tls: Option<Arc<TlsConfig>>,
}

/// Whether a resource is served.
type IsServed = Box<dyn Fn(&Resource) -> bool + Send + Sync>;

/// How a server stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShutdownOptions {
    /// How long requests are still accepted while the server already reports that it is not ready.
    pub delay: Duration,
    /// Whether later requests get 429 with Retry-After until those in flight are done.
    pub send_retry_after: bool,
}

/// How the store is used.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Timeouts of a remote store for the liveness and the readiness check.
    pub timeouts: (Duration, Duration),
    /// How often the store is compacted, which determines how long continue tokens last; `None`: they last as long as
    /// history does.
    pub compaction_interval: Option<Duration>,
    /// Whether a list at version 0 is never divided into pages, as where it comes from a cache.
    pub watch_cache: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { timeouts: (Duration::MAX, Duration::MAX), compaction_interval: None, watch_cache: true }
    }
}

/// The parts of a server whose store is not read yet: [`open`](Builder::open) reads it.
pub struct Builder {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) store_options: StoreOptions,
    pub(crate) resources: Arc<Resources>,
    pub(crate) groups: Vec<Group>,
    pub(crate) serves: Vec<IsServed>,
    pub(crate) kinds: Box<dyn KnownKinds>,
    pub(crate) known_versions: KnownVersions,
    pub(crate) published: Vec<PublishedDocument>,
    pub(crate) authenticators: Vec<Arc<dyn Authenticator>>,
    pub(crate) audiences: Vec<Str>,
    pub(crate) anonymous: Arc<CurrentAnonymousAccess>,
    pub(crate) authorizers: Vec<NamedAuthorizer>,
    pub(crate) authorizer: AuthorizerUnion,
    pub(crate) admission: AdmissionChain,
    pub(crate) admission_plugins: Vec<Arc<dyn AdmissionPlugin>>,
    pub(crate) allocators: Vec<Arc<dyn Allocator>>,
    pub(crate) handlers: Handlers,
    pub(crate) aggregated: Box<dyn AggregatedApis>,
    pub(crate) peers: Option<Arc<dyn Peers>>,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    pub(crate) auditor: Option<Arc<Auditor>>,
    pub(crate) tracer: Option<Arc<Tracer>>,
    pub(crate) gates: FeatureGates,
    pub(crate) settings: Settings,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) connections: ServerConfig,
    pub(crate) cors: CorsConfig,
    pub(crate) shutdown: ShutdownOptions,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
}

impl Builder {
    /// A server over a store, without groups, authenticators and authorizers. Its feature gates are those of every API
    /// server, with the defaults of the current release.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let codec = EtcdCodec::of(&*store).map(|codec| codec.resources.clone());
        Builder {
            store,
            store_options: StoreOptions::default(),
            resources: codec.unwrap_or_default(),
            groups: Vec::new(),
            serves: Vec::new(),
            kinds: Box::new(()),
            known_versions: KnownVersions::default(),
            published: Vec::new(),
            authenticators: Vec::new(),
            audiences: Vec::new(),
            anonymous: Arc::default(),
            authorizers: Vec::new(),
            authorizer: AuthorizerUnion::default(),
            admission: AdmissionChain::default(),
            admission_plugins: Vec::new(),
            allocators: Vec::new(),
            handlers: Handlers::default(),
            aggregated: Box::new(()),
            peers: None,
            connector: None,
            auditor: None,
            tracer: None,
            gates: FeatureGates::of(gates::ALL.iter().copied()),
            settings: Settings::default(),
            listeners: Vec::new(),
            connections: ServerConfig::default(),
            cors: CorsConfig::default(),
            shutdown: ShutdownOptions::default(),
            health: Health::default(),
            metrics: Metrics::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// How the store is used.
    pub fn store_options(&mut self) -> &mut StoreOptions {
        &mut self.store_options
    }

    /// All resources of the server. The groups are among them once it is opened.
    pub fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// Adds a group after those that there are.
    pub fn add_group(&mut self, group: Group) {
        self.groups.push(group);
    }

    /// Adds groups before those that there are.
    pub fn prepend_groups(&mut self, groups: impl IntoIterator<Item = Group>) {
        self.groups.splice(0..0, groups);
    }

    /// Has only those resources served that `is_served` accepts, as well as every earlier condition; the others are
    /// only stored.
    pub fn serve_only(&mut self, is_served: impl Fn(&Resource) -> bool + Send + Sync + 'static) {
        self.serves.push(Box::new(is_served));
    }

    /// Sets the known kinds besides those of resources.
    pub fn set_kinds(&mut self, kinds: impl KnownKinds + 'static) {
        self.kinds = Box::new(kinds);
    }

    /// Sets the group versions that OpenAPI documents list for the kinds of every group.
    pub fn set_known_versions(&mut self, versions: KnownVersions) {
        self.known_versions = versions;
    }

    /// Adds an authenticator, which is called after those that there are.
    pub fn add_authenticator(&mut self, authenticator: Arc<dyn Authenticator>) {
        self.authenticators.push(authenticator);
    }

    /// Where requests without a credential go on as those of the anonymous user.
    pub fn anonymous(&self) -> &Arc<CurrentAnonymousAccess> {
        &self.anonymous
    }

    /// Sets where requests without a credential go on as those of the anonymous user; nowhere by default.
    pub fn set_anonymous(&mut self, anonymous: Arc<CurrentAnonymousAccess>) {
        self.anonymous = anonymous;
    }

    /// Adds an authorizer, which is called after those that there are. Without one only `system:masters` may do
    /// anything.
    pub fn add_authorizer(&mut self, authorizer: NamedAuthorizer) {
        self.authorizers.push(authorizer);
    }

    /// Adds authorizers, which are called before those that there are.
    pub fn prepend_authorizers(&mut self, authorizers: impl IntoIterator<Item = NamedAuthorizer>) {
        self.authorizers.splice(0..0, authorizers);
    }

    /// The union of all authorizers. It has its members once the server is opened; parts that ask it then may keep a
    /// clone.
    pub fn authorizer(&self) -> &AuthorizerUnion {
        &self.authorizer
    }

    /// Sets the checks of every write, and the plugins that are called before those added by
    /// [`add_admission_plugin`](Builder::add_admission_plugin).
    pub fn set_admission(&mut self, chain: AdmissionChain) {
        self.admission = chain;
    }

    /// Adds an admission plugin, which is called for every write after those that there are.
    pub fn add_admission_plugin(&mut self, plugin: Arc<dyn AdmissionPlugin>) {
        self.admission_plugins.push(plugin);
    }

    /// Adds an allocator of unique values, such as addresses and ports.
    pub fn add_allocator(&mut self, allocator: Arc<dyn Allocator>) {
        self.allocators.push(allocator);
    }

    /// Sets the groups that other servers serve.
    pub fn set_aggregated(&mut self, aggregated: impl AggregatedApis + 'static) {
        self.aggregated = Box::new(aggregated);
    }

    /// Sets the other servers over the same store that requests may be passed on to.
    pub fn set_peers(&mut self, peers: Arc<dyn Peers>) {
        self.peers = Some(peers);
    }

    /// Sets how kubelets and proxied services are reached; without a client certificate by default.
    pub fn set_connector(&mut self, connector: Arc<dyn Connector>) {
        self.connector = Some(connector);
    }

    /// Sets the receiver of audit events; nothing is audited by default.
    pub fn set_auditor(&mut self, auditor: Option<Arc<Auditor>>) {
        self.auditor = auditor;
    }

    /// Sets where spans of requests go; nothing is traced by default.
    pub fn set_tracer(&mut self, tracer: Arc<Tracer>) {
        self.tracer = Some(tracer);
    }

    /// Sets a feature gate. The server only opens if the release that it behaves as can have the value.
    pub fn feature_gate(&mut self, gate: &'static Gate, value: bool) -> &mut Self {
        self.gates.set(gate, value);
        self
    }

    /// The feature gates that the server has, and the values of those that were set. Gates of groups of one's own can
    /// be added.
    pub fn feature_gates(&mut self) -> &mut FeatureGates {
        &mut self.gates
    }

    /// Which feature gates are on.
    ///
    /// # Errors
    /// The release that the server behaves as cannot have these values.
    pub fn gate_set(&self) -> Result<GateSet, GateError> {
        self.gates.resolve(self.settings.version)
    }

    /// The limits and properties of the API.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Listens on a socket, too.
    pub fn listen(&mut self, socket: TcpListener, tls: Option<Arc<TlsConfig>>) {
        self.listeners.push(Listener { socket, tls });
    }

    /// Listens on a socket before those that there are: its address is the server's.
    pub fn listen_first(&mut self, socket: TcpListener, tls: Option<Arc<TlsConfig>>) {
        self.listeners.insert(0, Listener { socket, tls });
    }

    /// The address of the first listener.
    ///
    /// # Errors
    /// There is no listener, or its socket is closed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "the server has no listener");
        self.listeners.first().ok_or_else(none)?.socket.local_addr()
    }

    /// Limits of connections.
    pub fn connections(&mut self) -> &mut ServerConfig {
        &mut self.connections
    }

    /// The headers for browsers.
    pub fn cors(&mut self) -> &mut CorsConfig {
        &mut self.cors
    }

    /// How the server stops.
    pub fn shutdown(&mut self) -> &mut ShutdownOptions {
        &mut self.shutdown
    }

    /// The health checks.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
