//! `Builder`: from parts to a running server.
//! Guarantees that nothing is answered before the store has been read. Must never hold a default that lets anybody in.

use crate::backends::{KUBELET_TIMEOUT, SocketConnector};
use crate::browsers::BrowserConfig;
use crate::service::ApiService;
use crate::{System, sources, vital};
use pintle_auth::{
    Authenticator, AuthenticatorUnion, AuthorizerUnion, Impersonator, NamedAuthorizer, RequestAuthenticator, UserInfo,
};
use pintle_cache::Cache;
use pintle_endpoints::documents::DiscoveryCache;
use pintle_endpoints::flow::Flow;
use pintle_endpoints::handler::{Handler, Handlers};
use pintle_endpoints::health::Health;
use pintle_endpoints::metrics::{MeasuredStore, Metrics};
use pintle_endpoints::scheme::Scheme;
use pintle_endpoints::{Api, Settings};
use pintle_http::{ClientTlsMaterial, ServerConfig, Shutdown, TlsConfig};
use pintle_registry::{AdmissionChain, AdmissionPlugin, EtcdCodec, Registry};
use pintle_resource::{Group, Resources};
use pintle_storage::{Ending, Store, StoreError};
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

/// A socket that requests come in by.
pub struct Listener {
    pub socket: TcpListener,
    /// `None` is plain HTTP.
    pub tls: Option<Arc<TlsConfig>>,
}

/// A handler, and the group, resource and subresource whose requests it answers.
pub type HandlerOf = (&'static str, &'static str, &'static str, Arc<dyn Handler>);

/// The parts of a server for groups of one's own.
pub struct Builder {
    store: Arc<dyn Store>,
    resources: Arc<Resources>,
    pub groups: Vec<Group>,
    /// Asked in this order for who sends a request.
    pub authenticators: Vec<Arc<dyn Authenticator>>,
    /// Whether requests without a credential go on as those of the anonymous user.
    pub anonymous_auth: bool,
    /// Asked in this order whether a request is allowed; without one only `system:masters` may do anything.
    pub authorizers: Vec<NamedAuthorizer>,
    /// Asked in this order about every write.
    pub admission_plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// What answers for subresources that do something, and for resources that store nothing.
    pub handlers: Vec<HandlerOf>,
    pub listeners: Vec<Listener>,
    /// Whether a feature gate is on.
    pub feature_gate: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub settings: Settings,
    pub connections: ServerConfig,
    /// How often the store is compacted, which decides how long continue tokens last; `None`: they last as long as history does.
    pub compaction_interval: Option<Duration>,
}

impl Builder {
    /// A server over a store, without groups and without anybody who may use it.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let codec = EtcdCodec::of(&*store).map(|codec| codec.resources.clone());
        Builder {
            resources: codec.unwrap_or_default(),
            store,
            groups: Vec::new(),
            authenticators: Vec::new(),
            anonymous_auth: false,
            authorizers: Vec::new(),
            admission_plugins: Vec::new(),
            handlers: Vec::new(),
            listeners: Vec::new(),
            feature_gate: Arc::new(|_| false),
            settings: Settings::default(),
            connections: ServerConfig::default(),
            compaction_interval: None,
        }
    }

    /// Reads the store and starts answering on the listeners.
    ///
    /// # Errors
    /// The store cannot be read, or a listener has no address.
    pub async fn start(mut self) -> Result<Server, StartError> {
        self.resources.update(|table| {
            self.groups.iter().for_each(|group| table.install_group(group, |_| true));
        });
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.settings.started_unix = sources::process_start().unwrap_or(since.as_secs_f64()) as i64;
        self.connections.answer_timeout = self.settings.request_timeout;
        let api = Arc::new(self.assemble().await?);
        let (ending, shutdown) = (Ending::default(), Shutdown::new());
        let mut serving = Vec::new();
        let mut addresses = Vec::new();
        for Listener { socket, tls } in self.listeners {
            addresses.push(socket.local_addr()?);
            let service = ApiService { api: api.clone(), browsers: Arc::new(BrowserConfig::default()) };
            let task = pintle_http::serve(socket, tls, service, self.connections.clone(), shutdown.clone());
            let failed = ending.clone();
            serving.push(vital::spawn(&ending, "a listener", async move {
                task.await.inspect_err(|error| failed.tell(format!("a listener has failed: {error}")))
            }));
        }
        vital::follow_health(self.store.as_ref(), (Duration::MAX, Duration::MAX), &api);
        let (store, others, weak) = (self.store.ended(), ending.ended(), Arc::downgrade(&api));
        let ends = tokio::spawn(vital::end_with(store, others, weak, ending.clone()));
        Ok(Server { addresses, api, shutdown, serving, ends, ending, store: self.store })
    }

    /// All that answers requests.
    async fn assemble(&mut self) -> Result<Api, StartError> {
        let metrics = Metrics::default();
        metrics.add_source(sources::process);
        metrics.add_source(sources::rules);
        let admission = AdmissionChain {
            plugins: std::mem::take(&mut self.admission_plugins),
            observer: Some(metrics.admission.clone()),
            ..AdmissionChain::default()
        };
        let environment = System { feature_gate: self.feature_gate.clone() };
        let mut registry = open_registry(&self.store, &self.resources, environment, admission, &metrics).await?;
        registry.compaction_interval = self.compaction_interval;
        let registry = Arc::new(registry);
        let handlers = Handlers::default();
        for (group, resource, subresource, handler) in self.handlers.drain(..) {
            handlers.register(group, resource, subresource, handler);
        }
        let connector =
            SocketConnector::new(&ClientTlsMaterial::default(), KUBELET_TIMEOUT).map_err(io::Error::other)?;
        Ok(Api {
            authenticator: RequestAuthenticator {
                authenticators: AuthenticatorUnion::new(std::mem::take(&mut self.authenticators)),
                audiences: Vec::new(),
                anonymous: self.anonymous_auth.then(|| Arc::new(UserInfo::anonymous())),
            },
            authorizer: AuthorizerUnion::new(std::mem::take(&mut self.authorizers)),
            registry,
            documents: DiscoveryCache::new(self.resources.clone()),
            health: Health::default(),
            metrics,
            flow: Flow::new(&self.settings),
            settings: std::mem::take(&mut self.settings),
            connector: Arc::new(connector),
            handlers,
            scheme: Scheme::new(self.resources.clone(), Box::new(())),
            impersonator: Impersonator::default(),
            published: Vec::new(),
            aggregated: Box::new(()),
        })
    }
}

/// Starts a store, reads what it holds of the resources, and puts admission before every write.
///
/// # Errors
/// The store cannot be read.
pub async fn open_registry(
    store: &Arc<dyn Store>,
    resources: &Arc<Resources>,
    environment: System,
    admission: AdmissionChain,
    metrics: &Metrics,
) -> Result<Registry, StartError> {
    let table = resources.snapshot();
    let stored = table.all().filter_map(|it| Some((it.storage.as_ref()?.prefix.as_str(), it.indexed_fields())));
    let cache = Cache::indexed(stored);
    let (started, writer) = (store.clone(), cache.writer());
    // Reading what there is takes its time.
    let started = tokio::task::spawn_blocking(move || started.start(Box::new(writer))).await;
    started.map_err(io::Error::other)?.map_err(StartError::Store)?;
    let measured = MeasuredStore::new(store.clone(), metrics.transactions.clone(), resources.clone());
    Ok(Registry::new(cache, Arc::new(measured), Box::new(environment), admission, resources.clone()))
}

/// A running server.
pub struct Server {
    addresses: Vec<SocketAddr>,
    api: Arc<Api>,
    shutdown: Shutdown,
    serving: Vec<JoinHandle<io::Result<()>>>,
    ends: JoinHandle<()>,
    ending: Ending,
    store: Arc<dyn Store>,
}

impl Server {
    /// The addresses of the listeners, in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The API behind the sockets, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Resolves, to why, when something has ended that the server cannot go on without: the store or a listener. The server is
    /// to be stopped then.
    pub fn ended(&self) -> pintle_storage::Ended {
        self.ending.ended()
    }

    /// Takes no more connections, lets requests finish, ends watches, and closes the store.
    ///
    /// # Errors
    /// A listener failed while the server ran.
    pub async fn stop(self) -> io::Result<()> {
        self.api.health.stop();
        self.shutdown.trigger();
        let mut outcome = Ok(());
        for serving in self.serving {
            outcome = outcome.and(serving.await.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        self.ends.abort();
        let store = self.store;
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        outcome.and(closed.map_err(io::Error::other))
    }
}
