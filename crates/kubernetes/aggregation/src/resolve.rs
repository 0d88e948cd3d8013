//! Where the server of an API service is: the address of its service, or of one of the service's endpoints.
//! Guarantees the reference's choice and its sentences. Must never resolve names: that is the connector's work.

use crate::services::{ExtensionApi, Service};
use pintle_cache::Object;
use pintle_endpoints::backend::ExtensionServer;
use pintle_registry::Registry;
use pintle_schema::ApiValue;
use pintle_schema::names::quoted;
use pintle_types::core::v1::{Service as ServiceObject, ServicePort, ServiceType};
use pintle_types::discovery::v1::EndpointSlice;

/// The label of slices that names their service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The cluster IP of a service that has none.
const HEADLESS: &str = "None";

/// How services are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// At their cluster IP.
    Cluster,
    /// At the addresses of their endpoints.
    Endpoints,
}

/// Why a service has no address, in the reference's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("service {} not found", quoted(.0))]
    NotFound(String),
    #[error("no service port {port} found for service {}", quoted(.service))]
    NoPort { port: i32, service: String },
    #[error("cannot route to service with ClusterIP \"None\"")]
    Headless,
    #[error("unsupported service type {}", quoted(.0))]
    Type(String),
    #[error("no endpoints available for service {}", quoted(.0))]
    NoEndpoints(String),
}

/// The server of a version, found through its service.
///
/// # Errors
/// The service is missing, or leads nowhere.
pub fn server(registry: &Registry, routing: Routing, api: &ExtensionApi) -> Result<ExtensionServer, ResolveError> {
    let not_found = |name: &str| ResolveError::NotFound(name.to_owned());
    let service = api.service.as_ref().ok_or_else(|| not_found(""))?;
    let object = object(registry, service).ok_or_else(|| not_found(&service.name))?;
    let (host, port) = match routing {
        Routing::Cluster => of_cluster(object, service)?,
        Routing::Endpoints => of_endpoints(registry, &object, service)?,
    };
    Ok(ExtensionServer {
        name: api.name.clone(),
        host,
        port,
        server_name: format!("{}.{}.svc", service.name, service.namespace),
        ca_pem: api.ca_pem.clone(),
        insecure: api.insecure,
    })
}

fn object(registry: &Registry, service: &Service) -> Option<ServiceObject> {
    let target = registry.target_of(["", "v1", "services"], &service.namespace, &service.name)?;
    let stored = target.get().ok()?;
    ServiceObject::from_value(&registry.decode(&target, &stored).ok()?).ok()
}

fn has_address(kind: &ServiceType) -> bool {
    [ServiceType::CLUSTER_IP, ServiceType::NODE_PORT, ServiceType::LOAD_BALANCER].contains(kind)
}

fn listening<'a>(object: &'a ServiceObject, service: &Service) -> Result<&'a ServicePort, ResolveError> {
    let found = object.spec.ports.iter().find(|offered| offered.port == service.port);
    found.ok_or_else(|| ResolveError::NoPort { port: service.port, service: service.name.clone() })
}

fn number(port: i32, service: &Service) -> Result<u16, ResolveError> {
    u16::try_from(port).map_err(|_| ResolveError::NoPort { port, service: service.name.clone() })
}

fn of_cluster(object: ServiceObject, service: &Service) -> Result<(String, u16), ResolveError> {
    let kind = &object.spec.r#type;
    if *kind == ServiceType::EXTERNAL_NAME {
        return Ok((object.spec.external_name, number(service.port, service)?));
    }
    if !has_address(kind) {
        return Err(ResolveError::Type(kind.as_str().to_owned()));
    }
    if object.spec.cluster_ip == HEADLESS {
        return Err(ResolveError::Headless);
    }
    let port = listening(&object, service)?.port;
    Ok((object.spec.cluster_ip, number(port, service)?))
}

fn of_endpoints(registry: &Registry, object: &ServiceObject, service: &Service) -> Result<(String, u16), ResolveError> {
    let none = || ResolveError::NoEndpoints(service.name.clone());
    let offered = listening(object, service)?;
    if !has_address(&object.spec.r#type) {
        return Err(ResolveError::Type(object.spec.r#type.as_str().to_owned()));
    }
    let mut found = Vec::new();
    for slice in slices(registry, service) {
        let port = slice.ports.iter().find(|port| port.name.as_deref().unwrap_or_default() == offered.name);
        let Some(port) = port.and_then(|port| port.port).and_then(|port| u16::try_from(port).ok()) else { continue };
        let ready = slice.endpoints.into_iter().filter(|endpoint| endpoint.conditions.ready.unwrap_or(true));
        found.extend(ready.flat_map(|endpoint| endpoint.addresses).map(|address| (address, port)));
    }
    let mut random = [0; 4];
    registry.environment.random(&mut random);
    let at = u32::from_le_bytes(random) as usize % found.len().max(1);
    found.into_iter().nth(at).ok_or_else(none)
}

fn slices(registry: &Registry, service: &Service) -> Vec<EndpointSlice> {
    let target = registry.target_of(["discovery.k8s.io", "v1", "endpointslices"], &service.namespace, "");
    let Some(target) = target else { return Vec::new() };
    let state = target.cache.state();
    let first = format!("{}{}/", target.storage().prefix, service.namespace);
    let is_of = |object: &Object| object.encoded.label(SERVICE_NAME) == Some(service.name.as_str());
    let objects = state.objects.under(&first).map(|entry| &entry.object).filter(|object| is_of(object));
    let decoded = objects.filter_map(|object| registry.decode(&target, object).ok());
    decoded.filter_map(|value| EndpointSlice::from_value(&value).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_types::core::v1::ServiceSpec;

    fn resolved(spec: ServiceSpec, port: i32) -> Result<(String, u16), String> {
        let service = Service { namespace: "n".into(), name: "s".into(), port };
        let object = ServiceObject { spec, ..ServiceObject::default() };
        of_cluster(object, &service).map_err(|error| error.to_string())
    }

    #[test]
    fn services_are_reached_by_their_type() {
        let ports = vec![ServicePort { port: 443, ..ServicePort::default() }];
        let cluster = |ip: &str| ServiceSpec {
            r#type: ServiceType::CLUSTER_IP,
            cluster_ip: ip.into(),
            ports: ports.clone(),
            ..ServiceSpec::default()
        };
        let external = ServiceSpec {
            r#type: ServiceType::EXTERNAL_NAME,
            external_name: "example.com".into(),
            ..ServiceSpec::default()
        };
        let rows = [
            (cluster("10.0.0.7"), 443, Ok(("10.0.0.7".to_owned(), 443))),
            (cluster("10.0.0.7"), 80, Err("no service port 80 found for service \"s\"".to_owned())),
            (cluster("None"), 443, Err("cannot route to service with ClusterIP \"None\"".to_owned())),
            (external, 8443, Ok(("example.com".to_owned(), 8443))),
        ];
        for (spec, port, expected) in rows {
            assert_eq!(resolved(spec, port), expected);
        }
    }
}
