//! Versions of groups that other servers serve: extension servers, which API services name, and other servers over the
//! same store. Must never pass on a request for a version that this server serves.

use crate::identity_lease;
use pintle_aggregation::{ApiServices, PeerServers, PeerSettings};
use pintle_gates as gates;
use pintle_proxy::backend::ExtensionServers;
use pintle_schema::GateSet;
use pintle_server::extension_servers::ExtensionSockets;
use pintle_server::{Builder, Opened};
use pintle_services::routing::Routing;
use std::sync::Arc;

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

/// The other servers.
pub(crate) struct Aggregation {
    api_services: ApiServices,
    peers: Option<PeerServers>,
    routing: Routing,
}

/// Has requests passed on to the other servers.
pub(crate) fn prepare(generic: &mut Builder, options: AggregationOptions, host: &str, gates: &GateSet) -> Aggregation {
    let AggregationOptions { servers, peers, routing, reject_redirects } = options;
    let api_services = ApiServices::new(servers, routing, reject_redirects);
    generic.set_aggregated(api_services.clone());
    let peer_gates = [&gates::UNKNOWN_VERSION_INTEROPERABILITY_PROXY, &gates::API_SERVER_IDENTITY];
    let has_peers = peer_gates.iter().all(|gate| gates.is_on(gate));
    let settings = peers.filter(|_| has_peers);
    let peers = settings.map(|settings| PeerServers::new(settings, identity_lease::identity(host)));
    if let Some(peers) = &peers {
        generic.set_peers(Arc::new(peers.clone()));
    }
    Aggregation { api_services, peers, routing }
}

impl Aggregation {
    /// How services are reached.
    pub(crate) fn routing(&self) -> Routing {
        self.routing
    }

    /// The extension servers.
    pub(crate) fn api_services(&self) -> &ApiServices {
        &self.api_services
    }

    /// Follows what the other servers serve, and adds the metrics of requests to them.
    pub(crate) fn install(self, opened: &mut Opened) {
        let (followed, registry) = (self.api_services.clone(), opened.registry().clone());
        opened.spawn("the documents of extension servers", followed.follow(registry.clone()));
        if let Some(peers) = self.peers {
            let counted = peers.clone();
            opened.metrics().add_source(move |out| counted.render(out));
            opened.spawn("discovery of other servers", peers.follow(registry.clone()));
        }
        opened.metrics().add_source(move |out| self.api_services.render(&registry, out));
    }
}
