//! Locates the backend of a request: the kubelet of a node, the port of a pod, an endpoint of a service.
//!
//! Guarantees that a client is connected only to a node, a pod or an endpoint of the cluster. Must never resolve host
//! names: the connector does.

use pintle_endpoints::context::Context;
use pintle_gates as gates;
use pintle_proxy::backend::{Destination, Trust, is_global_unicast};
use pintle_registry::{Result, Status, Target};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    Container, ContainerPort, DaemonEndpoint, EndpointAddress, EndpointPort, EndpointSubset, Endpoints,
    EphemeralContainer, EphemeralContainerCommon, Node, NodeAddress, NodeDaemonEndpoints, NodeStatus, ObjectReference,
    Pod, PodIP, PodSpec, PodStatus, Service, ServicePort, ServiceSpec,
};
use pintle_types::meta::v1::ObjectMeta;

/// The default port of kubelets.
const KUBELET_PORT: u16 = 10_250;

/// The destination of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub to: Destination,
    /// Percent-encoded; empty for the root without its slash.
    pub path: String,
    /// Without the question mark.
    pub query: String,
}

impl Location {
    fn new(tls: bool, host: &str, port: u16, trust: Trust) -> Location {
        let to = Destination { tls, host: host.to_owned(), port, trust };
        Location { to, path: String::new(), query: String::new() }
    }

    /// Path and query, as a request line has them.
    pub fn target(&self) -> String {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        if self.query.is_empty() { path.to_owned() } else { format!("{path}?{}", self.query) }
    }
}

/// A kubelet, and the features that its node declares.
pub struct Kubelet {
    pub location: Location,
    pub takes_websockets: bool,
}

/// A stored object of the target's resource.
///
/// # Errors
/// The object does not exist.
pub fn object(context: &Context, target: &Target, name: &str) -> Result<Value> {
    let target = Target { name: name.to_owned(), ..target.clone() };
    let stored = target.get()?;
    context.api.registry.decode(&target, &stored)
}

fn collection(context: &Context, group: &str, plural: &str, namespace: &str) -> Result<Target> {
    context.api.registry.target_of([group, "v1", plural], namespace, "").ok_or_else(Status::no_such_path)
}

/// The node that a pod is on; empty before it is scheduled.
pub fn node_of(pod: &Value) -> &str {
    View::<Pod>::new(pod).field(Pod::SPEC).field(PodSpec::NODE_NAME).as_str()
}

/// The container to use: the named one, or the only one.
///
/// # Errors
/// 400 if none is named and there are several, or the named one does not exist.
pub fn container(pod: &Value, wanted: &str) -> Result<String> {
    let pod = View::<Pod>::new(pod);
    let name = pod.field(Pod::METADATA).field(ObjectMeta::NAME).as_str();
    let spec = pod.field(Pod::SPEC);
    let containers: Vec<&str> =
        spec.field(PodSpec::CONTAINERS).iter().map(|c| c.field(Container::NAME).as_str()).collect();
    let init = spec.field(PodSpec::INIT_CONTAINERS).iter().map(|c| c.field(Container::NAME).as_str());
    let ephemeral = spec.field(PodSpec::EPHEMERAL_CONTAINERS).iter().map(|c| {
        c.field(EphemeralContainer::EPHEMERAL_CONTAINER_COMMON).field(EphemeralContainerCommon::NAME).as_str()
    });
    let all: Vec<&str> = init.chain(containers.iter().copied()).chain(ephemeral).collect();
    match (wanted, &containers[..]) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", []) => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        ("", _) => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        _ if all.contains(&wanted) => Ok(wanted.to_owned()),
        _ => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
    }
}

/// The kubelet of a pod's node. kube-apiserver names a missing node as if it were a pod.
///
/// # Errors
/// The node does not exist, or has no address.
pub fn kubelet(context: &Context, address_types: &[String], node: &str) -> Result<Kubelet> {
    let nodes = collection(context, "", "nodes", "")?;
    let node = object(context, &nodes, node).map_err(|status| match collection(context, "", "pods", "") {
        Ok(pods) if status.code == 404 => Status::not_found(&pods.resource, node),
        _ => status,
    })?;
    let declared = View::<Node>::new(&node).field(Node::STATUS).field(NodeStatus::DECLARED_FEATURES).get();
    let takes_websockets = declared.iter().any(|feature| feature == gates::EXTEND_WEB_SOCKETS_TO_KUBELET.name());
    Ok(Kubelet { location: kubelet_of(address_types, &node)?, takes_websockets })
}

fn kubelet_of(address_types: &[String], node: &Value) -> Result<Location> {
    let node = View::<Node>::new(node);
    let status = node.field(Node::STATUS);
    let addresses = status.field(NodeStatus::ADDRESSES);
    let labels = node.field(Node::METADATA).field(ObjectMeta::LABELS).get();
    let hostname = labels.get("kubernetes.io/hostname").map(String::as_str).filter(|name| !name.is_empty());
    let host = address_types.iter().find_map(|wanted| {
        let mut of_type = addresses
            .iter()
            .filter(|address| address.field(NodeAddress::TYPE).value().as_str() == Some(wanted.as_str()));
        let address = of_type.next().map(|address| address.field(NodeAddress::ADDRESS).as_str());
        address.or_else(|| hostname.filter(|_| wanted == "Hostname"))
    });
    let Some(host) = host else {
        let known = addresses.iter().map(|address| {
            let kind = address.field(NodeAddress::TYPE).value().as_str().unwrap_or("");
            format!("{{{kind} {}}}", address.field(NodeAddress::ADDRESS).as_str())
        });
        let known = known.collect::<Vec<_>>().join(" ");
        return Err(Status::unexplained(format!("no preferred addresses found; known addresses: [{known}]")));
    };
    let endpoint = status.field(NodeStatus::DAEMON_ENDPOINTS).field(NodeDaemonEndpoints::KUBELET_ENDPOINT);
    let port = u16::try_from(endpoint.field(DaemonEndpoint::PORT).get()).ok().filter(|port| *port > 0);
    Ok(Location::new(true, host, port.unwrap_or(KUBELET_PORT), Trust::Kubelet))
}

/// An id of a proxy: `[scheme:]name[:port]`.
#[derive(Debug, PartialEq, Eq)]
struct Id<'a> {
    tls: bool,
    name: &'a str,
    port: &'a str,
}

impl<'a> Id<'a> {
    fn split(kind: &str, id: &'a str) -> Result<Id<'a>> {
        let (scheme, name, port) = match id.split(':').collect::<Vec<_>>()[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => ("?", "", ""),
        };
        match matches!(scheme, "" | "http" | "https") && !name.is_empty() {
            true => Ok(Id { tls: scheme == "https", name, port }),
            false => Err(Status::bad_request(format!("invalid {kind} request {id:?}"))),
        }
    }

    /// Its port as a number, or the scheme's.
    fn number(&self) -> Result<u16> {
        match self.port {
            "" => Ok(if self.tls { 443 } else { 80 }),
            port => port.parse().map_err(|_| {
                let why = format!("error trying to reach service: dial tcp: lookup tcp/{port}: unknown port");
                Status::new(503, "ServiceUnavailable", why)
            }),
        }
    }
}

fn address_not_allowed() -> Status {
    Status::bad_request("address not allowed")
}

/// A port of a pod; the first port of its containers by default.
///
/// # Errors
/// There is no such pod, or it has no address that may be connected to.
pub fn pod(context: &Context, target: &Target) -> Result<Location> {
    let mut id = Id::split("pod", &target.name)?;
    let pod = object(context, target, id.name)?;
    let pod = View::<Pod>::new(&pod);
    let containers = pod.field(Pod::SPEC).field(PodSpec::CONTAINERS);
    let first = containers.iter().find_map(|container| {
        container.field(Container::PORTS).iter().next().map(|port| port.field(ContainerPort::CONTAINER_PORT).get())
    });
    let first = first.map(|port| port.to_string()).unwrap_or_default();
    if id.port.is_empty() {
        id.port = &first;
    }
    let address = pod_addresses(pod).next().unwrap_or("");
    if !address.parse().is_ok_and(is_global_unicast) {
        return Err(address_not_allowed());
    }
    Ok(Location::new(id.tls, address, id.number()?, Trust::Unverified))
}

/// The addresses of a pod, its first one first.
fn pod_addresses(pod: View<'_, Pod>) -> impl Iterator<Item = &str> {
    let status = pod.field(Pod::STATUS);
    let single = status.field(PodStatus::POD_IP).as_str();
    let all = status.field(PodStatus::POD_IPS);
    let single = (all.iter().len() == 0 && !single.is_empty()).then_some(single);
    all.iter().map(|address| address.field(PodIP::IP).as_str()).chain(single)
}

/// A node's kubelet, or another port of the node.
///
/// # Errors
/// There is no such node, or it has no address that may be connected to.
pub fn node(context: &Context, address_types: &[String], target: &Target) -> Result<Location> {
    let id = Id::split("node", &target.name)?;
    let node = object(context, target, id.name)?;
    let mut location = kubelet_of(address_types, &node)?;
    if id.port.is_empty() || id.port == location.to.port.to_string() {
        return Ok(location);
    }
    if location.to.host.parse().is_ok_and(|address| !is_global_unicast(address)) {
        return Err(address_not_allowed());
    }
    location.to = Destination { tls: id.tls, port: id.number()?, trust: Trust::Unverified, ..location.to };
    Ok(location)
}

/// An endpoint of a service that is ready, at the port named by number or name.
///
/// # Errors
/// There is no such service or port, or nothing is behind it.
pub fn service(context: &Context, target: &Target) -> Result<Location> {
    let id = Id::split("service", &target.name)?;
    let unavailable = |message| Status::new(503, "ServiceUnavailable", message);
    let mut port_name = id.port.to_owned();
    if let Ok(number) = id.port.parse::<i64>() {
        let service = object(context, target, id.name)?;
        let ports = View::<Service>::new(&service).field(Service::SPEC).field(ServiceSpec::PORTS);
        let port = ports.iter().find(|port| i64::from(port.field(ServicePort::PORT).get()) == number);
        let port =
            port.ok_or_else(|| unavailable(format!("no service port {number} found for service {:?}", id.name)))?;
        port_name = port.field(ServicePort::NAME).get();
    }
    let all = collection(context, "", "endpoints", &target.namespace)?;
    // kube-apiserver names the service when its Endpoints are missing.
    let endpoints = object(context, &all, id.name).map_err(|status| match status.code {
        404 => Status::not_found(&target.resource, id.name),
        _ => status,
    })?;
    let subsets: Vec<_> = View::<Endpoints>::new(&endpoints).field(Endpoints::SUBSETS).iter().collect();
    if subsets.is_empty() {
        return Err(unavailable(format!("no endpoints available for service {:?}", id.name)));
    }
    let found = from_random(context, &subsets).find_map(|subset| {
        let mut ports = subset.field(EndpointSubset::PORTS).iter();
        let port = ports.find(|port| port.field(EndpointPort::NAME).as_str() == port_name)?;
        let port = u16::try_from(port.field(EndpointPort::PORT).get()).ok()?;
        let addresses: Vec<_> = subset.field(EndpointSubset::ADDRESSES).iter().collect();
        let address = from_random(context, &addresses).find_map(|address| address_of(context, target, *address))?;
        Some(Location::new(id.tls, &address, port, Trust::Unverified))
    });
    found.ok_or_else(|| unavailable(format!("no endpoints available for service {:?}", target.name)))
}

/// All items, from a random one.
fn from_random<'a, T>(context: &Context, items: &'a [T]) -> impl Iterator<Item = &'a T> {
    let mut random = [0; 4];
    context.api.registry.environment.random(&mut random);
    let start = u32::from_le_bytes(random) as usize % items.len().max(1);
    items.iter().cycle().skip(start).take(items.len())
}

/// The address of an endpoint, if the pod that it refers to has it: other addresses could be outside the cluster.
fn address_of(context: &Context, target: &Target, endpoint: View<'_, EndpointAddress>) -> Option<String> {
    let reference = endpoint.field(EndpointAddress::TARGET_REF).some()?;
    if reference.field(ObjectReference::NAMESPACE).as_str() != target.namespace {
        return None;
    }
    let address = endpoint.field(EndpointAddress::IP).get();
    let pods = collection(context, "", "pods", &target.namespace).ok()?;
    let pod = object(context, &pods, reference.field(ObjectReference::NAME).as_str()).ok()?;
    pod_addresses(View::new(&pod)).any(|known| known == address).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn ids_name_scheme_and_port() {
        let rows = [
            ("s", Some((false, "s", ""))),
            ("s:80", Some((false, "s", "80"))),
            ("https:s:web", Some((true, "s", "web"))),
            ("ftp:s:80", None),
            (":80", None),
            ("a:b:c:d", None),
        ];
        for (id, expected) in rows {
            let found = Id::split("pod", id).ok().map(|id| (id.tls, id.name, id.port));
            assert_eq!(found, expected, "{id}");
        }
    }

    #[test]
    fn containers_must_be_the_pods() {
        let pod = |names: &[&str]| {
            let containers = names.iter().map(|name| value!({"name": (*name)})).collect();
            value!({"metadata": {"name": "p"}, "spec": {"containers": (Value::List(containers)), "initContainers": [{"name": "i"}]}})
        };
        let rows = [
            (pod(&["a"]), "", Ok("a")),
            (pod(&["a"]), "i", Ok("i")),
            (pod(&["a"]), "x", Err("container x is not valid for pod p")),
            (pod(&["a", "b"]), "", Err("a container name must be specified for pod p, choose one of: [i a b]")),
            (pod(&[]), "", Err("a container name must be specified for pod p")),
        ];
        for (pod, wanted, expected) in rows {
            let found = container(&pod, wanted).map_err(|status| status.message);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{wanted}");
        }
    }
}
