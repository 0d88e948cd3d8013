//! Finds the server of an API service through its service. Guarantees that its certificate is verified for the
//! service's name. Must never resolve host names: the connector does.

use crate::services::ExtensionApi;
use pintle_proxy::backend::ExtensionServer;
use pintle_registry::Registry;
use pintle_services::routing::{RouteError, Routing, ServicePortReference, route};

/// The server of a version, found through its service.
///
/// # Errors
/// The service does not exist, or has no address.
pub fn server(registry: &Registry, routing: Routing, api: &ExtensionApi) -> Result<ExtensionServer, RouteError> {
    let service = api.service.as_ref().ok_or_else(|| RouteError::NotFound(String::new()))?;
    let to = ServicePortReference { namespace: &service.namespace, name: &service.name, port: service.port };
    let (host, port) = route(registry, routing, to)?;
    Ok(ExtensionServer {
        name: api.name.clone(),
        host,
        port,
        server_name: format!("{}.{}.svc", service.name, service.namespace),
        ca_pem: api.ca_pem.clone(),
        insecure: api.insecure,
    })
}
