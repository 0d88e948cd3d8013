//! Node ports of services: which ports of a service share one, which are static, and which are allocated dynamically.
//!
//! A number is one node port whatever the protocol, but ports of one new service with the same number share theirs.
//! This module releases nothing: a port that an update drops is free once the update is stored.

use super::draw::Draw;
use pintle_registry::Status;
use pintle_types::core::v1::{ServiceExternalTrafficPolicy, ServiceSpec, ServiceType};
use std::collections::{HashMap, HashSet};

/// Why a node port is not allocated.
pub enum Refusal {
    /// The static port at this index is not available.
    Port {
        index: usize,
        port: i32,
        why: String,
    },
    Other(Box<Status>),
}

/// The node ports of a new service.
///
/// # Errors
/// A static port is not available, or none is free.
pub fn create(spec: &mut ServiceSpec, draw: &mut Draw<'_>) -> Result<(), Refusal> {
    if takes_node_ports(spec) {
        create_all(spec, draw)?;
    }
    if needs_health_check_port(spec) {
        health_check(spec, draw)?;
    }
    Ok(())
}

/// The additional node ports of a changed service.
///
/// # Errors
/// A static port is not available, or none is free.
pub fn update(spec: &mut ServiceSpec, old: &ServiceSpec, draw: &mut Draw<'_>) -> Result<(), Refusal> {
    if takes_node_ports(spec) {
        update_all(spec, old, draw)?;
    }
    if needs_health_check_port(spec) && !needs_health_check_port(old) {
        health_check(spec, draw)?;
    }
    Ok(())
}

fn takes_node_ports(spec: &ServiceSpec) -> bool {
    spec.r#type == ServiceType::NODE_PORT || spec.r#type == ServiceType::LOAD_BALANCER
}

/// Load balancers may disable node ports; static ports are allocated all the same.
fn draws_node_ports(spec: &ServiceSpec) -> bool {
    spec.r#type == ServiceType::NODE_PORT || spec.allocate_load_balancer_node_ports != Some(false)
}

fn needs_health_check_port(spec: &ServiceSpec) -> bool {
    spec.r#type == ServiceType::LOAD_BALANCER && spec.external_traffic_policy == ServiceExternalTrafficPolicy::LOCAL
}

fn create_all(spec: &mut ServiceSpec, draw: &mut Draw<'_>) -> Result<(), Refusal> {
    let draws = draws_node_ports(spec);
    // The first static node port for each port number.
    let mut wishes: HashMap<i32, i32> = HashMap::new();
    for port in spec.ports.iter().filter(|port| port.node_port != 0) {
        wishes.entry(port.port).or_insert(port.node_port);
    }
    // The node port of each port number seen so far.
    let mut shared: HashMap<i32, i32> = HashMap::new();
    for (index, port) in spec.ports.iter_mut().enumerate() {
        if port.node_port == 0 && !draws {
            continue;
        }
        match shared.get(&port.port) {
            None => {
                let given = match wishes.get(&port.port).copied() {
                    Some(wish) => draw.node_port(wish).map_err(|why| Refusal::Port { index, port: wish, why })?,
                    None => any(draw)?,
                };
                port.node_port = given;
                shared.insert(port.port, given);
            }
            Some(given) if port.node_port == 0 => port.node_port = *given,
            Some(given) if port.node_port == *given => {}
            Some(_) => {
                let wish = port.node_port;
                draw.node_port(wish).map_err(|why| Refusal::Port { index, port: wish, why })?;
            }
        }
    }
    Ok(())
}

fn update_all(spec: &mut ServiceSpec, old: &ServiceSpec, draw: &mut Draw<'_>) -> Result<(), Refusal> {
    let draws = draws_node_ports(spec);
    let mut mine: HashSet<i32> = old.ports.iter().map(|port| port.node_port).filter(|port| *port != 0).collect();
    let mut seen = HashSet::new();
    for (index, port) in spec.ports.iter_mut().enumerate() {
        if port.node_port == 0 && !draws {
            continue;
        }
        let wish = port.node_port;
        if wish == 0 {
            port.node_port = any(draw)?;
        } else if !mine.contains(&wish) {
            draw.node_port(wish).map_err(|why| Refusal::Port { index, port: wish, why })?;
            mine.insert(wish);
        }
        let pair = (port.protocol.as_str().to_owned(), port.node_port);
        if let Some((protocol, port)) = seen.replace(pair) {
            let status = Status::unexplained(format!("duplicate nodePort: {{{protocol} {port}}}"));
            return Err(Refusal::Other(Box::new(status)));
        }
    }
    Ok(())
}

fn any(draw: &mut Draw<'_>) -> Result<i32, Refusal> {
    draw.any_node_port().map_err(|why| other(format!("failed to allocate a nodePort: {why}")))
}

fn health_check(spec: &mut ServiceSpec, draw: &mut Draw<'_>) -> Result<(), Refusal> {
    match spec.health_check_node_port {
        0 => {
            let drawn = draw.any_node_port();
            spec.health_check_node_port =
                drawn.map_err(|why| other(format!("failed to allocate a HealthCheck NodePort 0: {why}")))?;
        }
        wish => {
            let given = draw.node_port(wish);
            given.map_err(|why| other(format!("failed to allocate requested HealthCheck NodePort {wish}: {why}")))?;
        }
    }
    Ok(())
}

fn other(why: String) -> Refusal {
    Refusal::Other(Box::new(Status::internal(why)))
}
