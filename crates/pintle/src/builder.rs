//! `Builder` and `Server`: the generic server with the built-in groups and the parts that only a Kubernetes API server
//! has.
//!
//! Everything is checked before a port is bound: a started server has opened its store. It has written the bootstrap objects,
//! or writes them beside serving where a webhook or a refusal is in the way.

use crate::authorizers::{BuiltInAuthorizers, ChainMember};
use crate::first_writes::FirstWrites;
use crate::hooks::{
    BOOTSTRAP_ROLES, ENCRYPTION_RELOAD, FLOW_CONTROL_HOOKS, LEADER_ELECTION, OWN_CERTIFICATE, POST_START,
    PROXY_CERTIFICATE_RELOAD, STORAGE_VERSIONS,
};
use crate::identity_lease::{self, EndpointReconciler, IdentityLease};
use crate::own_thread::OwnThread;
use crate::static_manifests::ManifestPlugins;
use crate::webhooks::Webhooks;
use crate::{advertised, bootstrap, certs, flow_control, node_objects, rbac, service_accounts, sources};
use pintle_aggregation::{ApiServices, DiscoveryCheck, ExtensionContent, PeerServers, PeerSettings};
use pintle_auth::authentication::{AnonymousAccess, CurrentAnonymousAccess, TokenCache};
use pintle_auth::authorization::abac::CurrentPolicies;
use pintle_auth::{Authenticator, AuthorizerUnion};
use pintle_bootstrap::ServiceRange;
use pintle_codec::json;
use pintle_controllers::{Controller, Controllers, ServedDefinitions};
use pintle_discovery::{KnownVersions, PublishedPath};
use pintle_endpoints::Api;
use pintle_endpoints::backend::ExtensionServers;
use pintle_endpoints::documents::PublishedDocument;
use pintle_endpoints::peers::Peers;
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_expressions::ConditionMetrics;
use pintle_handlers::KubernetesKinds;
use pintle_http::TlsConfig;
use pintle_kubelet::Connections;
use pintle_kubernetes_auth::Mode;
use pintle_kubernetes_auth::bootstrap_token::BootstrapTokens;
use pintle_kubernetes_auth::node::NodeAuthorizer;
use pintle_kubernetes_auth::rbac::{Rbac, RbacSnapshot};
use pintle_kubernetes_auth::service_account::{JWKS_PATH, ServiceAccountTokens, TokenConfig};
use pintle_plugins::configuration::Configuration;
use pintle_plugins::policy_rule;
use pintle_policies::{Checks, MutatingPolicies, ValidatingPolicies};
use pintle_registry::{AdmissionChain, AdmissionPlugin};
use pintle_schema::{Time, Value};
use pintle_server::extension_servers::ExtensionSockets;
use pintle_server::{Listener, OpenedServer};
use pintle_services::Allocators;
use pintle_services::routing::Routing;
use pintle_storage::{EndedFuture, Store, StoreError};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store failed when bootstrap objects were written.
    #[error("the first objects could not be written: {0}")]
    Bootstrap(String),
    /// The admission configurations in files cannot be used.
    #[error("{0}")]
    Manifests(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<pintle_server::StartError> for StartError {
    fn from(error: pintle_server::StartError) -> Self {
        match error {
            pintle_server::StartError::Store(error) => StartError::Store(error),
            pintle_server::StartError::Io(error) => StartError::Io(error),
        }
    }
}

/// The parts of a server with the built-in groups.
pub struct Builder {
    /// The generic server's parts: groups, authenticators, authorizers, admission plugins, handlers, settings. Its
    /// lists extend the built-in parts: its authenticators are called before those of service account and bootstrap
    /// tokens, its authorizers after those of `modes`, its admission plugins after the built-in ones.
    pub generic: pintle_server::Builder,
    /// The certificate and versions of TLS on the listener; plain HTTP without.
    pub tls: Option<Arc<TlsConfig>>,
    pub authentication: AuthenticationOptions,
    pub authorization: AuthorizationOptions,
    pub admission: AdmissionOptions,
    /// Connections to webhooks, and webhooks that are closures in this process.
    pub webhooks: Webhooks,
    /// Which versions and resources of the built-in groups are served.
    pub runtime_config: RuntimeConfig,
    pub services: ServiceNetwork,
    pub advertised: AdvertisedServer,
    pub aggregation: AggregationOptions,
    /// The node address types for connections to kubelets, the preferred first.
    pub kubelet_address_types: Vec<String>,
    pub health: HealthOptions,
    /// Whether the store has no files, so that its size is that of its objects.
    pub is_in_memory: bool,
    /// The controllers that run in the server: by default those of a part of a control plane, without delay.
    pub controllers: pintle_controllers::Settings,
}

/// The authenticators that need Kubernetes objects or other servers.
#[derive(Default)]
pub struct AuthenticationOptions {
    /// The keys, issuers and audiences of service account tokens; by default a new key that is lost when the server
    /// stops.
    pub service_account_tokens: Option<TokenConfig>,
    /// Whether bootstrap tokens, which are kept in secrets, authenticate nodes.
    pub bootstrap_tokens: bool,
    /// Authenticators that are called after all others, because they send requests to other servers.
    pub remote: Vec<Arc<dyn Authenticator>>,
    /// The cache of tokens that other parties issue or review, for its metrics.
    pub token_cache: Option<Arc<TokenCache>>,
}

/// The built-in authorizers and their order.
pub struct AuthorizationOptions {
    /// Built-in authorizers, called in this order.
    pub modes: Vec<Mode>,
    /// The authorizers in order, if the order is not that of the modes.
    pub chain: Vec<ChainMember>,
    /// Follows what defines the order, once the authorizers exist.
    pub reload: Option<ReloadAuthorizers>,
    /// The policies of the ABAC mode.
    pub policies: Arc<CurrentPolicies>,
}

/// Replaces the members of the union whenever their order changes.
pub type ReloadAuthorizers = Box<dyn FnOnce(&AuthorizerUnion, BuiltInAuthorizers) -> io::Result<()> + Send>;

impl Default for AuthorizationOptions {
    /// Allows every request.
    fn default() -> Self {
        AuthorizationOptions {
            modes: vec![Mode::AlwaysAllow],
            chain: Vec::new(),
            reload: None,
            policies: Arc::default(),
        }
    }
}

/// Which built-in admission plugins are enabled, and their configuration.
#[derive(Default)]
pub struct AdmissionOptions {
    /// The names of plugins to enable in addition to the default ones.
    pub enabled: Vec<String>,
    /// The names of plugins to disable.
    pub disabled: Vec<String>,
    pub configuration: Configuration,
}

/// What the server publishes about itself in the cluster.
#[derive(Default)]
pub struct AdvertisedServer {
    /// Where members of the cluster reach the server; the listener's address by default.
    pub address: Option<IpAddr>,
    /// How the addresses of servers are added to the endpoints of the `kubernetes` service.
    pub endpoint_reconciler: EndpointReconciler,
    /// Where other servers reach this one, if not at the advertised address and the port of the first listener.
    pub peer_address: (Option<IpAddr>, Option<u16>),
    /// The host name that identifies the server among those over the same store; by default that of this machine.
    pub host: Option<String>,
    /// The certificate authorities of clients and of the front proxy; they may change while the server runs.
    pub authorities: Arc<RwLock<BTreeMap<String, String>>>,
}

/// How the server reaches extension servers, other servers over the same store, and the services of webhooks.
pub struct AggregationOptions {
    /// Connections to extension servers; by default without a client certificate.
    pub servers: Arc<dyn ExtensionServers>,
    /// Connections to other servers over the same store; without it no request is passed on to one.
    pub peers: Option<PeerSettings>,
    /// How services of webhooks and of extension servers are reached.
    pub routing: Routing,
    /// Whether a redirect from an extension server is an error.
    pub reject_redirects: bool,
}

impl Default for AggregationOptions {
    fn default() -> Self {
        AggregationOptions {
            servers: Arc::new(ExtensionSockets::default()),
            peers: None,
            routing: Routing::default(),
            reject_redirects: true,
        }
    }
}

/// Health checks that not every server has.
#[derive(Default)]
pub struct HealthOptions {
    /// Post-start hooks, which complete before the server serves: [`ENCRYPTION_RELOAD`] and [`PROXY_CERTIFICATE_RELOAD`].
    pub post_start_hooks: Vec<&'static str>,
    /// The expiration time of the self-signed serving certificate, if the server generated one.
    pub own_certificate_ends: Option<SystemTime>,
}

/// The addresses and ports that are allocated to services.
pub struct ServiceNetwork {
    /// One range per IP family, the primary family first.
    pub ranges: Vec<ServiceRange>,
    pub node_ports: RangeInclusive<u16>,
}

impl Default for ServiceNetwork {
    fn default() -> Self {
        ServiceNetwork { ranges: ServiceRange::parse("10.0.0.0/24").into_iter().collect(), node_ports: 30_000..=32_767 }
    }
}

/// Gates of fields that every server has, unless its gates say otherwise: an earlier release that is emulated may lack them.
const ALWAYS_ON: &[&str] = &[
    "DeploymentReplicaSetTerminatingReplicas",
    "ImageVolume",
    "JobManagedBy",
    "MatchLabelKeysInPodTopologySpread",
    "PodLifecycleSleepAction",
    "PodObservedGenerationTracking",
    "ProcMountType",
    "UserNamespacesSupport",
];

impl Builder {
    /// A server over a store, without TLS, that authorizes every request: tests and embedders start from it.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let mut generic = pintle_server::Builder::new(store);
        generic.feature_gate = Arc::new(|gate| ALWAYS_ON.contains(&gate));
        generic.anonymous = CurrentAnonymousAccess::new(AnonymousAccess::everywhere(true));
        Builder {
            generic,
            tls: None,
            authentication: AuthenticationOptions::default(),
            authorization: AuthorizationOptions::default(),
            admission: AdmissionOptions::default(),
            webhooks: Webhooks::default(),
            runtime_config: RuntimeConfig::default(),
            services: ServiceNetwork::default(),
            advertised: AdvertisedServer::default(),
            aggregation: AggregationOptions::default(),
            kubelet_address_types: pintle_kubelet::ADDRESS_TYPES.map(str::to_owned).to_vec(),
            is_in_memory: false,
            health: HealthOptions::default(),
            controllers: pintle_controllers::Settings::default(),
        }
    }

    /// Opens the store, writes the bootstrap objects and starts to serve on the listener. What a webhook may delay, or admission
    /// refuses, is written beside serving.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub async fn start(mut self, listener: TcpListener) -> Result<Server, StartError> {
        let address = listener.local_addr()?;
        self.generic.listeners.insert(0, Listener { socket: listener, tls: self.tls.take() });
        let mut controllers = self.controllers.clone();
        controllers.enabled.retain(|controller| *controller != Controller::EventTtl || !self.generic.store.expires());
        let servers = self.aggregation.servers.clone();
        let aggregated = ApiServices::new(servers, self.aggregation.routing, self.aggregation.reject_redirects);
        let webhooks = self.webhooks.clients.clone();
        let host = self.advertised.host.take().or_else(certs::host_name).unwrap_or_default();
        self.advertised.host = Some(host.clone());
        controllers.host.clone_from(&host);
        let has_peers = PEER_GATES.iter().all(|gate| (self.generic.feature_gate)(gate));
        let settings = self.aggregation.peers.take().filter(|_| has_peers);
        let peers = settings.map(|settings| PeerServers::new(settings, identity_lease::identity(&host)));
        self.generic.peers = peers.clone().map(|peers| Arc::new(peers) as Arc<dyn Peers>);
        controllers.api_services = Some(Arc::new(DiscoveryCheck(aggregated.clone())));
        controllers.aggregated = Some(Arc::new(ExtensionContent(aggregated.clone())));
        self.generic.aggregated = Box::new(aggregated.clone());
        let (opened, roles, identity_lease, first_writes) = self.open(address).await?;
        let left = first_writes.before_serving().await?;
        left.iter().for_each(|work| work.show(&opened.builder.health, false));
        roles.publish(rbac::snapshot(&opened.registry));
        flow_control::configure(&opened.registry, &opened.flow);
        let documents =
            opened.spawn("the documents of extension servers", aggregated.clone().follow(opened.registry.clone()));
        let kept = identity_lease.clone();
        let keeping = opened.spawn("the renewal of the server's leases", async move { kept.keep().await });
        let mut tasks = vec![documents];
        if let Some(peers) = peers {
            let counted = peers.clone();
            opened.builder.metrics.add_source(move |out| counted.render(out));
            tasks.push(opened.spawn("discovery of other servers", peers.follow(opened.registry.clone())));
        }
        let roles = opened.spawn("the watch of roles and bindings", rbac::follow(opened.registry.clone(), roles));
        tasks.push(roles);
        let following = flow_control::follow(opened.registry.clone(), opened.flow.clone());
        tasks.push(opened.spawn("the watch of flow schemas", following));
        let (counted, of) = (aggregated, opened.registry.clone());
        opened.builder.metrics.add_source(move |out| counted.render(&of, out));
        let definitions = controllers.conditions.then(|| ServedDefinitions::follow(opened.registry.clone(), webhooks));
        let definitions = definitions.flatten();
        if !opened.registry.admission.may_wait(&opened.registry) {
            Controllers::prepare(opened.registry.clone(), &controllers).await;
        }
        // The first request finds all stored definitions served.
        opened.registry.install_definitions().await;
        let generic = opened.serve()?;
        let api = generic.api();
        if !left.is_empty() {
            tasks.push(tokio::spawn(first_writes.beside_serving(left, api.clone())));
        }
        let controllers_thread = OwnThread::start("controllers")?;
        let start = || Controllers::start(api.registry.clone(), &controllers, definitions);
        let controllers = controllers_thread.within(start);
        let queues = controllers.queues();
        api.metrics.add_source(move |out| sources::work_queues(&queues, out));
        Ok(Server {
            address,
            generic,
            tasks,
            controllers,
            _controllers_thread: controllers_thread,
            identity_lease: (identity_lease, keeping),
        })
    }

    /// Opens the generic server with the built-in parts. The bootstrap objects are not written yet, nor is this server announced to
    /// the others.
    async fn open(
        mut self,
        address: SocketAddr,
    ) -> Result<(OpenedServer, Arc<Rbac>, Arc<IdentityLease>, FirstWrites), StartError> {
        let allocators = self.install();
        let roles = Arc::new(Rbac::new(RbacSnapshot::default()));
        let node_objects = Arc::new(node_objects::Objects::default());
        let built_in = self.built_in(&roles, node_objects.clone());
        let authorizer = self.authorizer(&built_in);
        if let Some(reload) = self.authorization.reload.take() {
            reload(&authorizer, built_in)?;
        }
        let (admission, manifest_plugins) = self.admission(&authorizer, &roles);
        let mut opened = self.generic.open(admission, authorizer).await?;
        let registry = opened.registry.clone();
        self.webhooks.services.set(Arc::downgrade(&registry), self.aggregation.routing);
        let advertised = advertised::address(self.advertised.address, address.ip());
        // Other servers may reach it where pods cannot.
        let (peer_ip, peer_port) = self.advertised.peer_address;
        let peer_address = (peer_ip.or(advertised), peer_port);
        // kube-apiserver has no endpoints in this case either.
        let advertised = advertised.filter(|address| advertised::is_endpoint(*address));
        let table = opened.builder.resources().snapshot();
        let is_served = |group: &str, version: &str| {
            table.served().any(|resource| resource.group == group && resource.version == version)
        };
        let first_objects = pintle_bootstrap::Settings {
            service_ranges: self.services.ranges,
            // With several servers, each has a lease, and the endpoints are the addresses of all leases.
            advertise_address: advertised
                .filter(|_| !registry.is_shared() && self.advertised.endpoint_reconciler == EndpointReconciler::Lease),
            secure_port: address.port(),
            authorities: self.advertised.authorities.read().unwrap_or_else(PoisonError::into_inner).clone(),
            api_services: bootstrap::api_services(is_served),
            now: Time::from_seconds(registry.environment.now_unix()),
        };
        node_objects.follow(&registry);
        let identity_lease = Arc::new(IdentityLease::new(
            registry.clone(),
            allocators.clone(),
            first_objects.clone(),
            AdvertisedServer { address: advertised, peer_address, ..self.advertised },
        ));
        let followed = manifest_plugins.follow().map_err(StartError::Manifests)?;
        if !followed.is_empty() {
            opened.builder.metrics.add_source(move |out| sources::manifests(&followed, out));
        }
        let first_writes = FirstWrites::new(registry.clone(), identity_lease.clone(), first_objects);
        let tokens = service_accounts::tokens(self.authentication.service_account_tokens, registry.clone());
        let tokens = Arc::new(tokens.map_err(io::Error::other)?);
        let builder = &mut opened.builder;
        builder.audiences.clone_from(&tokens.config().audiences);
        builder.authenticators.push(tokens.clone());
        if self.authentication.bootstrap_tokens {
            let secrets = service_accounts::BootstrapSecrets(registry.clone());
            builder.authenticators.push(Arc::new(BootstrapTokens(Box::new(secrets))));
        }
        builder.authenticators.append(&mut self.authentication.remote);
        builder.known_versions =
            KnownVersions { all: pintle_groups::KNOWN_VERSIONS, not_of_custom: pintle_groups::NOT_OF_CUSTOM };
        builder.published.extend(published(&tokens, &builder.settings.server_address));
        pintle_handlers::install(&builder.handlers, tokens.clone());
        Connections::new(self.kubelet_address_types).install(&builder.handlers, &builder.metrics);
        builder.metrics.add_source(identity_lease.stats());
        if self.is_in_memory {
            let cache = registry.cache.clone();
            builder.metrics.add_source(move |out| pintle_server::sources::memory_size(&cache, out));
        }
        builder.metrics.add_source(move |out| allocators.render(&registry, out));
        let cache = self.authentication.token_cache.take();
        builder.metrics.add_source(move |out| sources::service_accounts(&tokens.stats, cache.as_deref(), out));
        let clients = self.webhooks.clients.clone();
        builder.metrics.add_source(move |out| sources::rest_clients(&clients, out));
        Ok((opened, roles, identity_lease, first_writes))
    }

    /// Adds the parts of a Kubernetes server that need no registry.
    fn install(&mut self) -> Arc<Allocators> {
        let generic = &mut self.generic;
        let (gate, runtime_config) = (generic.feature_gate.clone(), std::mem::take(&mut self.runtime_config));
        generic.settings.version = runtime_config.version;
        let served = generic.serves.clone();
        generic.serves = Arc::new(move |resource| {
            let group = pintle_groups::groups().iter().find(|group| group.name == resource.group);
            runtime_config.serves(resource, group, &|name| gate(name)) && served(resource)
        });
        let compatibility_minor = generic.settings.version.compatibility_minor;
        let groups = pintle_groups::groups().iter().map(|group| group.clone().kept_for(compatibility_minor));
        generic.groups.splice(0..0, groups);
        generic.kinds = Box::new(KubernetesKinds);
        generic.settings.long_running_subresources = &pintle_kubelet::SUBRESOURCES;
        self.health.post_start_hooks.extend(self.authorization.modes.contains(&Mode::Rbac).then_some(BOOTSTRAP_ROLES));
        let gates: [(&str, &[&str]); 2] = [
            (LEADER_ELECTION, &[pintle_controllers::ELECTION_GATE]),
            (STORAGE_VERSIONS, &["StorageVersionAPI", "APIServerIdentity"]),
        ];
        let is_on = |gates: &[&str]| gates.iter().all(|name| (generic.feature_gate)(name));
        self.health.post_start_hooks.extend(gates.iter().filter(|(_, gates)| is_on(gates)).map(|(hook, _)| *hook));
        let optional =
            [ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD, BOOTSTRAP_ROLES, LEADER_ELECTION, STORAGE_VERSIONS];
        let is_fair = generic.settings.priority_and_fairness;
        let is_shown = |check: &&&str| {
            (is_fair || !FLOW_CONTROL_HOOKS.contains(*check))
                && (!optional.contains(*check) || self.health.post_start_hooks.contains(*check))
        };
        POST_START.iter().filter(is_shown).for_each(|check| generic.health.set_started(check, true));
        let certificate_ends = self.health.own_certificate_ends;
        let is_good = move || match certificate_ends {
            Some(end) if SystemTime::now() > end => Err("loopback serving certificate is expired".to_owned()),
            _ => Ok(()),
        };
        generic.health.watch_liveness(OWN_CERTIFICATE, Box::new(is_good));
        let ranges = self.services.ranges.iter().map(ServiceRange::cidr);
        let allocators = Arc::new(Allocators::new(ranges, self.services.node_ports.clone()));
        generic.allocators.push(allocators.clone());
        allocators
    }

    /// The authorizers in order, followed by those that the embedder added.
    fn authorizer(&mut self, built_in: &BuiltInAuthorizers) -> AuthorizerUnion {
        if self.authorization.chain.is_empty() {
            let by_mode = |mode: &Mode| ChainMember::BuiltIn(*mode, mode.name().to_ascii_lowercase());
            self.authorization.chain = self.authorization.modes.iter().map(by_mode).collect();
        }
        let mut authorizers = built_in.chain(&self.authorization.chain);
        authorizers.append(&mut self.generic.authorizers);
        AuthorizerUnion::new(authorizers)
    }

    /// The authorizers that need no configuration of their own.
    fn built_in(&mut self, roles: &Arc<Rbac>, nodes: Arc<node_objects::Objects>) -> BuiltInAuthorizers {
        let node_rules: Vec<_> = pintle_bootstrap::node_rules().iter().map(policy_rule).collect();
        let nodes = NodeAuthorizer::new(node_rules, nodes);
        BuiltInAuthorizers { nodes, roles: roles.clone(), policies: self.authorization.policies.clone() }
    }

    /// The built-in admission plugins, and those that take configurations from files.
    fn admission(&mut self, authorizer: &AuthorizerUnion, roles: &Arc<Rbac>) -> (AdmissionChain, ManifestPlugins) {
        let AdmissionOptions { enabled, disabled, mut configuration } = std::mem::take(&mut self.admission);
        configuration.pod_security.emulated_minor = Some(self.runtime_config.version.emulated_minor);
        let pod_security = configuration.pod_security.counts.clone();
        self.generic.metrics.add_source(move |out| sources::pod_security(&pod_security, out));
        self.generic.metrics.add_source(|out| sources::rules(&pintle_extensions::RULE_TIMES, out));
        self.generic.metrics.add_source(|out| sources::conversions(&pintle_extensions::CONVERSIONS, out));
        let checks = [(); 2].map(|()| Arc::new(Checks::default()));
        let [mutating, validating] = checks.clone();
        self.generic.metrics.add_source(move |out| sources::policies(&checks, out));
        let conditions: Arc<ConditionMetrics> = Arc::default();
        let counted = conditions.clone();
        self.generic.metrics.add_source(move |out| sources::conditions(&counted, out));
        let [mutating_webhooks, validating_webhooks] =
            self.webhooks.plugins(authorizer, &configuration, &self.generic.metrics, &conditions);
        let mutating_policies = Arc::new(MutatingPolicies::new(authorizer.clone(), mutating, conditions.clone()));
        let validating_policies = Arc::new(ValidatingPolicies::new(authorizer.clone(), validating, conditions));
        let plugins = ManifestPlugins {
            mutating_webhooks: mutating_webhooks.clone(),
            validating_webhooks: validating_webhooks.clone(),
            mutating_policies: mutating_policies.clone(),
            validating_policies: validating_policies.clone(),
            directories: std::mem::take(&mut configuration.manifests),
            disabled: disabled.clone(),
            gate: self.generic.feature_gate.clone(),
        };
        let late: Vec<Arc<dyn AdmissionPlugin>> =
            vec![mutating_policies, mutating_webhooks, validating_policies, validating_webhooks];
        (pintle_plugins::chain(authorizer, roles.clone(), &enabled, &disabled, configuration, late), plugins)
    }
}

/// The OIDC discovery documents for service account tokens; none without an issuer that is a URL.
fn published(tokens: &Arc<ServiceAccountTokens>, server_address: &str) -> Vec<PublishedDocument> {
    if tokens.key_set().is_none() {
        return Vec::new();
    }
    type Document = Box<dyn Fn(&ServiceAccountTokens) -> Option<Value> + Send + Sync>;
    let document = |described, of: Document| {
        let tokens = tokens.clone();
        let body = move || {
            let text = of(&tokens).map(|document| json::to_vec(&document)).unwrap_or_default();
            (text.into(), tokens.keys_fresh_seconds(SystemTime::now()))
        };
        PublishedDocument { described, body: Box::new(body) }
    };
    let address = server_address.to_owned();
    vec![
        document(OPENID_CONFIGURATION, Box::new(move |tokens| tokens.discovery(&address))),
        document(KEY_SET, Box::new(ServiceAccountTokens::key_set)),
    ]
}

const OPENID_CONFIGURATION: PublishedPath = PublishedPath {
    path: "/.well-known/openid-configuration",
    media_types: &["application/json"],
    operation_id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    content: "the OpenID configuration of the issuer of service account tokens",
};

const KEY_SET: PublishedPath = PublishedPath {
    path: JWKS_PATH,
    media_types: &["application/jwk-set+json"],
    operation_id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    content: "the keys that verify service account tokens, as a JSON Web Key Set",
};

/// The timeout for removing the server from the endpoints.
const WITHDRAWAL: Duration = Duration::from_secs(3);

/// The gates of requests that other servers over the same store answer.
const PEER_GATES: [&str; 2] = ["UnknownVersionInteroperabilityProxy", "APIServerIdentity"];
/// A running server.
pub struct Server {
    address: SocketAddr,
    generic: pintle_server::Server,
    /// The tasks that follow roles and bindings, flow schemas, and the documents of extension servers and of other servers.
    tasks: Vec<JoinHandle<()>>,
    controllers: Controllers,
    _controllers_thread: OwnThread,
    identity_lease: (Arc<IdentityLease>, JoinHandle<()>),
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The API, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        self.generic.api()
    }

    /// Resolves with the reason when a part that the server needs has ended: the store, the listener or a watch. The
    /// server is then unhealthy; the caller stops it.
    pub fn ended(&self) -> EndedFuture {
        self.generic.ended()
    }

    /// Stops accepting connections, lets requests finish, ends watches and closes the store.
    ///
    /// # Errors
    /// The listener failed while the server ran.
    pub async fn stop(mut self) -> std::io::Result<()> {
        self.api().health.stop();
        let (identity_lease, keeping) = &self.identity_lease;
        keeping.abort();
        // An unreachable store must not delay the shutdown: the lease expires by itself.
        let _ = tokio::time::timeout(WITHDRAWAL, identity_lease.withdraw()).await;
        let drained = self.generic.drain().await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.controllers.stop().await;
        drained.and(self.generic.stop().await)
    }
}
