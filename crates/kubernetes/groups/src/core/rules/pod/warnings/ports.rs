//! Warnings of the ports of containers: host IPs without host ports, duplicate ports and names.
//!
//! A port is compared only with those of the same number and protocol. Texts are kube-apiserver's.

use crate::rules::warnings::MOST;
use pintle_schema::names::quoted;
use pintle_schema::{Str, View};
use pintle_types::core::v1::{Container, ContainerPort, PodSpec};
use pintle_validation::FieldPath;
use std::collections::HashMap;

/// Warns of ports of a host's address without a port, of those that two containers, or one twice, listen on, and of
/// names that mean another port already.
pub fn warn(spec: View<'_, PodSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let mut earlier: HashMap<(i32, Str), Vec<(ContainerPort, String)>> = HashMap::new();
    let mut names: HashMap<String, String> = HashMap::new();
    let mut repeated_names = Vec::new();
    for field in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        let containers = path.to(field);
        for (index, container) in spec.field(field).iter().enumerate() {
            let container_path = containers.index(index);
            let list = container_path.to(Container::PORTS);
            for (index, port) in container.field(Container::PORTS).iter().enumerate() {
                let place = list.index(index).to_string();
                let port = port.get();
                if !port.host_ip.is_empty() && port.host_port == 0 {
                    let ContainerPort { name, container_port, protocol, host_ip, .. } = &port;
                    let protocol = protocol.as_str();
                    warnings.push(format!(
                        "{place}: hostIP set without hostPort: \
                         {{Name:{name} HostPort:0 ContainerPort:{container_port} Protocol:{protocol} HostIP:{host_ip}}}"
                    ));
                }
                let same = earlier.entry((port.container_port, port.protocol.0.clone())).or_default();
                for (other, other_place) in same.iter() {
                    if warnings.len() >= MOST {
                        break;
                    }
                    if let Some(fault) = clash(&port, other) {
                        warnings.push(format!("{place}: {fault} port definition with {other_place}"));
                    }
                }
                if let Some(first) = names.get(&port.name) {
                    repeated_names.push(format!(
                        "{place}: duplicate port name {} with {first}, services and probes that select ports by name \
                         will use {first}",
                        quoted(&port.name)
                    ));
                } else if !port.name.is_empty() {
                    names.insert(port.name.clone(), place.clone());
                }
                same.push((port, place));
            }
        }
    }
    // Names come after all numbers.
    warnings.append(&mut repeated_names);
}

/// The conflict of two ports with the same number and protocol.
fn clash(port: &ContainerPort, other: &ContainerPort) -> Option<&'static str> {
    if (port.host_port, &port.host_ip) == (other.host_port, &other.host_ip) {
        Some("duplicate")
    } else if port.host_port == 0 || other.host_port == 0 {
        Some("overlapping")
    } else {
        let is_ambiguous = port.host_port == other.host_port && (port.host_ip.is_empty() != other.host_ip.is_empty());
        is_ambiguous.then_some("dangerously ambiguous")
    }
}
