//! Defaults of services: what depends on their type and session affinity.
//!
//! Type and affinity themselves are constants of the schema, read here as what they will be.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, is_zero, items_mut, put, set, set_if_null, set_if_zero, text};
use pintle_schema::{ApiType, ApiValue, Value, View};
use pintle_types::core::v1::{
    ClientIPConfig, LoadBalancerIPMode, LoadBalancerIngress, LoadBalancerStatus, Service, ServiceAffinity,
    ServiceExternalTrafficPolicy, ServiceInternalTrafficPolicy, ServicePort, ServiceSpec, ServiceStatus, ServiceType,
    SessionAffinityConfig,
};

pub const RULES: &[Rule] = &[
    (Service::schema, ingress_mode),
    (ServiceSpec::schema, session_affinity),
    (ServiceSpec::schema, traffic),
    (ServicePort::schema, target_port),
];

/// Three hours.
const STICKY_SECONDS: i32 = 10_800;

fn session_affinity(spec: &mut Value) {
    let affinity = text(spec, ServiceSpec::SESSION_AFFINITY);
    if affinity.is_empty() || affinity == ServiceAffinity::NONE.as_str() {
        if let Some(config) = get_mut(spec, ServiceSpec::SESSION_AFFINITY_CONFIG) {
            *config = Value::Null;
        }
    } else if affinity == ServiceAffinity::CLIENT_IP.as_str() {
        let config = View::<ServiceSpec>::new(spec).field(ServiceSpec::SESSION_AFFINITY_CONFIG).or_zero();
        let client = config.field(SessionAffinityConfig::CLIENT_IP).or_zero();
        if !client.field(ClientIPConfig::TIMEOUT_SECONDS).is_set() {
            let client_ip = Some(ClientIPConfig { timeout_seconds: Some(STICKY_SECONDS) });
            put(spec, ServiceSpec::SESSION_AFFINITY_CONFIG, SessionAffinityConfig { client_ip }.to_value());
        }
    }
}

fn traffic(spec: &mut Value) {
    let of_type = |ty: ServiceType| text(spec, ServiceSpec::TYPE) == ty.as_str();
    let cluster = of_type(ServiceType::CLUSTER_IP) || text(spec, ServiceSpec::TYPE).is_empty();
    let balanced = of_type(ServiceType::LOAD_BALANCER);
    let from_outside = balanced || of_type(ServiceType::NODE_PORT);
    if from_outside || (cluster && !is_zero(spec, ServiceSpec::EXTERNAL_IPS)) {
        set_if_zero(spec, ServiceSpec::EXTERNAL_TRAFFIC_POLICY, ServiceExternalTrafficPolicy::CLUSTER);
    }
    if from_outside || cluster {
        set_if_null(spec, ServiceSpec::INTERNAL_TRAFFIC_POLICY, ServiceInternalTrafficPolicy::CLUSTER);
    }
    if balanced {
        set_if_null(spec, ServiceSpec::ALLOCATE_LOAD_BALANCER_NODE_PORTS, true);
    }
}

fn target_port(port: &mut Value) {
    if is_zero(port, ServicePort::TARGET_PORT) {
        let number = View::<ServicePort>::new(port).field(ServicePort::PORT).get();
        put(port, ServicePort::TARGET_PORT, Value::Int(number.into()));
    }
}

fn ingress_mode(service: &mut Value) {
    let spec = View::<Service>::new(service).field(Service::SPEC).value();
    if text(spec, ServiceSpec::TYPE) != ServiceType::LOAD_BALANCER.as_str() {
        return;
    }
    let balancer = get_mut(service, Service::STATUS).and_then(|status| get_mut(status, ServiceStatus::LOAD_BALANCER));
    let Some(balancer) = balancer else { return };
    for ingress in items_mut(balancer, LoadBalancerStatus::INGRESS) {
        let ingress = ingress.raw();
        if !is_zero(ingress, LoadBalancerIngress::IP)
            && !View::<LoadBalancerIngress>::new(ingress).field(LoadBalancerIngress::IP_MODE).is_set()
        {
            set(ingress, LoadBalancerIngress::IP_MODE, LoadBalancerIPMode::VIP);
        }
    }
}
