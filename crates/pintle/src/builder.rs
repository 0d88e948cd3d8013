//! `Builder` and `Server`: from parts to a running server, and back to nothing.
//!
//! Everything is checked before a port is bound: a server that started has its store open and its first objects
//! written.

use crate::browsers::BrowserConfig;
use crate::presence::{EndpointReconciler, IdentityLease};
use crate::{advertised, bootstrap, certs, node_objects, rbac, service_accounts, sources};
use pintle_auth::authorization::abac::Policies;
use pintle_auth::authorization::{AlwaysAllow, AlwaysDeny};
use pintle_auth::{
    Authenticator, AuthenticatorUnion, Authorizer, AuthorizerUnion, Impersonator, NamedAuthorizer,
    RequestAuthenticator, UserInfo,
};
use pintle_bootstrap::ServiceRange;
use pintle_codec::json;
use pintle_controllers::{Controller, Controllers};
use pintle_endpoints::backend::Connector;
use pintle_endpoints::documents::{DiscoveryCache, PublishedDocument};
use pintle_endpoints::flow::Flow;
use pintle_endpoints::handler::Handlers;
use pintle_endpoints::health::{Health, Probe};
use pintle_endpoints::metrics::{Metrics, Source};
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_endpoints::scheme::Scheme;
use pintle_endpoints::{Api, Settings};
use pintle_http::{ClientTlsMaterial, ServerConfig, Shutdown, TlsConfig};
use pintle_kubernetes_auth::Mode;
use pintle_kubernetes_auth::bootstrap_token::BootstrapTokens;
use pintle_kubernetes_auth::node::NodeAuthorizer;
use pintle_kubernetes_auth::rbac::{Rbac, RbacAuthorizer, RbacSnapshot};
use pintle_kubernetes_auth::service_account::{JWKS_PATH, ServiceAccountTokens, TokenConfig};
use pintle_plugins::configuration::Configuration;
use pintle_plugins::policy_rule;
use pintle_resource::{Resource, Resources};
use pintle_server::backends::{KUBELET_TIMEOUT, SocketConnector};
use pintle_server::service::ApiService;
use pintle_server::{System, open_registry, vital};

use pintle_handlers::{ApiServices, KubernetesKinds};
use pintle_kubelet::Connections;
use pintle_registry::{AdmissionChain, AdmissionPlugin, EtcdCodec, Registry};
use pintle_schema::Time;
use pintle_services::Allocators;
use pintle_storage::{Ended, Ending, Store, StoreError};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A first object could not be written.
    #[error("the first objects could not be written: {0}")]
    Bootstrap(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The parts of a server.
pub struct Builder {
    pub store: Arc<dyn Store>,
    /// All resources of the server; the store's form knows them, too.
    resources: Arc<Resources>,
    /// Authenticators, asked in this order and before those of service account and bootstrap tokens.
    pub authenticators: Vec<Arc<dyn Authenticator>>,
    /// Whether requests without a credential are answered as those of an anonymous user.
    pub anonymous_auth: bool,
    /// The keys, issuers and audiences of service account tokens; by default a key that is lost when the server stops.
    pub service_account_tokens: Option<TokenConfig>,
    /// Whether bootstrap tokens, which are kept in secrets, authenticate nodes.
    pub bootstrap_tokens: bool,
    /// Built-in authorizers, asked in this order.
    pub modes: Vec<Mode>,
    /// The policies of the mode ABAC.
    pub policies: Policies,
    /// Further authorizers, asked after the built-in ones.
    pub authorizers: Vec<NamedAuthorizer>,
    pub runtime_config: RuntimeConfig,
    pub feature_gate: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Admission plugins that act beside those that do anyway, by their names.
    pub enabled_admission_plugins: Vec<String>,
    /// Admission plugins that do not act, by their names.
    pub disabled_admission_plugins: Vec<String>,
    /// Admission plugins of the embedder's own. They act after the built-in ones, in this order.
    pub admission_plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// What admission plugins are told.
    pub admission_configuration: Configuration,
    /// What browsers are told.
    pub browsers: BrowserConfig,
    pub settings: Settings,
    /// Addresses of services, one range per IP family, the primary family first.
    pub service_ranges: Vec<ServiceRange>,
    /// Node ports of services.
    pub service_node_ports: RangeInclusive<u16>,
    /// Where members of the cluster reach the server; the listener's address when it is not told.
    pub advertise_address: Option<IpAddr>,
    /// How the addresses of servers come to the endpoints of the `kubernetes` service.
    pub endpoint_reconciler: EndpointReconciler,
    /// What the cluster's members are told of the authorities of clients and of the front proxy; it may change while the server
    /// runs.
    pub authorities: Arc<RwLock<BTreeMap<String, String>>>,
    pub tls: Option<Arc<TlsConfig>>,
    pub connections: ServerConfig,
    /// How kubelets, pods and services are reached; with no certificate of its own when it is not told.
    pub connector: Option<Box<dyn Connector>>,
    /// Types of nodes' addresses at which kubelets are reached, the preferred first.
    pub kubelet_address_types: Vec<String>,
    /// How long requests are still taken, while the server says that it is not ready, after it is told to stop.
    pub shutdown_delay: Duration,
    /// Whether requests that come after that are turned away, and told when to come again, until those in work are done.
    pub shutdown_send_retry_after: bool,
    /// How long a store elsewhere may take to answer to be called alive, and to be called ready.
    pub store_timeouts: (Duration, Duration),
    /// Checks of the server's health beside its own.
    pub checks: Vec<(&'static str, Probe)>,
    /// Health checks of what was begun before the server answers, and not every server does: [`ENCRYPTION_RELOAD`] and
    /// [`PROXY_CERTIFICATE_RELOAD`].
    pub begun: Vec<&'static str>,
    /// When the serving certificate ends that the server made for itself, if it has one.
    pub own_certificate_ends: Option<SystemTime>,
    /// How often the store is compacted, which decides how long continue tokens last; `None`: they last as long as history does.
    pub compaction_interval: Option<Duration>,
    /// Metrics beside those of requests and objects.
    pub metrics: Vec<Source>,
    /// The controllers that run beside the API: all, acting at once, when nothing else is said.
    pub controllers: pintle_controllers::Settings,
}

impl Builder {
    /// A server over a store, without TLS, that lets everybody do everything: tests and embedders start from it.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let form = EtcdCodec::of(&*store).map(|form| form.resources.clone());
        Builder {
            resources: form.unwrap_or_else(pintle_groups::resources),
            store,
            authenticators: Vec::new(),
            anonymous_auth: true,
            service_account_tokens: None,
            modes: vec![Mode::AlwaysAllow],
            policies: Policies::default(),
            authorizers: Vec::new(),
            runtime_config: RuntimeConfig::default(),
            feature_gate: Arc::new(|_| false),
            enabled_admission_plugins: Vec::new(),
            disabled_admission_plugins: Vec::new(),
            admission_plugins: Vec::new(),
            admission_configuration: Configuration::default(),
            browsers: BrowserConfig::default(),
            settings: Settings::default(),
            service_ranges: ServiceRange::parse("10.0.0.0/24").into_iter().collect(),
            service_node_ports: 30_000..=32_767,
            advertise_address: None,
            endpoint_reconciler: EndpointReconciler::default(),
            authorities: Arc::default(),
            bootstrap_tokens: false,
            tls: None,
            connections: ServerConfig::default(),
            connector: None,
            kubelet_address_types: pintle_kubelet::ADDRESS_TYPES.map(str::to_owned).to_vec(),
            shutdown_delay: Duration::ZERO,
            shutdown_send_retry_after: false,
            store_timeouts: (Duration::MAX, Duration::MAX),
            checks: Vec::new(),
            begun: Vec::new(),
            own_certificate_ends: None,
            compaction_interval: None,
            metrics: Vec::new(),
            controllers: pintle_controllers::Settings::default(),
        }
    }

    /// Opens the store, writes the first objects and starts answering on the listener.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub async fn start(mut self, listener: TcpListener) -> Result<Server, StartError> {
        let address = listener.local_addr()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.settings.started_unix = pintle_server::sources::process_start().unwrap_or(since.as_secs_f64()) as i64;
        let roles = Arc::new(Rbac::new(RbacSnapshot::default()));
        self.connections.answer_timeout = self.settings.request_timeout;
        let (api, presence) = self.assemble(address, &roles).await?;
        let ending = Ending::default();
        let kept = presence.clone();
        let keeping = vital::spawn(&ending, "what keeps the server's leases", async move { kept.keep().await });
        let follower = vital::spawn(&ending, "what follows roles and bindings", rbac::follow(api.clone(), roles));
        let shutdown = Shutdown::new();
        let service = ApiService { api: api.clone(), browsers: Arc::new(self.browsers) };
        let serving = pintle_http::serve(listener, self.tls, service, self.connections, shutdown.clone());
        let listener_ending = ending.clone();
        let serving = vital::spawn(&ending, "what serves connections", async move {
            serving.await.inspect_err(|error| listener_ending.tell(format!("the listener has failed: {error}")))
        });
        vital::follow_health(self.store.as_ref(), self.store_timeouts, &api);
        let mut controllers = self.controllers;
        controllers.enabled.retain(|controller| *controller != Controller::EventTtl || !self.store.expires());
        let controllers = Controllers::start(api.registry.clone(), &controllers);
        let queues = controllers.queues();
        api.metrics.add_source(move |out| sources::work_queues(&queues, out));
        let (store, others, weak) = (self.store.ended(), ending.ended(), Arc::downgrade(&api));
        let ends = tokio::spawn(vital::end_with(store, others, weak, ending.clone()));
        Ok(Server {
            address,
            api,
            shutdown,
            serving,
            follower,
            ends,
            ending,
            controllers,
            presence: (presence, keeping),
            store: self.store,
            shutdown_delay: self.shutdown_delay,
            shutdown_send_retry_after: self.shutdown_send_retry_after,
        })
    }

    /// All that answers requests, once the first objects are written and the other servers know of this one.
    async fn assemble(
        &mut self,
        address: SocketAddr,
        roles: &Arc<Rbac>,
    ) -> Result<(Arc<Api>, Arc<IdentityLease>), StartError> {
        let connector = match self.connector.take() {
            Some(connector) => connector,
            None => Box::new(
                SocketConnector::new(&ClientTlsMaterial::default(), KUBELET_TIMEOUT).map_err(io::Error::other)?,
            ),
        };
        let gate = self.feature_gate.clone();
        let serves = |resource: &Resource| self.runtime_config.serves(resource, &|name| gate(name));
        for group in pintle_groups::groups() {
            self.resources.update(|table| table.install_group(group, serves));
        }
        let node_objects = Arc::new(node_objects::Objects::default());
        let node_rules: Vec<_> = pintle_bootstrap::node_rules().iter().map(policy_rule).collect();
        let nodes = NodeAuthorizer::new(node_rules, node_objects.clone());
        self.begun.extend(self.modes.contains(&Mode::Rbac).then_some(BOOTSTRAP_ROLES));
        let authorizer = self.authorizer(roles, nodes);
        let metrics = self.metrics();
        let mut registry = self.registry(&authorizer, roles, &metrics).await?;
        let ranges = self.service_ranges.iter().map(ServiceRange::cidr);
        let allocators = Arc::new(Allocators::new(ranges, self.service_node_ports.clone()));
        registry.allocators = vec![allocators.clone()];
        let advertised = advertised::address(self.advertise_address, address.ip());
        // The reference, too, does without endpoints then.
        let advertised = advertised.filter(|address| advertised::is_endpoint(*address));
        let now = Time::from_seconds(registry.environment.now_unix());
        let first_objects = self.first_objects(advertised, address.port(), now);
        bootstrap::ensure(&registry, &first_objects).await.map_err(|status| StartError::Bootstrap(status.message))?;
        roles.publish(rbac::snapshot(&registry));
        let registry = Arc::new(registry);
        node_objects.follow(&registry);
        let host = certs::host_name().unwrap_or_default();
        let authorities = self.authorities.clone();
        let (allocated, of) = (allocators.clone(), registry.clone());
        metrics.add_source(move |out| allocated.render(&of, out));
        let presence = Arc::new(IdentityLease::new(
            registry.clone(),
            allocators,
            first_objects,
            authorities,
            advertised,
            host,
            self.endpoint_reconciler,
        ));
        presence.announce().await.map_err(|status| StartError::Bootstrap(status.message))?;
        metrics.add_source(presence.figures());
        let tokens = service_accounts::tokens(self.service_account_tokens.take(), registry.clone());
        let tokens = Arc::new(tokens.map_err(io::Error::other)?);
        let counted = tokens.clone();
        metrics.add_source(move |out| sources::service_accounts(&counted.figures, out));
        let handlers = Handlers::default();
        pintle_handlers::install(&handlers, tokens.clone());
        Connections::new(std::mem::take(&mut self.kubelet_address_types)).install(&handlers, &metrics);
        self.settings.long_running_subresources = &pintle_kubelet::SUBRESOURCES;
        self.settings.is_heartbeat = pintle_handlers::is_heartbeat;
        let api = Arc::new(Api {
            authenticator: self.authenticator(&registry, &tokens),
            registry,
            authorizer,
            impersonator: Impersonator::default(),
            published: self.published(&tokens),
            documents: DiscoveryCache::new(self.resources.clone()),
            health: Health::default(),
            metrics,
            flow: Flow::new(&self.settings),
            settings: std::mem::take(&mut self.settings),
            connector: connector.into(),
            handlers,
            scheme: Scheme::new(self.resources.clone(), Box::new(KubernetesKinds)),
            aggregated: Box::new(ApiServices),
        });
        let optional = [ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD, BOOTSTRAP_ROLES];
        let is_told = |check: &&&str| !optional.contains(*check) || self.begun.contains(*check);
        POST_START.iter().filter(is_told).for_each(|check| api.health.set(check, true));
        self.checks.drain(..).for_each(|(name, probe)| api.health.watch(name, probe));
        let certificate_ends = self.own_certificate_ends;
        let is_good = move || match certificate_ends {
            Some(end) if SystemTime::now() > end => Err("loopback serving certificate is expired".to_owned()),
            _ => Ok(()),
        };
        api.health.watch_liveness(OWN_CERTIFICATE, Box::new(is_good));
        Ok((api, presence))
    }

    /// The built-in authorizers in the order of the modes, and those that were added.
    fn authorizer(&mut self, roles: &Arc<Rbac>, nodes: NodeAuthorizer) -> AuthorizerUnion {
        let policies = Arc::new(std::mem::take(&mut self.policies));
        let built_in = std::mem::take(&mut self.modes).into_iter().map(|mode| {
            let authorizer: Arc<dyn Authorizer> = match mode {
                Mode::Node => Arc::new(nodes.clone()),
                Mode::Rbac => Arc::new(RbacAuthorizer(roles.clone())),
                Mode::Abac => policies.clone(),
                Mode::AlwaysAllow => Arc::new(AlwaysAllow),
                Mode::AlwaysDeny => Arc::new(AlwaysDeny),
            };
            NamedAuthorizer::new(mode.name(), mode.name().to_ascii_lowercase(), authorizer)
        });
        AuthorizerUnion::new(built_in.chain(std::mem::take(&mut self.authorizers)).collect())
    }

    /// The authenticators that were added, and those of tokens that depend on objects.
    fn authenticator(&mut self, registry: &Arc<Registry>, tokens: &Arc<ServiceAccountTokens>) -> RequestAuthenticator {
        let mut authenticators = std::mem::take(&mut self.authenticators);
        authenticators.push(tokens.clone());
        if self.bootstrap_tokens {
            let secrets = service_accounts::BootstrapSecrets(registry.clone());
            authenticators.push(Arc::new(BootstrapTokens(Box::new(secrets))));
        }
        RequestAuthenticator {
            authenticators: AuthenticatorUnion::new(authenticators),
            audiences: tokens.config().audiences.clone(),
            anonymous: self.anonymous_auth.then(|| Arc::new(UserInfo::anonymous())),
        }
    }

    /// The documents by which clients verify service account tokens; none without an issuer under which they are found.
    fn published(&self, tokens: &ServiceAccountTokens) -> Vec<PublishedDocument> {
        let discovery = tokens.discovery(&self.settings.server_address);
        let documents = [
            ("/.well-known/openid-configuration", "application/json", discovery),
            (JWKS_PATH, "application/jwk-set+json", tokens.key_set()),
        ];
        let documents = documents.into_iter().filter_map(|(path, content_type, document)| {
            Some(PublishedDocument { path, content_type, body: json::to_vec(&document?).into() })
        });
        documents.collect()
    }

    /// All that is counted.
    fn metrics(&mut self) -> Metrics {
        let metrics = Metrics::default();
        let handshake_errors = self.connections.handshake_errors.clone();
        metrics.add_source(move |out| pintle_server::sources::handshake_errors(&handshake_errors, out));
        metrics.add_source(pintle_server::sources::process);
        metrics.add_source(pintle_server::sources::rules);
        metrics.add_source(pintle_server::sources::audit);
        self.metrics.drain(..).for_each(|source| metrics.add_source(source));
        metrics
    }

    /// Starts the store, reads what it holds, and puts what every write goes through before it.
    async fn registry(
        &mut self,
        authorizer: &AuthorizerUnion,
        roles: &Arc<Rbac>,
        metrics: &Metrics,
    ) -> Result<Registry, StartError> {
        let admission = self.admission(authorizer, roles, metrics);
        let environment = System { feature_gate: self.feature_gate.clone() };
        let opened = open_registry(&self.store, &self.resources, environment, admission, metrics).await;
        let mut registry = opened.map_err(|error| match error {
            pintle_server::StartError::Store(error) => StartError::Store(error),
            pintle_server::StartError::Io(error) => StartError::Io(error),
        })?;
        registry.compaction_interval = self.compaction_interval;
        Ok(registry)
    }

    fn admission(&mut self, authorizer: &AuthorizerUnion, roles: &Arc<Rbac>, metrics: &Metrics) -> AdmissionChain {
        let (enabled, disabled) = (&self.enabled_admission_plugins, &self.disabled_admission_plugins);
        let configuration = std::mem::take(&mut self.admission_configuration);
        let pod_security = configuration.pod_security.counts.clone();
        metrics.add_source(move |out| sources::pod_security(&pod_security, out));
        let mut chain = pintle_plugins::chain(authorizer, roles.clone(), enabled, disabled, configuration);
        chain.plugins.append(&mut self.admission_plugins);
        AdmissionChain { observer: Some(metrics.admission.clone()), ..chain }
    }

    /// What the objects say that a start writes.
    fn first_objects(&mut self, advertised: Option<IpAddr>, port: u16, now: Time) -> pintle_bootstrap::Settings {
        let table = self.resources.snapshot();
        let is_served = |group: &str, version: &str| {
            table.served().any(|resource| resource.group == group && resource.version == version)
        };
        pintle_bootstrap::Settings {
            service_ranges: std::mem::take(&mut self.service_ranges),
            // Of several servers each has a lease, and all leases together tell the addresses.
            advertise_address: advertised
                .filter(|_| !self.store.is_shared() && self.endpoint_reconciler == EndpointReconciler::Lease),
            secure_port: port,
            authorities: self.authorities.read().unwrap_or_else(PoisonError::into_inner).clone(),
            api_services: bootstrap::api_services(is_served),
            now,
        }
    }
}

/// How long taking back what the server told the others may take.
const WITHDRAWAL: Duration = Duration::from_secs(3);

/// Health checks of what the reference begins with, in its order: each has passed when the first request is answered, as what it is
/// about was done before (all first objects are written, all kept objects are read), or has no part here that could fail.
const POST_START: [&str; 32] = [
    "poststarthook/start-apiserver-admission-initializer",
    ENCRYPTION_RELOAD,
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    BOOTSTRAP_ROLES,
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    PROXY_CERTIFICATE_RELOAD,
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// Told where the file of encryption may change.
pub const ENCRYPTION_RELOAD: &str = "poststarthook/start-encryption-provider-config-automatic-reload";
/// Told where a certificate for extension servers is given.
pub const PROXY_CERTIFICATE_RELOAD: &str = "poststarthook/aggregator-reload-proxy-client-cert";
/// Told where roles decide.
const BOOTSTRAP_ROLES: &str = "poststarthook/rbac/bootstrap-roles";

/// The health check of the certificate that the server shows to who connects from the same machine.
const OWN_CERTIFICATE: &str = "loopback-serving-certificate";

/// A running server.
pub struct Server {
    address: SocketAddr,
    api: Arc<Api>,
    shutdown: Shutdown,
    serving: JoinHandle<std::io::Result<()>>,
    follower: JoinHandle<()>,
    ends: JoinHandle<()>,
    ending: Ending,
    controllers: Controllers,
    presence: (Arc<IdentityLease>, JoinHandle<()>),
    store: Arc<dyn Store>,
    shutdown_delay: Duration,
    shutdown_send_retry_after: bool,
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The API behind the socket, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Resolves, to why, when something has ended that the server cannot go on without: the store, the listener, what
    /// keeps it informed. It is not well from then on, and is to be stopped.
    pub fn ended(&self) -> Ended {
        self.ending.ended()
    }

    /// Takes no more connections, lets requests finish, ends watches, and closes the store.
    ///
    /// # Errors
    /// The listener failed while the server ran.
    pub async fn stop(self) -> std::io::Result<()> {
        self.api.health.stop();
        let (presence, keeping) = &self.presence;
        keeping.abort();
        // A store that is gone must not hold up the end: then the lease expires.
        let _ = tokio::time::timeout(WITHDRAWAL, presence.withdraw()).await;
        tokio::time::sleep(self.shutdown_delay).await;
        if self.shutdown_send_retry_after {
            self.api.health.turn_away();
            // What still is in work after this long has been given up by its own time limit.
            let done = self.api.flow.none_in_work();
            drop(tokio::time::timeout(self.api.settings.request_timeout, done).await);
        }
        self.shutdown.trigger();
        let outcome = self.serving.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        self.follower.abort();
        self.ends.abort();
        self.controllers.stop().await;
        let store = self.store;
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        outcome.and(closed.map_err(std::io::Error::other))
    }
}
