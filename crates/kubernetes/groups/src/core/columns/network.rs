//! Services and Endpoints: where they can be reached.
//!
//! Shared with Ingress: the addresses of a load balancer.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, SELECTOR, printers, string};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, LoadBalancerIngress, LoadBalancerStatus, Service,
    ServicePort, ServiceSpec, ServiceStatus, ServiceType,
};

printers! {
    SERVICE: Service |service, now| {
        NAME => name(service),
        string("Type", "How far the service can be reached.") => text(service.to(Service::SPEC).to(ServiceSpec::TYPE)),
        string("Cluster-IP", "Address inside the cluster.") => cluster_ip(service),
        string("External-IP", "Addresses outside the cluster.") => external_ip(service),
        string("Port(s)", "Ports, with those on nodes.") => ports(service),
        AGE => age(service, now),
        SELECTOR => labels(service.to(Service::SPEC).to(ServiceSpec::SELECTOR)),
    }
    ENDPOINTS: Endpoints |endpoints, now| {
        NAME => name(endpoints),
        string("Endpoints", "Addresses and ports that are ready.") => addresses_and_ports(endpoints),
        AGE => age(endpoints, now),
    }
}

fn cluster_ip(service: View<'_, Service>) -> Value {
    let ips = service.to(Service::SPEC).to(ServiceSpec::CLUSTER_IPS);
    strings(ips).next().unwrap_or(NONE).into()
}

fn external_ip(service: View<'_, Service>) -> Value {
    let spec = service.to(Service::SPEC);
    let external = join(strings(spec.to(ServiceSpec::EXTERNAL_IPS)), ",");
    let ty = spec.to(ServiceSpec::TYPE).get();
    if ty == ServiceType::CLUSTER_IP || ty == ServiceType::NODE_PORT {
        or(external, NONE)
    } else if ty == ServiceType::LOAD_BALANCER {
        let entries = service.to(Service::STATUS).to(ServiceStatus::LOAD_BALANCER).to(LoadBalancerStatus::INGRESS);
        let balancer =
            joined_set(entries.iter().map(|entry| {
                str_or(entry.to(LoadBalancerIngress::IP), str_of(entry.to(LoadBalancerIngress::HOSTNAME)))
            }));
        or(join([balancer, external].iter().filter(|text| !text.is_empty()), ","), "<pending>")
    } else if ty == ServiceType::EXTERNAL_NAME {
        text(spec.to(ServiceSpec::EXTERNAL_NAME))
    } else {
        UNKNOWN.into()
    }
}

fn ports(service: View<'_, Service>) -> Value {
    let ports = service.to(Service::SPEC).to(ServiceSpec::PORTS);
    let texts = ports.iter().map(|port| {
        let (number, node_port) = (int_of(port.to(ServicePort::PORT)), int_of(port.to(ServicePort::NODE_PORT)));
        let protocol = str_of(port.to(ServicePort::PROTOCOL));
        if node_port > 0 { format!("{number}:{node_port}/{protocol}") } else { format!("{number}/{protocol}") }
    });
    or(join(texts, ","), NONE)
}

fn addresses_and_ports(endpoints: View<'_, Endpoints>) -> Value {
    let subsets = endpoints.to(Endpoints::SUBSETS);
    if subsets.iter().len() == 0 {
        return NONE.into();
    }
    let mut texts = Vec::new();
    for subset in subsets.iter() {
        let addresses = subset.to(EndpointSubset::ADDRESSES);
        let ips = || addresses.iter().map(|address| str_of(address.to(EndpointAddress::IP)));
        let ports = subset.to(EndpointSubset::PORTS);
        // Services without ports may have endpoints, too.
        if ports.iter().len() == 0 {
            texts.extend(ips().map(str::to_owned));
        }
        for port in ports.iter().map(|port| int_of(port.to(EndpointPort::PORT))) {
            texts.extend(ips().map(|ip| host_and_port(ip, port)));
        }
    }
    clipped(&texts, 3, ",").into()
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}
