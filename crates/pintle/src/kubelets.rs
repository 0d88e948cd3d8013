//! Connections to kubelets: logs, commands, port forwarding and proxies of nodes, pods and services. Must never open a
//! connection before a request asks for it.

use pintle_kubelet::Connections;
use pintle_server::{Builder, Opened};

/// Exempts the connections from the limits of requests in flight.
pub(crate) fn prepare(generic: &mut Builder) {
    generic.settings().long_running_subresources = &pintle_kubelet::SUBRESOURCES;
}

/// Adds the handlers of connections to nodes, which are reached at the first of these types of addresses that they
/// have.
pub(crate) fn install(opened: &Opened, address_types: Vec<String>) {
    Connections::new(address_types).install(opened.handlers(), opened.metrics());
}
