//! `Builder`: from parts to a running server. Guarantees that no request is served before the store has been read. Must never
//! have a default that grants access.

use crate::backends::{KUBELET_TIMEOUT, SocketConnector};
use crate::cors::CorsConfig;
use crate::service::ApiService;
use crate::{System, critical_tasks, sources};
use pintle_audit::Auditor;
use pintle_auth::authentication::CurrentAnonymousAccess;
use pintle_auth::{
    Authenticator, AuthenticatorUnion, AuthorizerUnion, Impersonator, NamedAuthorizer, RequestAuthenticator, Str,
};
use pintle_cache::Cache;
use pintle_discovery::{KnownVersions, ServerDescription};
use pintle_endpoints::aggregated_discovery::AggregatedApis;
use pintle_endpoints::backend::Connector;
use pintle_endpoints::documents::{DiscoveryCache, PublishedDocument};
use pintle_endpoints::flow::InFlightLimits;
use pintle_endpoints::handler::Handlers;
use pintle_endpoints::health::Health;
use pintle_endpoints::metrics::{MeasuredStore, Metrics};
use pintle_endpoints::peers::{PeerDiscovery, Peers};
use pintle_endpoints::scheme::{KnownKinds, Scheme};
use pintle_endpoints::{Api, CBOR_GATE, Settings};
use pintle_flowcontrol::bounds::ADJUSTMENT_PERIOD;
use pintle_http::{ClientTlsMaterial, ServerConfig, Shutdown, TlsConfig};
use pintle_registry::{AdmissionChain, AdmissionPlugin, Allocator, EtcdCodec, Registry};
use pintle_resource::{Group, Resource, Resources};
use pintle_spans::Tracer;
use pintle_storage::{EndedFuture, FatalSignal, Store, StoreError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A socket that accepts connections.
pub struct Listener {
    pub socket: TcpListener,
    /// `None` is plain HTTP.
    pub tls: Option<Arc<TlsConfig>>,
}

/// The parts of a server. Servers built on top (with built-in kinds, or with custom groups) add to its lists.
pub struct Builder {
    pub store: Arc<dyn Store>,
    resources: Arc<Resources>,
    pub groups: Vec<Group>,
    /// Which resources of the groups are served; the others are only stored.
    pub serves: Arc<dyn Fn(&Resource) -> bool + Send + Sync>,
    /// Known kinds besides those of resources.
    pub kinds: Box<dyn KnownKinds>,
    /// Called in this order to authenticate requests.
    pub authenticators: Vec<Arc<dyn Authenticator>>,
    /// The audiences that tokens must be meant for.
    pub audiences: Vec<Str>,
    /// Where requests without a credential go on as those of the anonymous user; nowhere by default.
    pub anonymous: Arc<CurrentAnonymousAccess>,
    /// Called in this order to authorize a request; without one only `system:masters` may do anything.
    pub authorizers: Vec<NamedAuthorizer>,
    /// Called in this order for every write.
    pub admission_plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// The allocators of unique values, such as addresses and ports.
    pub allocators: Vec<Arc<dyn Allocator>>,
    /// The handlers of subresources that act, and of resources that store nothing.
    pub handlers: Handlers,
    /// The aggregated groups.
    pub aggregated: Box<dyn AggregatedApis>,
    /// Other servers over the same store that requests may be passed on to.
    pub peers: Option<Arc<dyn Peers>>,
    /// Documents at paths of their own.
    pub published: Vec<PublishedDocument>,
    /// The group versions that OpenAPI documents list for the kinds of every group.
    pub known_versions: KnownVersions,
    pub listeners: Vec<Listener>,
    /// The receiver of audit events; `None` if nothing is audited.
    pub auditor: Option<Arc<Auditor>>,
    /// Where spans of requests go; `None` if nothing is traced.
    pub tracer: Option<Arc<Tracer>>,
    /// Whether a feature gate is on.
    pub feature_gate: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub settings: Settings,
    pub connections: ServerConfig,
    pub cors: CorsConfig,
    /// How other servers are reached; without a client certificate by default.
    pub connector: Option<Arc<dyn Connector>>,
    pub health: Health,
    pub metrics: Metrics,
    /// Timeouts of a remote store for the liveness and the readiness check.
    pub store_timeouts: (Duration, Duration),
    /// How often the store is compacted, which determines how long continue tokens last; `None`: they last as long as
    /// history does.
    pub compaction_interval: Option<Duration>,
    /// Whether a list at version 0 is never divided into pages, as where it comes from a cache.
    pub watch_cache: bool,
    pub shutdown: ShutdownOptions,
}

/// How a server stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShutdownOptions {
    /// How long requests are still accepted while the server already reports that it is not ready.
    pub delay: Duration,
    /// Whether later requests get 429 with Retry-After until those in flight are done.
    pub send_retry_after: bool,
}

impl Builder {
    /// A server over a store, without groups, authenticators and authorizers.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let codec = EtcdCodec::of(&*store).map(|codec| codec.resources.clone());
        Builder {
            resources: codec.unwrap_or_default(),
            store,
            groups: Vec::new(),
            serves: Arc::new(|_| true),
            kinds: Box::new(()),
            authenticators: Vec::new(),
            audiences: Vec::new(),
            anonymous: Arc::default(),
            authorizers: Vec::new(),
            admission_plugins: Vec::new(),
            allocators: Vec::new(),
            handlers: Handlers::default(),
            aggregated: Box::new(()),
            peers: None,
            published: Vec::new(),
            known_versions: KnownVersions::default(),
            listeners: Vec::new(),
            auditor: None,
            tracer: None,
            feature_gate: Arc::new(|_| false),
            settings: Settings::default(),
            connections: ServerConfig::default(),
            cors: CorsConfig::default(),
            connector: None,
            health: Health::default(),
            metrics: Metrics::default(),
            store_timeouts: (Duration::MAX, Duration::MAX),
            compaction_interval: None,
            watch_cache: true,
            shutdown: ShutdownOptions::default(),
        }
    }

    /// All resources of the server. The groups are among them once it is opened.
    pub fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// The address of the first listener.
    ///
    /// # Errors
    /// There is no listener, or its socket is closed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "the server has no listener");
        self.listeners.first().ok_or_else(none)?.socket.local_addr()
    }

    /// Reads the store and starts serving on the listeners.
    ///
    /// # Errors
    /// The store cannot be read, or a listener has no address.
    pub async fn start(self) -> Result<Server, StartError> {
        let authorizer = AuthorizerUnion::default();
        let opened = self.open(AdmissionChain::default(), authorizer).await?;
        opened.serve()
    }

    /// Installs the groups, starts the store and reads its content. Nothing is served yet: the caller may write bootstrap
    /// objects and add parts that need the registry. Plugins of `admission` run before the builder's own. `authorizer` is
    /// the one that those plugins use, too; without members it gets the builder's.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn open(
        mut self,
        mut admission: AdmissionChain,
        mut authorizer: AuthorizerUnion,
    ) -> Result<OpenedServer, StartError> {
        self.resources.update(|table| {
            self.groups.iter().for_each(|group| table.install_group(group, |resource| (self.serves)(resource)));
        });
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.settings.started_unix = sources::process_start().unwrap_or(since.as_secs_f64()) as i64;
        self.connections.answer_timeout = self.settings.request_timeout;
        let handshake_errors = self.connections.handshake_errors.clone();
        self.metrics.add_source(move |out| sources::handshake_errors(&handshake_errors, out));
        let version = self.settings.version;
        self.metrics.add_source(move |out| sources::process(version, out));
        self.metrics.add_source(sources::rules);
        let audit = self.auditor.as_ref().map(|auditor| auditor.stats().clone());
        self.metrics.add_source(sources::audit(audit.unwrap_or_default()));
        if authorizer.members().is_empty() {
            authorizer = AuthorizerUnion::new(std::mem::take(&mut self.authorizers));
        }
        admission.plugins.append(&mut self.admission_plugins);
        admission.observer = Some(self.metrics.admission.clone());
        let mut registry = self.registry(admission).await?;
        registry.compaction_interval = self.compaction_interval;
        registry.watch_cache = self.watch_cache;
        registry.allocators = std::mem::take(&mut self.allocators);
        let flow = InFlightLimits::new(&self.settings);
        Ok(OpenedServer {
            builder: self,
            registry: Arc::new(registry),
            authorizer,
            flow,
            fatal_signal: FatalSignal::default(),
        })
    }

    /// Starts the store, reads the objects of the resources, and adds admission to every write.
    async fn registry(&self, admission: AdmissionChain) -> Result<Registry, StartError> {
        let table = self.resources.snapshot();
        let stored = table.all().filter_map(|it| Some((it.storage.as_ref()?.prefix.as_str(), it.indexed_fields())));
        let cache = Cache::partitioned(stored, self.store.partitions());
        let (store, filled) = (self.store.clone(), cache.clone());
        // Reading a large store takes long.
        let started = tokio::task::spawn_blocking(move || {
            for (number, partition) in (1..).zip(store.partitions()) {
                partition.store.start(Box::new(filled.writer_of(number)))?;
            }
            store.start(Box::new(filled.writer()))
        });
        let started = started.await;
        started.map_err(io::Error::other)?.map_err(StartError::Store)?;
        let transactions = self.metrics.transactions.clone();
        let store = Arc::new(MeasuredStore::new(self.store.clone(), transactions, self.resources.clone()));
        let environment = Box::new(System { feature_gate: self.feature_gate.clone(), version: self.settings.version });
        Ok(Registry::new(cache, store, environment, admission, self.resources.clone()))
    }
}

/// A server whose store has been read, and that does not serve yet.
pub struct OpenedServer {
    /// Parts that can still be added: authenticators, audiences, handlers, aggregated groups, published documents, health,
    /// metrics.
    pub builder: Builder,
    pub registry: Arc<Registry>,
    pub authorizer: AuthorizerUnion,
    /// Flow control: what is built over the server tells it which schemas and levels there are.
    pub flow: Arc<InFlightLimits>,
    fatal_signal: FatalSignal,
}

impl OpenedServer {
    /// Runs an essential task: when it ends, the server becomes unhealthy.
    pub fn spawn<T: Send + 'static>(
        &self,
        what: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        critical_tasks::spawn(&self.fatal_signal, what, task)
    }

    /// Starts serving on the listeners.
    ///
    /// # Errors
    /// A listener has no address, or the system's certificates cannot be read.
    pub fn serve(self) -> Result<Server, StartError> {
        let (builder, fatal_signal) = (self.builder, self.fatal_signal);
        let connector = match builder.connector {
            Some(connector) => connector,
            None => {
                let material = ClientTlsMaterial::default();
                Arc::new(SocketConnector::new(&material, KUBELET_TIMEOUT).map_err(io::Error::other)?)
            }
        };
        let peer_discovery = Arc::new(PeerDiscovery::default());
        if builder.peers.is_some() {
            let shown = peer_discovery.clone();
            builder.metrics.add_source(move |out| shown.render(out));
        }
        let description = ServerDescription {
            version: builder.settings.version,
            published: builder.published.iter().map(|document| document.described).collect(),
            known_versions: builder.known_versions,
            serves_cbor: (builder.feature_gate)(CBOR_GATE),
            hides_enums: !builder.settings.features.openapi_enums,
            hides_storage_version_hashes: !builder.settings.features.storage_version_hash,
        };
        let api = Arc::new(Api {
            authenticator: RequestAuthenticator {
                authenticators: AuthenticatorUnion::new(builder.authenticators),
                audiences: builder.audiences,
                anonymous: builder.anonymous,
            },
            authorizer: self.authorizer,
            registry: self.registry,
            documents: DiscoveryCache::new(builder.resources.clone(), description),
            health: builder.health,
            metrics: builder.metrics,
            flow: self.flow.clone(),
            settings: builder.settings,
            connector,
            handlers: builder.handlers,
            scheme: Scheme::new(builder.resources, builder.kinds),
            impersonator: Impersonator::default(),
            published: builder.published,
            auditor: builder.auditor,
            tracer: builder.tracer,
            aggregated: builder.aggregated,
            peers: builder.peers,
            peer_discovery,
        });
        let shutdown = Shutdown::new();
        let cors = Arc::new(builder.cors);
        let mut serving = Vec::new();
        let mut addresses = Vec::new();
        for Listener { socket, tls } in builder.listeners {
            addresses.push(socket.local_addr()?);
            let service = ApiService { api: api.clone(), cors: cors.clone() };
            let task = pintle_http::serve(socket, tls, service, builder.connections.clone(), shutdown.clone());
            let failed = fatal_signal.clone();
            serving.push(critical_tasks::spawn(&fatal_signal, "a listener", async move {
                task.await.inspect_err(|error| failed.report(format!("a listener has failed: {error}")))
            }));
        }
        let adjusting = critical_tasks::spawn(&fatal_signal, "borrowing among priority levels", adjust(self.flow));
        critical_tasks::follow_health(builder.store.as_ref(), None, builder.store_timeouts, &api);
        for (number, partition) in builder.store.partitions().iter().enumerate() {
            critical_tasks::follow_health(partition.store.as_ref(), Some(number), builder.store_timeouts, &api);
        }
        if let Some(space) = builder.store.space() {
            critical_tasks::follow_space(space, &api);
        }
        let (store, others, weak) = (builder.store.ended(), fatal_signal.ended(), Arc::downgrade(&api));
        let ends = tokio::spawn(critical_tasks::end_with(store, others, weak, fatal_signal.clone()));
        let options = builder.shutdown;
        Ok(Server { addresses, api, shutdown, options, serving, adjusting, ends, fatal_signal, store: builder.store })
    }
}

/// Has priority levels lend each other seats, from time to time.
async fn adjust(flow: Arc<InFlightLimits>) {
    let Some(controller) = flow.controller() else { return std::future::pending().await };
    loop {
        tokio::time::sleep(ADJUSTMENT_PERIOD).await;
        controller.adjust();
    }
}

/// A running server.
pub struct Server {
    addresses: Vec<SocketAddr>,
    api: Arc<Api>,
    shutdown: Shutdown,
    options: ShutdownOptions,
    serving: Vec<JoinHandle<io::Result<()>>>,
    /// Has priority levels lend each other seats.
    adjusting: JoinHandle<()>,
    ends: JoinHandle<()>,
    fatal_signal: FatalSignal,
    store: Arc<dyn Store>,
}

/// How long the audit log may take to write what waits when the server stops: longer than a webhook's usual retries.
const AUDIT_SHUTDOWN: Duration = Duration::from_secs(60);

/// How long requests may take to finish when an essential part has ended: those that do not need it finish in less.
const GRACE_AFTER_FAILURE: Duration = Duration::from_secs(1);

impl Server {
    /// The addresses of the listeners, in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The API behind the sockets, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Resolves, with the reason, when an essential part has ended: the store, a listener, or an essential task. The server
    /// must then be stopped.
    pub fn ended(&self) -> EndedFuture {
        self.fatal_signal.ended()
    }

    /// Takes no more connections, lets requests finish, and ends watches. The store stays open. If an essential part has
    /// ended, requests that do not finish soon are cut off: some may wait for a store that does not answer.
    ///
    /// # Errors
    /// A listener failed while the server ran.
    pub async fn drain(&mut self) -> io::Result<()> {
        self.api.health.stop();
        let has_failed = self.fatal_signal.is_reported();
        if !has_failed {
            tokio::time::sleep(self.options.delay).await;
        }
        if self.options.send_retry_after && !has_failed {
            self.api.health.reject_requests();
            // Requests that still run after this long have been ended by their own time limit.
            let done = self.api.flow.drained();
            drop(tokio::time::timeout(self.api.settings.request_timeout, done).await);
        }
        self.shutdown.trigger();
        if has_failed {
            let shutdown = self.shutdown.clone();
            tokio::spawn(async move {
                tokio::time::sleep(GRACE_AFTER_FAILURE).await;
                shutdown.abort();
            });
        }
        let mut outcome = Ok(());
        for serving in self.serving.drain(..) {
            outcome = outcome.and(serving.await.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        outcome
    }

    /// Drains the server if that was not done, and closes the store.
    ///
    /// # Errors
    /// A listener failed while the server ran.
    pub async fn stop(mut self) -> io::Result<()> {
        let outcome = match self.serving.is_empty() {
            true => Ok(()),
            false => self.drain().await,
        };
        self.ends.abort();
        self.adjusting.abort();
        if let Some(auditor) = &self.api.auditor {
            // A disk that hangs must not keep the store from being closed.
            drop(tokio::time::timeout(AUDIT_SHUTDOWN, auditor.shutdown()).await);
        }
        let store = self.store;
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        outcome.and(closed.map_err(io::Error::other))
    }
}
