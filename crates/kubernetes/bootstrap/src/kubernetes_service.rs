//! The `kubernetes` service, by which pods reach the API, with its endpoints, its address and the range of that.
//!
//! The service has the first address of the primary range for good; its endpoints are where this server listens now.

use crate::object::{BootstrapObject, Kind, metadata, status_manager, type_meta};
use crate::reconcile::Reconcile;
use crate::{ServiceRange, Settings};
use pintle_schema::{IntOrString, Time, value};
use pintle_types::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, IPFamily, IPFamilyPolicy, Protocol, Service,
    ServiceAffinity, ServiceInternalTrafficPolicy, ServicePort, ServiceSpec, ServiceType,
};
use pintle_types::discovery::v1::{self as discovery, AddressType, Endpoint, EndpointConditions, EndpointSlice};
use pintle_types::meta::v1::{Condition, ConditionStatus, ObjectMeta};
use pintle_types::networking::v1::{
    IPAddress, IPAddressSpec, ParentReference, ServiceCIDR, ServiceCIDRSpec, ServiceCIDRStatus,
};
use std::net::IpAddr;

const NETWORKING: &str = "networking.k8s.io";
const SERVICE: Kind = Kind { group: "", version: "v1", plural: "services", kind: "Service" };
const ENDPOINTS: Kind = Kind { group: "", version: "v1", plural: "endpoints", kind: "Endpoints" };
const ENDPOINT_SLICE: Kind =
    Kind { group: "discovery.k8s.io", version: "v1", plural: "endpointslices", kind: "EndpointSlice" };
const SERVICE_CIDR: Kind = Kind { group: NETWORKING, version: "v1", plural: "servicecidrs", kind: "ServiceCIDR" };
const IP_ADDRESS: Kind = Kind { group: NETWORKING, version: "v1", plural: "ipaddresses", kind: "IPAddress" };

/// Name of the service and of everything that belongs to it.
const NAME: &str = "kubernetes";
const NAMESPACE: &str = "default";
const PORT_NAME: &str = "https";

/// The port at which pods reach the service.
const SERVICE_PORT: i32 = 443;

pub(crate) fn objects(settings: &Settings, out: &mut Vec<BootstrapObject>) {
    let Some(primary) = settings.service_ranges.first() else {
        return;
    };
    out.push(IP_ADDRESS.object("", Reconcile::Keep, &ip_address(primary.first())));
    kept_objects(settings, out);
}

/// All but the address, which is given to the service again when that is created again.
pub(crate) fn kept_objects(settings: &Settings, out: &mut Vec<BootstrapObject>) {
    let Some(primary) = settings.service_ranges.first() else {
        return;
    };
    let (cluster_ip, port) = (primary.first(), settings.secure_port);
    out.push(SERVICE_CIDR.object("", Reconcile::ServiceRange, &service_cidr(&settings.service_ranges, settings.now)));
    out.push(SERVICE.object(NAMESPACE, Reconcile::Service, &service(cluster_ip, port)));
    out.extend(settings.advertise_address.into_iter().flat_map(|server| servers(&[server], port)));
}

/// The objects with the addresses of the servers behind the service, which are reconciled whenever one comes or goes. The first
/// address determines the IP family.
pub fn servers(addresses: &[IpAddr], port: u16) -> [BootstrapObject; 2] {
    [
        ENDPOINTS.object(NAMESPACE, Reconcile::Endpoints, &endpoints(addresses, port)),
        ENDPOINT_SLICE.object(NAMESPACE, Reconcile::EndpointSlice, &endpoint_slice(addresses, port)),
    ]
}

fn service_cidr(ranges: &[ServiceRange], now: Time) -> ServiceCIDR {
    let condition = value!({".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:status": {}, "f:type": {}});
    let fields = value!({"f:conditions": {"k:{\"type\":\"Ready\"}": (condition)}});
    let manager = status_manager("kubernetes-service-cidr-controller", format!("{NETWORKING}/v1"), fields, now);
    ServiceCIDR {
        type_meta: type_meta(SERVICE_CIDR),
        metadata: ObjectMeta { managed_fields: vec![manager], ..metadata(NAME, "", &[], &[]) },
        spec: ServiceCIDRSpec { cidrs: ranges.iter().map(|range| range.cidr().to_owned()).collect() },
        status: ServiceCIDRStatus {
            conditions: vec![Condition {
                r#type: "Ready".to_owned(),
                status: ConditionStatus::TRUE,
                last_transition_time: now,
                message: "Kubernetes default Service CIDR is ready".to_owned(),
                ..Default::default()
            }],
        },
    }
}

fn ip_address(address: IpAddr) -> IPAddress {
    let labels = [
        ("ipaddress.kubernetes.io/ip-family", family(address)),
        ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"),
    ];
    IPAddress {
        type_meta: type_meta(IP_ADDRESS),
        metadata: metadata(&address.to_string(), "", &labels, &[]),
        spec: IPAddressSpec {
            parent_ref: Some(ParentReference {
                group: String::new(),
                resource: "services".to_owned(),
                namespace: NAMESPACE.to_owned(),
                name: NAME.to_owned(),
            }),
        },
    }
}

fn service(cluster_ip: IpAddr, port: u16) -> Service {
    Service {
        type_meta: type_meta(SERVICE),
        metadata: metadata(NAME, NAMESPACE, &[("component", "apiserver"), ("provider", "kubernetes")], &[]),
        spec: ServiceSpec {
            ports: vec![ServicePort {
                name: PORT_NAME.to_owned(),
                protocol: Protocol::TCP,
                port: SERVICE_PORT,
                target_port: IntOrString::Int(port.into()),
                ..Default::default()
            }],
            cluster_ip: cluster_ip.to_string(),
            cluster_ips: vec![cluster_ip.to_string()],
            r#type: ServiceType::CLUSTER_IP,
            session_affinity: ServiceAffinity::NONE,
            ip_families: vec![if cluster_ip.is_ipv4() { IPFamily::IPV4 } else { IPFamily::IPV6 }],
            ip_family_policy: Some(IPFamilyPolicy::SINGLE_STACK),
            internal_traffic_policy: Some(ServiceInternalTrafficPolicy::CLUSTER),
            ..Default::default()
        },
        status: Default::default(),
    }
}

fn endpoints(servers: &[IpAddr], port: u16) -> Endpoints {
    let address = |server: &IpAddr| EndpointAddress { ip: server.to_string(), ..Default::default() };
    Endpoints {
        type_meta: type_meta(ENDPOINTS),
        // The slice is written next to it, so it must not be mirrored into another one.
        metadata: metadata(NAME, NAMESPACE, &[("endpointslice.kubernetes.io/skip-mirror", "true")], &[]),
        subsets: match servers {
            [] => Vec::new(),
            servers => vec![EndpointSubset {
                addresses: servers.iter().map(address).collect(),
                not_ready_addresses: Vec::new(),
                ports: vec![EndpointPort {
                    name: PORT_NAME.to_owned(),
                    port: port.into(),
                    protocol: Protocol::TCP,
                    app_protocol: None,
                }],
            }],
        },
    }
}

fn endpoint_slice(servers: &[IpAddr], port: u16) -> EndpointSlice {
    let endpoint = |server: &IpAddr| Endpoint {
        addresses: vec![server.to_string()],
        conditions: EndpointConditions { ready: Some(true), ..Default::default() },
        ..Default::default()
    };
    EndpointSlice {
        type_meta: type_meta(ENDPOINT_SLICE),
        metadata: metadata(NAME, NAMESPACE, &[("kubernetes.io/service-name", NAME)], &[]),
        address_type: match servers.first() {
            Some(IpAddr::V6(_)) => AddressType::IPV6,
            _ => AddressType::IPV4,
        },
        endpoints: servers.iter().map(endpoint).collect(),
        ports: vec![discovery::EndpointPort {
            name: Some(PORT_NAME.to_owned()),
            protocol: Some(Protocol::TCP),
            port: Some(port.into()),
            app_protocol: None,
        }],
    }
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}
