//! `Opened`: a server whose store has been read, and that does not serve yet. Guarantees that what is added here acts
//! from the first request on. Must never serve a request before `serve`.

use crate::backends::{KUBELET_TIMEOUT, SocketConnector};
use crate::builder::{Builder, Listener, StartError};
use crate::service::ApiService;
use crate::serving::Serving;
use crate::system::System;
use crate::{critical_tasks, sources};
use pintle_auth::authentication::RequestAuthenticator;
use pintle_auth::{Authenticator, AuthenticatorUnion, AuthorizerUnion, Impersonator, Str};
use pintle_cache::Cache;
use pintle_discovery::ServerDescription;
use pintle_endpoints::documents::{DiscoveryCache, PublishedDocument};
use pintle_endpoints::flow::InFlightLimits;
use pintle_endpoints::handler::Handlers;
use pintle_endpoints::health::Health;
use pintle_endpoints::metrics::{MeasuredStore, Metrics};
use pintle_endpoints::peers::PeerDiscovery;
use pintle_endpoints::scheme::Scheme;
use pintle_endpoints::{Api, Settings};
use pintle_http::ClientTlsMaterial;
use pintle_meta::gates;
use pintle_proxy::backend::Connector;
use pintle_registry::Registry;
use pintle_resource::Resource;
use pintle_schema::GateSet;
use pintle_storage::FatalSignal;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::AbortHandle;

/// A server whose store has been read, and that does not serve yet. Features install their authenticators, handlers,
/// documents, tasks, metrics and health checks here.
pub struct Opened {
    builder: Builder,
    registry: Arc<Registry>,
    flow: Arc<InFlightLimits>,
    fatal_signal: FatalSignal,
    tasks: Vec<AbortHandle>,
}

impl Builder {
    /// Reads the store and starts serving on the listeners.
    ///
    /// # Errors
    /// The store cannot be read, or a listener has no address.
    pub async fn start(self) -> Result<Serving, StartError> {
        self.open().await?.serve()
    }

    /// Installs the groups, starts the store and reads its content. Nothing is served yet: the caller may write objects
    /// and add parts that need the registry.
    ///
    /// # Errors
    /// The store cannot be read, or the release cannot have the values of the feature gates.
    pub async fn open(mut self) -> Result<Opened, StartError> {
        let gates = Arc::new(self.gate_set()?);
        self.resources.update(|table| {
            let is_served = |resource: &Resource| self.serves.iter().all(|serves| serves(resource));
            self.groups.iter().for_each(|group| table.install_group(group, is_served));
        });
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.settings.started_unix = sources::process_start().unwrap_or(since.as_secs_f64()) as i64;
        self.connections.answer_timeout = self.settings.request_timeout;
        self.add_metrics(&gates);
        self.authorizer.replace(std::mem::take(&mut self.authorizers));
        let registry = self.registry(gates).await?;
        Ok(Opened::new(self, registry))
    }

    /// Adds the metrics of every server.
    fn add_metrics(&self, gates: &Arc<GateSet>) {
        let gates = gates.clone();
        self.metrics.add_source(move |out| sources::feature_gates(&gates, out));
        let handshake_errors = self.connections.handshake_errors.clone();
        self.metrics.add_source(move |out| sources::handshake_errors(&handshake_errors, out));
        let version = self.settings.version;
        self.metrics.add_source(move |out| sources::process(version, out));
        self.metrics.add_source(sources::rules);
        let audit = self.auditor.as_ref().map(|auditor| auditor.stats().clone());
        self.metrics.add_source(sources::audit(audit.unwrap_or_default()));
    }

    /// Starts the store, reads the objects of the resources, and adds admission to every write.
    async fn registry(&mut self, gates: Arc<GateSet>) -> Result<Registry, StartError> {
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
        let environment = Box::new(System { gates, version: self.settings.version });
        let mut admission = std::mem::take(&mut self.admission);
        admission.plugins.append(&mut self.admission_plugins);
        admission.observer = Some(self.metrics.admission.clone());
        let mut registry = Registry::new(cache, store, environment, admission, self.resources.clone());
        registry.compaction_interval = self.store_options.compaction_interval;
        registry.watch_cache = self.store_options.watch_cache;
        registry.allocators = std::mem::take(&mut self.allocators);
        Ok(registry)
    }
}

impl Opened {
    fn new(builder: Builder, registry: Registry) -> Opened {
        let flow = InFlightLimits::new(&builder.settings);
        Opened { builder, registry: Arc::new(registry), flow, fatal_signal: FatalSignal::default(), tasks: Vec::new() }
    }

    /// The objects of the server. They can be read and written before it serves.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The union of all authorizers.
    pub fn authorizer(&self) -> &AuthorizerUnion {
        &self.builder.authorizer
    }

    /// Flow control. It has to be given the flow schemas and priority levels.
    pub fn flow(&self) -> &Arc<InFlightLimits> {
        &self.flow
    }

    /// The handlers of subresources that act, and of resources that store nothing.
    pub fn handlers(&self) -> &Handlers {
        &self.builder.handlers
    }

    /// Which feature gates are on.
    pub fn gates(&self) -> &GateSet {
        self.registry.environment.gates()
    }

    /// The limits and properties of the API.
    pub fn settings(&self) -> &Settings {
        &self.builder.settings
    }

    /// The health checks.
    pub fn health(&self) -> &Health {
        &self.builder.health
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.builder.metrics
    }

    /// Adds an authenticator, which is called after those that there are.
    pub fn add_authenticator(&mut self, authenticator: Arc<dyn Authenticator>) {
        self.builder.add_authenticator(authenticator);
    }

    /// Sets the audiences that tokens must be meant for.
    pub fn set_audiences(&mut self, audiences: Vec<Str>) {
        self.builder.audiences = audiences;
    }

    /// Serves documents at paths of their own.
    pub fn publish(&mut self, documents: impl IntoIterator<Item = PublishedDocument>) {
        self.builder.published.extend(documents);
    }

    /// Runs an essential task until the server stops: when it ends earlier, the server becomes unhealthy. `what` names
    /// it in the reason. The handle stops it before the server does.
    pub fn spawn<T: Send + 'static>(
        &mut self,
        what: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> AbortHandle {
        let handle = critical_tasks::spawn(&self.fatal_signal, what, task).abort_handle();
        self.tasks.push(handle.clone());
        handle
    }

    /// Starts serving on the listeners.
    ///
    /// # Errors
    /// A listener has no address, or the system's certificates cannot be read.
    pub fn serve(self) -> Result<Serving, StartError> {
        let Opened { builder, registry, flow, fatal_signal, tasks } = self;
        let connector: Arc<dyn Connector> = match builder.connector {
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
        let gates = registry.environment.gates();
        let description = ServerDescription {
            version: builder.settings.version,
            published: builder.published.iter().map(|document| document.described).collect(),
            known_versions: builder.known_versions,
            serves_cbor: gates.is_on(&gates::CBOR_SERVING_AND_STORAGE),
            hides_enums: !gates.is_on(&gates::OPENAPI_ENUMS),
            hides_storage_version_hashes: !gates.is_on(&gates::STORAGE_VERSION_HASH),
        };
        let api = Arc::new(Api {
            authenticator: RequestAuthenticator {
                authenticators: AuthenticatorUnion::new(builder.authenticators),
                audiences: builder.audiences,
                anonymous: builder.anonymous,
            },
            authorizer: builder.authorizer,
            registry,
            documents: DiscoveryCache::new(builder.resources.clone(), description),
            health: builder.health,
            metrics: builder.metrics,
            flow,
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
        let mut serving = Serving::new(api.clone(), builder.store, builder.shutdown, fatal_signal, tasks);
        let cors = Arc::new(builder.cors);
        for Listener { socket, tls } in builder.listeners {
            let service = ApiService { api: api.clone(), cors: cors.clone() };
            serving.listen(socket, tls, service, builder.connections.clone())?;
        }
        serving.supervise(builder.store_options.timeouts);
        Ok(serving)
    }
}
