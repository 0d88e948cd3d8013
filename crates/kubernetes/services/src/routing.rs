//! The address of the server behind a service: its cluster IP or one of its endpoints. Guarantees kube-apiserver's
//! choice and its error messages. Must never resolve host names: that is the connector's work.

use pintle_cache::Object;
use pintle_registry::Registry;
use pintle_schema::ApiValue;
use pintle_schema::names::quoted;
use pintle_types::core::v1::{Service, ServicePort, ServiceType};
use pintle_types::discovery::v1::EndpointSlice;

/// The label of slices that names their service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The cluster IP of a service that has none.
const HEADLESS: &str = "None";

/// How services are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// At their cluster IP.
    #[default]
    Cluster,
    /// At the addresses of their endpoints.
    Endpoints,
}

/// Why a service has no address, with kube-apiserver's messages.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
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

/// A port of a service, as webhooks and API services refer to it.
#[derive(Clone, Copy)]
pub struct ServicePortReference<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub port: i32,
}

/// The host and port at which a port of a service is reached.
///
/// # Errors
/// The service does not exist, or has no address.
pub fn route(registry: &Registry, routing: Routing, to: ServicePortReference<'_>) -> Result<(String, u16), RouteError> {
    let service = find(registry, to).ok_or_else(|| RouteError::NotFound(to.name.to_owned()))?;
    match routing {
        Routing::Cluster => of_cluster(service, to),
        Routing::Endpoints => of_endpoints(registry, &service, to),
    }
}

fn find(registry: &Registry, to: ServicePortReference<'_>) -> Option<Service> {
    let target = registry.target_of(["", "v1", "services"], to.namespace, to.name)?;
    let stored = target.get().ok()?;
    Service::from_value(&registry.decode(&target, &stored).ok()?).ok()
}

fn has_address(kind: &ServiceType) -> bool {
    [ServiceType::CLUSTER_IP, ServiceType::NODE_PORT, ServiceType::LOAD_BALANCER].contains(kind)
}

fn listening<'a>(object: &'a Service, to: ServicePortReference<'_>) -> Result<&'a ServicePort, RouteError> {
    let found = object.spec.ports.iter().find(|offered| offered.port == to.port);
    found.ok_or_else(|| RouteError::NoPort { port: to.port, service: to.name.to_owned() })
}

fn number(port: i32, to: ServicePortReference<'_>) -> Result<u16, RouteError> {
    u16::try_from(port).map_err(|_| RouteError::NoPort { port, service: to.name.to_owned() })
}

fn of_cluster(object: Service, to: ServicePortReference<'_>) -> Result<(String, u16), RouteError> {
    let kind = &object.spec.r#type;
    if *kind == ServiceType::EXTERNAL_NAME {
        return Ok((object.spec.external_name, number(to.port, to)?));
    }
    if !has_address(kind) {
        return Err(RouteError::Type(kind.as_str().to_owned()));
    }
    if object.spec.cluster_ip == HEADLESS {
        return Err(RouteError::Headless);
    }
    let port = listening(&object, to)?.port;
    Ok((object.spec.cluster_ip, number(port, to)?))
}

/// The port whose endpoints are looked for. The type of the service comes first: one without endpoints need have no
/// ports.
fn with_endpoints<'a>(object: &'a Service, to: ServicePortReference<'_>) -> Result<&'a ServicePort, RouteError> {
    if !has_address(&object.spec.r#type) {
        return Err(RouteError::Type(object.spec.r#type.as_str().to_owned()));
    }
    listening(object, to)
}

fn of_endpoints(
    registry: &Registry,
    object: &Service,
    to: ServicePortReference<'_>,
) -> Result<(String, u16), RouteError> {
    let none = || RouteError::NoEndpoints(to.name.to_owned());
    let offered = with_endpoints(object, to)?;
    let mut found = Vec::new();
    for slice in slices(registry, to) {
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

fn slices(registry: &Registry, to: ServicePortReference<'_>) -> Vec<EndpointSlice> {
    let target = registry.target_of(["discovery.k8s.io", "v1", "endpointslices"], to.namespace, "");
    let Some(target) = target else { return Vec::new() };
    let state = target.cache.state();
    let first = format!("{}{}/", target.storage().prefix, to.namespace);
    let is_of = |object: &Object| object.encoded.label(SERVICE_NAME) == Some(to.name);
    let objects = state.objects.under(&first).map(|entry| &entry.object).filter(|object| is_of(object));
    let decoded = objects.filter_map(|object| registry.decode(&target, object).ok());
    decoded.filter_map(|value| EndpointSlice::from_value(&value).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_types::core::v1::ServiceSpec;

    fn resolved(spec: ServiceSpec, port: i32) -> Result<(String, u16), String> {
        let to = ServicePortReference { namespace: "n", name: "s", port };
        let object = Service { spec, ..Service::default() };
        of_cluster(object, to).map_err(|error| error.to_string())
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

    #[test]
    fn services_without_endpoints_are_named_before_their_ports() {
        let ports = vec![ServicePort { port: 443, ..ServicePort::default() }];
        let rows = [
            (ServiceType::EXTERNAL_NAME, 443, Err("unsupported service type \"ExternalName\"".to_owned())),
            (ServiceType::EXTERNAL_NAME, 80, Err("unsupported service type \"ExternalName\"".to_owned())),
            (ServiceType::CLUSTER_IP, 80, Err("no service port 80 found for service \"s\"".to_owned())),
            (ServiceType::CLUSTER_IP, 443, Ok(443)),
        ];
        for (r#type, port, expected) in rows {
            let spec = ServiceSpec { r#type, ports: ports.clone(), ..ServiceSpec::default() };
            let object = Service { spec, ..Service::default() };
            let to = ServicePortReference { namespace: "n", name: "s", port };
            let found = with_endpoints(&object, to).map(|found| found.port).map_err(|error| error.to_string());
            assert_eq!(found, expected);
        }
    }
}
