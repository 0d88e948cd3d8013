//! Streams to a kubelet or a backend: log, exec, attach, portforward and proxy.
//!
//! Nothing is connected yet. A request is judged as the reference judges it until the connection would be made.

use crate::query::Query;
use crate::serve::{Answer, Context};
use pintle_kinds::resource::Subresource;
use pintle_registry::{Result, Status, Target};
use pintle_schema::Value;
use pintle_types::core::v1::{Container, Node, NodeStatus, Pod, PodSpec, PodStatus, Service, ServicePort, ServiceSpec};
use pintle_validation::ErrorList;

/// Answers a request for a stream.
///
/// # Errors
/// The options are wrong, or there is nothing to connect to.
pub fn serve(context: &Context, target: &Target, subresource: &Subresource) -> Result<Answer> {
    match (target.resource.kind, subresource.name) {
        ("Pod", "proxy") => pod_proxy(context, target),
        ("Pod", "log") => log(context, target),
        ("Pod", name) => stream(context, target, matches!(name, "exec" | "attach")),
        ("Service", _) => service_proxy(context, target),
        _ => node_proxy(context, target),
    }
}

/// What is answered where a connection would be made.
fn no_connection() -> Status {
    Status::new(501, "NotImplemented", "connections to nodes and pods are not made by this server")
}

fn object(context: &Context, target: &Target, name: &str) -> Result<Value> {
    let target = Target { name: name.to_owned(), ..target.clone() };
    let stored = target.get()?;
    context.api.registry.decode(&target, &stored)
}

fn other(context: &Context, plural: &str, namespace: &str, name: &str) -> Option<Value> {
    let resource = pintle_kinds::find("", "v1", plural)?;
    let target = context.api.registry.target(resource, namespace, name)?;
    object(context, &target, name).ok()
}

fn log(context: &Context, target: &Target) -> Result<Answer> {
    check_log_options(&context.query, &target.name)?;
    let pod = object(context, target, &target.name)?;
    check_container(&pod, context.query.get("container"))?;
    match node_of(&pod) {
        // Nothing was ever said.
        "" => Ok(Answer { content_type: String::new(), ..Answer::new(204, "", "") }),
        node => Err(unreachable_node(context, node)),
    }
}

fn stream(context: &Context, target: &Target, of_container: bool) -> Result<Answer> {
    let pod = object(context, target, &target.name)?;
    if of_container {
        check_container(&pod, context.query.get("container"))?;
    }
    match node_of(&pod) {
        "" => Err(Status::bad_request(format!("pod {} does not have a host assigned", target.name))),
        node => Err(unreachable_node(context, node)),
    }
}

fn check_log_options(query: &Query, pod: &str) -> Result<()> {
    let mut errors = ErrorList::default();
    let (tail, since, limit) =
        (query.integer("tailLines")?, query.integer("sinceSeconds")?, query.integer("limitBytes")?);
    if let Some(lines) = tail.filter(|lines| *lines < 0) {
        errors.invalid("tailLines", lines, "must be greater than or equal to 0");
    }
    if let Some(bytes) = limit.filter(|bytes| *bytes < 1) {
        errors.invalid("limitBytes", bytes, "must be greater than 0");
    }
    match since {
        Some(_) if query.has("sinceTime") => {
            errors.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
        }
        Some(seconds) if seconds < 1 => errors.invalid("sinceSeconds", seconds, "must be greater than 0"),
        _ => {}
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("", "PodLogOptions", pod, &errors)) }
}

/// The container that is meant must be one of the pod's; a pod with one container needs no name.
fn check_container(pod: &Value, wanted: &str) -> Result<()> {
    let name = pod.str_at(&["metadata", "name"]);
    let names = |field: &str, key: &'static str| -> Vec<String> {
        let items = pod.at(&[Pod::SPEC.name(), field]).and_then(Value::as_list).unwrap_or(&[]);
        items.iter().map(|item| item.str_at(&[key]).to_owned()).collect()
    };
    let containers = names(PodSpec::CONTAINERS.name(), Container::NAME.name());
    if wanted.is_empty() && containers.len() == 1 {
        return Ok(());
    }
    let mut all = names(PodSpec::INIT_CONTAINERS.name(), Container::NAME.name());
    let several = containers.len() > 1;
    all.extend(containers);
    all.extend(names(PodSpec::EPHEMERAL_CONTAINERS.name(), "name"));
    if wanted.is_empty() {
        let choice = if several { format!(", choose one of: [{}]", all.join(" ")) } else { String::new() };
        return Err(Status::bad_request(format!("a container name must be specified for pod {name}{choice}")));
    }
    match all.iter().any(|container| container == wanted) {
        true => Ok(()),
        false => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
    }
}

fn node_of(pod: &Value) -> &str {
    pod.str_at(&[Pod::SPEC.name(), PodSpec::NODE_NAME.name()])
}

/// Why the kubelet of a node cannot be talked to. The reference names a missing node as if it were a pod.
fn unreachable_node(context: &Context, name: &str) -> Status {
    let Some(node) = other(context, "nodes", "", name) else {
        let pods = pintle_kinds::find("", "v1", "pods");
        return pods.map_or_else(Status::no_such_path, |pods| Status::not_found(pods, name));
    };
    let addresses =
        node.at(&[Node::STATUS.name(), NodeStatus::ADDRESSES.name()]).and_then(Value::as_list).unwrap_or(&[]);
    if addresses.is_empty() {
        return Status::unexplained("no preferred addresses found; known addresses: []");
    }
    no_connection()
}

/// An id of a proxy: `[scheme:]name[:port]`.
fn split_id(id: &str) -> Option<(&str, &str)> {
    let (scheme, name, port) = match id.split(':').collect::<Vec<_>>()[..] {
        [name] => ("", name, ""),
        [name, port] => ("", name, port),
        [scheme, name, port] => (scheme, name, port),
        _ => return None,
    };
    (matches!(scheme, "" | "http" | "https") && !name.is_empty()).then_some((name, port))
}

fn pod_proxy(context: &Context, target: &Target) -> Result<Answer> {
    let (name, _) = split_id(&target.name).ok_or_else(|| invalid_id("pod", &target.name))?;
    let pod = object(context, target, name)?;
    match pod.str_at(&[Pod::STATUS.name(), PodStatus::POD_IP.name()]) {
        "" => Err(Status::bad_request("address not allowed")),
        _ => Err(no_connection()),
    }
}

fn service_proxy(context: &Context, target: &Target) -> Result<Answer> {
    let (name, port) = split_id(&target.name).ok_or_else(|| invalid_id("service", &target.name))?;
    let service = object(context, target, name)?;
    if let Ok(number) = port.parse::<i64>() {
        let ports =
            service.at(&[Service::SPEC.name(), ServiceSpec::PORTS.name()]).and_then(Value::as_list).unwrap_or(&[]);
        if !ports.iter().any(|port| port.get(ServicePort::PORT.name()).and_then(Value::as_i64) == Some(number)) {
            return Err(Status::new(
                503,
                "ServiceUnavailable",
                format!("no service port {number} found for service {name:?}"),
            ));
        }
    }
    let Some(endpoints) = other(context, "endpoints", &target.namespace, name) else {
        return Err(Status::not_found(target.resource, name));
    };
    if endpoints.get("subsets").and_then(Value::as_list).unwrap_or(&[]).is_empty() {
        return Err(Status::new(
            503,
            "ServiceUnavailable",
            format!("no endpoints available for service {:?}", target.name),
        ));
    }
    Err(no_connection())
}

fn node_proxy(context: &Context, target: &Target) -> Result<Answer> {
    let (name, _) = split_id(&target.name).ok_or_else(|| invalid_id("node", &target.name))?;
    object(context, target, name)?;
    Err(no_connection())
}

fn invalid_id(kind: &str, id: &str) -> Status {
    Status::bad_request(format!("invalid {kind} request {id:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn ids_name_scheme_and_port() {
        let rows = [
            ("s", Some(("s", ""))),
            ("s:80", Some(("s", "80"))),
            ("https:s:web", Some(("s", "web"))),
            ("ftp:s:80", None),
            (":80", None),
            ("a:b:c:d", None),
        ];
        for (id, expected) in rows {
            assert_eq!(split_id(id), expected, "{id}");
        }
    }

    #[test]
    fn containers_must_be_the_pods() {
        let pod = |names: &[&str]| {
            let containers = names.iter().map(|name| value!({"name": (*name)})).collect();
            value!({"metadata": {"name": "p"}, "spec": {"containers": (Value::List(containers)), "initContainers": [{"name": "i"}]}})
        };
        let rows = [
            (pod(&["a"]), "", Ok(())),
            (pod(&["a"]), "i", Ok(())),
            (pod(&["a"]), "x", Err("container x is not valid for pod p")),
            (pod(&["a", "b"]), "", Err("a container name must be specified for pod p, choose one of: [i a b]")),
            (pod(&[]), "", Err("a container name must be specified for pod p")),
        ];
        for (pod, wanted, expected) in rows {
            let found = check_container(&pod, wanted).map_err(|status| status.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{wanted}");
        }
    }
}
