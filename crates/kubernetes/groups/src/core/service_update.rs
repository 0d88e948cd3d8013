//! Fields of the stored service that an update keeps or releases.
//!
//! Clients that read a service, change one field and write it back must not lose what was allocated, whatever fields
//! they know. Nothing is allocated or released here.

use crate::views::{clear, take_old};
use pintle_resource::{Context, same};
use pintle_schema::{FieldName, Value, View, ViewMut};
use pintle_types::core::v1::{
    LoadBalancerStatus, Service, ServiceExternalTrafficPolicy, ServicePort, ServiceSpec, ServiceStatus, ServiceType,
};
use std::collections::{BTreeMap, BTreeSet};

type Old<'a> = View<'a, ServiceSpec>;
type New<'a> = ViewMut<'a, ServiceSpec>;

pub(super) fn prepare(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<Service>::new(old).field(Service::SPEC);
    let mut service = ViewMut::<Service>::new(new);
    let mut new = service.by_ref().field(Service::SPEC);
    keep_allocated(&mut new, old);
    agree_on_cluster_ips(&mut new, old);
    drop_what_no_longer_applies(&mut new, old);
    if service.view().field(Service::SPEC).field(ServiceSpec::TYPE).get() != ServiceType::LOAD_BALANCER {
        let status = service.field(Service::STATUS);
        status.field(ServiceStatus::LOAD_BALANCER).set(LoadBalancerStatus::default());
    }
}

/// Keeps allocated values that the request omits.
fn keep_allocated(new: &mut New<'_>, old: Old<'_>) {
    if needs_cluster_ip(old) && needs_cluster_ip(new.view()) {
        if new.view().field(ServiceSpec::CLUSTER_IP).as_str().is_empty() {
            take_old(new, old, ServiceSpec::CLUSTER_IP);
        }
        if no_cluster_ips(new.view()) {
            take_old(new, old, ServiceSpec::CLUSTER_IPS);
        }
    }
    if needs_node_port(old) && needs_node_port(new.view()) {
        keep_node_ports(new, old);
    }
    if needs_health_check_port(old)
        && needs_health_check_port(new.view())
        && new.view().field(ServiceSpec::HEALTH_CHECK_NODE_PORT).get() == 0
    {
        take_old(new, old, ServiceSpec::HEALTH_CHECK_NODE_PORT);
    }
}

/// Node ports follow the names of ports, unless the request names the number. Ports without a name all get that of the
/// old port without one; the allocation then refuses the repetition.
fn keep_node_ports(new: &mut New<'_>, old: Old<'_>) {
    let by_name: BTreeMap<String, i32> = old
        .field(ServiceSpec::PORTS)
        .iter()
        .map(|port| (port.field(ServicePort::NAME).get(), port.field(ServicePort::NODE_PORT).get()))
        .collect();
    let used: BTreeSet<i32> = node_ports(old).intersection(&node_ports(new.view())).copied().collect();
    for port in new.by_ref().field(ServiceSpec::PORTS).iter_mut() {
        let known = by_name.get(port.view().field(ServicePort::NAME).as_str());
        let Some(&known) = known.filter(|&&known| known != 0) else { continue };
        if port.view().field(ServicePort::NODE_PORT).get() == 0 && !used.contains(&known) {
            port.field(ServicePort::NODE_PORT).set(known);
        }
    }
}

/// `clusterIP` and `clusterIPs` follow each other for clients that know only the first.
fn agree_on_cluster_ips(new: &mut New<'_>, old: Old<'_>) {
    let view = new.view();
    let same_single = same_field(view, old, ServiceSpec::CLUSTER_IP);
    if same_single {
        if no_cluster_ips(view) && !no_cluster_ips(old) {
            take_old(new, old, ServiceSpec::CLUSTER_IPS);
        }
        return;
    }
    if !same_field(view, old, ServiceSpec::CLUSTER_IPS) {
        return;
    }
    match view.field(ServiceSpec::CLUSTER_IP).get() {
        single if single.is_empty() => clear(new, ServiceSpec::CLUSTER_IPS),
        single => new.by_ref().field(ServiceSpec::CLUSTER_IPS).set(vec![single]),
    }
}

/// Clears fields that the new type does not have, when the request only repeats the old value.
fn drop_what_no_longer_applies(new: &mut New<'_>, old: Old<'_>) {
    if needs_cluster_ip(old) && !needs_cluster_ip(new.view()) {
        if same_field(new.view(), old, ServiceSpec::CLUSTER_IP) && same_field(new.view(), old, ServiceSpec::CLUSTER_IPS)
        {
            clear(new, ServiceSpec::CLUSTER_IP);
            clear(new, ServiceSpec::CLUSTER_IPS);
        }
        drop_repeated(new, old, ServiceSpec::IP_FAMILIES);
        drop_repeated(new, old, ServiceSpec::IP_FAMILY_POLICY);
    }
    // A load balancer that asks for no more node ports keeps those that the request names.
    let lost_node_ports =
        needs_node_port(old) && !needs_node_port(new.view()) && !is(new.view(), ServiceType::LOAD_BALANCER);
    if lost_node_ports && node_ports(old) == node_ports(new.view()) {
        for mut port in new.by_ref().field(ServiceSpec::PORTS).iter_mut() {
            clear(&mut port, ServicePort::NODE_PORT);
        }
    }
    if needs_health_check_port(old) && !needs_health_check_port(new.view()) {
        drop_repeated(new, old, ServiceSpec::HEALTH_CHECK_NODE_PORT);
    }
    if is(old, ServiceType::LOAD_BALANCER) && !is(new.view(), ServiceType::LOAD_BALANCER) {
        drop_repeated(new, old, ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS);
        drop_repeated(new, old, ServiceSpec::LOAD_BALANCER_CLASS);
    }
    if is_reached_from_outside(old) && !is_reached_from_outside(new.view()) {
        drop_repeated(new, old, ServiceSpec::EXTERNAL_TRAFFIC_POLICY);
    }
}

fn drop_repeated<F>(new: &mut New<'_>, old: Old<'_>, field: FieldName<ServiceSpec, F>) {
    if same_field(new.view(), old, field) {
        clear(new, field);
    }
}

fn same_field<F>(new: Old<'_>, old: Old<'_>, field: FieldName<ServiceSpec, F>) -> bool {
    same(new.field(field).value(), old.field(field).value())
}

fn no_cluster_ips(spec: Old<'_>) -> bool {
    spec.field(ServiceSpec::CLUSTER_IPS).iter().len() == 0
}

fn node_ports(spec: Old<'_>) -> BTreeSet<i32> {
    let ports = spec.field(ServiceSpec::PORTS).iter().map(|port| port.field(ServicePort::NODE_PORT).get());
    ports.filter(|port| *port != 0).collect()
}

fn is(spec: Old<'_>, kind: ServiceType) -> bool {
    spec.field(ServiceSpec::TYPE).get() == kind
}

/// Every type but ExternalName, those among them that do not exist and are refused later.
pub(super) fn needs_cluster_ip(spec: Old<'_>) -> bool {
    !is(spec, ServiceType::EXTERNAL_NAME)
}

fn needs_node_port(spec: Old<'_>) -> bool {
    let asked = spec.field(ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS).get();
    is(spec, ServiceType::NODE_PORT) || (is(spec, ServiceType::LOAD_BALANCER) && asked != Some(false))
}

fn needs_health_check_port(spec: Old<'_>) -> bool {
    is(spec, ServiceType::LOAD_BALANCER)
        && spec.field(ServiceSpec::EXTERNAL_TRAFFIC_POLICY).get() == ServiceExternalTrafficPolicy::LOCAL
}

fn is_reached_from_outside(spec: Old<'_>) -> bool {
    is(spec, ServiceType::LOAD_BALANCER)
        || is(spec, ServiceType::NODE_PORT)
        || (is(spec, ServiceType::CLUSTER_IP) && spec.field(ServiceSpec::EXTERNAL_IPS).iter().len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_context;
    use pintle_schema::value;

    #[test]
    fn updates() {
        let stored = || {
            value!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
            "externalTrafficPolicy": "Cluster", "ports": [{"name": "a", "nodePort": 30001}, {"name": "b", "nodePort": 30002}]})
        };
        let rows = [
            (
                "allocated values are kept",
                value!({"type": "NodePort", "externalTrafficPolicy": "Cluster", "ports": [{"name": "b"}, {"name": "a"}, {"name": "c"}]}),
                value!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "externalTrafficPolicy": "Cluster",
                    "ports": [{"name": "b", "nodePort": 30002}, {"name": "a", "nodePort": 30001}, {"name": "c"}]}),
            ),
            (
                "ports of one name get one number",
                value!({"type": "NodePort", "ports": [{"name": "a"}, {"name": "a"}]}),
                value!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "ports": [{"name": "a", "nodePort": 30001}, {"name": "a", "nodePort": 30001}]}),
            ),
            (
                "a number claimed by another port is not given again",
                value!({"type": "NodePort", "ports": [{"name": "a"}, {"name": "c", "nodePort": 30001}]}),
                value!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "ports": [{"name": "a"}, {"name": "c", "nodePort": 30001}]}),
            ),
            (
                "a changed address moves the list along",
                value!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.1"]}),
                value!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}),
            ),
            (
                "and a list that is not sent",
                value!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": []}),
                value!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}),
            ),
            (
                "another type lets go of repeated values",
                value!({"type": "ExternalName", "externalName": "x", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "externalTrafficPolicy": "Cluster",
                    "ports": [{"name": "a", "nodePort": 30001}, {"name": "b", "nodePort": 30002}]}),
                value!({"type": "ExternalName", "externalName": "x", "ports": [{"name": "a"}, {"name": "b"}]}),
            ),
            (
                "a type that does not exist keeps its addresses until it is refused",
                value!({"type": "Strange", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"name": "a"}]}),
                value!({"type": "Strange", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"name": "a"}]}),
            ),
            (
                "but not of changed ones",
                value!({"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "externalTrafficPolicy": "Local", "ports": [{"name": "a", "nodePort": 30009}]}),
                value!({"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                    "externalTrafficPolicy": "Local", "ports": [{"name": "a", "nodePort": 30009}]}),
            ),
        ];
        for (what, given, expected) in rows {
            let mut new = value!({"spec": given});
            let old = value!({"spec": (stored())});
            with_context(|context| prepare(&mut new, &old, context));
            let spec = new.get("spec").cloned().unwrap_or_default();
            assert!(same(&spec, &expected), "{what}: {spec:?}");
        }
    }
}
