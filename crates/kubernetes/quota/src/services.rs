//! The usage of services: their number, node ports and load balancers.

use crate::profile::{Profile, one};
use pintle_schema::{Quantity, View};
use pintle_types::core::v1::{Service, ServicePort, ServiceSpec, ServiceType};

pub(crate) fn profile(service: View<'_, Service>) -> Profile {
    let spec = service.field(Service::SPEC);
    let ports = || spec.field(ServiceSpec::PORTS).iter();
    let kind = spec.field(ServiceSpec::TYPE).get();
    let is_balanced = kind == ServiceType::LOAD_BALANCER;
    let allocates = spec.field(ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS).get() != Some(false);
    let node_ports = match (kind == ServiceType::NODE_PORT, is_balanced) {
        (true, _) => ports().count(),
        // Ports are not allocated yet: the requested ones count.
        (_, true) if allocates => ports().count(),
        (_, true) => ports().filter(|port| port.field(ServicePort::NODE_PORT).get() != 0).count(),
        _ => 0,
    };
    let amount = |count: usize| Quantity::from_i64(i64::try_from(count).unwrap_or(i64::MAX));
    let usage = [
        one("count/services"),
        one("services"),
        ("services.loadbalancers".to_owned(), amount(usize::from(is_balanced))),
        ("services.nodeports".to_owned(), amount(node_ports)),
    ];
    Profile { usage: usage.into(), ..Profile::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amounts::shown;
    use pintle_schema::value;

    #[test]
    fn ports_and_balancers() {
        let ports = || value!([{"port": 80}, {"port": 81, "nodePort": 30000}]);
        let rows = [
            (value!({"spec": {"type": "ClusterIP", "ports": (ports())}}), "0", "0"),
            (value!({"spec": {"type": "NodePort", "ports": (ports())}}), "0", "2"),
            (value!({"spec": {"type": "LoadBalancer", "ports": (ports())}}), "1", "2"),
            (
                value!({"spec": {"type": "LoadBalancer", "ports": (ports()), "allocateLoadBalancerNodePorts": false}}),
                "1",
                "1",
            ),
        ];
        for (service, balancers, node_ports) in rows {
            let usage = profile(View::new(&service)).usage;
            let expected = format!(
                "count/services=1,services=1,services.loadbalancers={balancers},services.nodeports={node_ports}"
            );
            assert_eq!(shown(&usage), expected);
        }
    }
}
