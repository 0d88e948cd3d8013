//! `Builder`: the settings of a server with the built-in groups. Guarantees that nothing is read, written or served
//! before `open`. Must never know a flag or a configuration file.

use crate::admission::AdmissionOptions;
use crate::advertised::AdvertisedServer;
use crate::aggregation::AggregationOptions;
use crate::authorizers::{Authorization, ChainMember, ReloadAuthorizers};
use crate::service_network::ServiceNetwork;
use crate::tokens::Authentication;
use crate::webhooks::Webhooks;
use pintle_auth::Authenticator;
use pintle_auth::authentication::{AnonymousAccess, CurrentAnonymousAccess, TokenCache};
use pintle_auth::authorization::abac::CurrentPolicies;
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_http::TlsConfig;
use pintle_kubernetes_auth::Mode;
use pintle_kubernetes_auth::service_account::TokenConfig;
use pintle_schema::Gate;
use pintle_storage::Store;
use pintle_webhook::{Clients, ServiceResolver};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::net::TcpListener;

/// A server with the built-in groups whose store is not read yet: [`open`](Builder::open) reads it.
pub struct Builder {
    pub(crate) generic: pintle_server::Builder,
    pub(crate) authentication: Authentication,
    pub(crate) authorization: Authorization,
    pub(crate) admission: AdmissionOptions,
    pub(crate) webhooks: Webhooks,
    pub(crate) runtime_config: RuntimeConfig,
    pub(crate) services: ServiceNetwork,
    pub(crate) advertised: AdvertisedServer,
    pub(crate) aggregation: AggregationOptions,
    #[cfg(feature = "kubelet")]
    pub(crate) kubelet_address_types: Vec<String>,
    pub(crate) post_start_hooks: Vec<&'static str>,
    pub(crate) own_certificate_ends: Option<SystemTime>,
    pub(crate) is_in_memory: bool,
    pub(crate) controllers: pintle_controllers::Settings,
    tls: Option<Arc<TlsConfig>>,
}

impl Builder {
    /// A server over a store, without TLS, that authorizes every request: tests and embedders start from it. Its
    /// feature gates have the defaults of the current release.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let mut generic = pintle_server::Builder::new(store);
        *generic.feature_gates() = pintle_gates::all();
        generic.set_anonymous(CurrentAnonymousAccess::new(AnonymousAccess::everywhere(true)));
        Builder {
            generic,
            authentication: Authentication::default(),
            authorization: Authorization::default(),
            admission: AdmissionOptions::default(),
            webhooks: Webhooks::default(),
            runtime_config: RuntimeConfig::default(),
            services: ServiceNetwork::default(),
            advertised: AdvertisedServer::default(),
            aggregation: AggregationOptions::default(),
            #[cfg(feature = "kubelet")]
            kubelet_address_types: pintle_kubelet::ADDRESS_TYPES.map(str::to_owned).to_vec(),
            post_start_hooks: Vec::new(),
            own_certificate_ends: None,
            is_in_memory: false,
            controllers: pintle_controllers::Settings::default(),
            tls: None,
        }
    }

    /// The parts that every server has: groups, authenticators, authorizers, admission plugins, handlers, settings.
    /// What is added here extends the built-in parts: authenticators are called before those of service account and
    /// bootstrap tokens, authorizers after those of [`authorize_by`](Builder::authorize_by), admission plugins after
    /// the built-in ones.
    pub fn generic(&mut self) -> &mut pintle_server::Builder {
        &mut self.generic
    }

    /// Sets a feature gate. The server only opens if the release that it behaves as can have the value.
    pub fn feature_gate(&mut self, gate: &'static Gate, value: bool) -> &mut Self {
        self.generic.feature_gate(gate, value);
        self
    }

    /// Sets the certificate and versions of TLS on the listener; plain HTTP without.
    pub fn set_tls(&mut self, tls: Arc<TlsConfig>) {
        self.tls = Some(tls);
    }

    /// Authorizes requests by these built-in authorizers, in this order. By default every request is allowed.
    pub fn authorize_by(&mut self, modes: &[Mode]) {
        self.authorization.chain = modes.iter().copied().map(ChainMember::built_in).collect();
    }

    /// Authorizes requests by these built-in authorizers and webhooks, in this order.
    pub fn authorize_by_chain(&mut self, chain: Vec<ChainMember>) {
        self.authorization.chain = chain;
    }

    /// Has the chain of authorizers replaced while the server runs.
    pub fn reload_authorizers(&mut self, reload: ReloadAuthorizers) {
        self.authorization.reload = Some(reload);
    }

    /// Sets the policies of the ABAC mode.
    pub fn set_policies(&mut self, policies: Arc<CurrentPolicies>) {
        self.authorization.policies = policies;
    }

    /// Sets the keys, issuers and audiences of service account tokens; by default a new key that is lost when the
    /// server stops.
    pub fn set_service_account_tokens(&mut self, tokens: TokenConfig) {
        self.authentication.service_account_tokens = Some(tokens);
    }

    /// Sets whether bootstrap tokens, which are kept in secrets, authenticate nodes; not by default.
    pub fn accept_bootstrap_tokens(&mut self, accept: bool) {
        self.authentication.bootstrap_tokens = accept;
    }

    /// Adds an authenticator of tokens that other parties issue or review. It is called after all others, because it
    /// sends requests to other servers.
    pub fn add_remote_authenticator(&mut self, authenticator: Arc<dyn Authenticator>) {
        self.authentication.remote.push(authenticator);
    }

    /// Shows the metrics of a cache of tokens that other parties issue or review.
    pub fn count_token_cache(&mut self, cache: Arc<TokenCache>) {
        self.authentication.token_cache = Some(cache);
    }

    /// Which built-in admission plugins are on, and their configuration.
    pub fn admission(&mut self) -> &mut AdmissionOptions {
        &mut self.admission
    }

    /// The clients of webhooks. Webhooks that are closures in this process are registered here.
    pub fn webhooks(&self) -> &Arc<Clients> {
        &self.webhooks.clients
    }

    /// Has references to services of webhooks resolved by this resolver first. Services that it does not know are
    /// looked for in the cluster. Only the first call has an effect.
    pub fn resolve_services_by(&self, resolver: Arc<dyn ServiceResolver>) {
        self.webhooks.services.set_first(resolver);
    }

    /// Sets which versions and resources of the built-in groups are served, and the release that the server behaves as.
    pub fn set_runtime_config(&mut self, config: RuntimeConfig) {
        self.runtime_config = config;
    }

    /// Sets the addresses and ports that are allocated to services.
    pub fn set_service_network(&mut self, services: ServiceNetwork) {
        self.services = services;
    }

    /// What the server publishes about itself in the cluster.
    pub fn advertised(&mut self) -> &mut AdvertisedServer {
        &mut self.advertised
    }

    /// How the server reaches extension servers and other servers over the same store.
    pub fn aggregation(&mut self) -> &mut AggregationOptions {
        &mut self.aggregation
    }

    /// Sets the node address types for connections to kubelets, the preferred first.
    #[cfg(feature = "kubelet")]
    pub fn set_kubelet_address_types(&mut self, types: Vec<String>) {
        self.kubelet_address_types = types;
    }

    /// Reports a post-start hook that not every server has: [`ENCRYPTION_RELOAD`](crate::ENCRYPTION_RELOAD) or
    /// [`PROXY_CERTIFICATE_RELOAD`](crate::PROXY_CERTIFICATE_RELOAD).
    pub fn add_post_start_hook(&mut self, hook: &'static str) {
        self.post_start_hooks.push(hook);
    }

    /// Sets when the self-signed serving certificate expires, if the server generated one: it is unhealthy then.
    pub fn set_own_certificate_end(&mut self, end: Option<SystemTime>) {
        self.own_certificate_ends = end;
    }

    /// Shows the size of the objects as that of the store, which has no files.
    pub fn count_objects_as_store(&mut self) {
        self.is_in_memory = true;
    }

    /// The controllers that run in the server: by default those of a part of a control plane, without delay.
    pub fn controllers(&mut self) -> &mut pintle_controllers::Settings {
        &mut self.controllers
    }

    /// Listens on a socket, which is the first of the server: its address and port are published in the cluster.
    pub fn listen(&mut self, listener: TcpListener) {
        self.generic.listen_first(listener, self.tls.take());
    }
}
