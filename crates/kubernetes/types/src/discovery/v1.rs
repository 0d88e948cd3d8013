//! Types of `discovery.k8s.io/v1`: endpoint slices.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, string_type};

use crate::core::v1::{ObjectReference, Protocol};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Portion of the network endpoints that implement a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "discovery.k8s.io", plural = "endpointslices", namespaced))]
#[k8s(last(subfield(address_type)(fixed)))]
pub struct EndpointSlice {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Kind of address found in this slice; fixed at creation.
    #[k8s(proto = 4, required, always, enum)]
    pub address_type: AddressType,
    /// Backends in this slice, at most 1000.
    #[k8s(proto = 2, optional, always, list_type = atomic, max_items = 1000)]
    pub endpoints: Vec<Endpoint>,
    /// Ports offered by each endpoint listed here; at most 100.
    #[k8s(proto = 3, optional, always, list_type = atomic, max_items = 20_000)]
    pub ports: Vec<EndpointPort>,
}

string_type! {
    /// Kind of address an endpoint slice carries.
    #[closed]
    pub AddressType {
        /// IPv4 addresses.
        IPV4 = "IPv4",
        /// IPv6 addresses.
        IPV6 = "IPv6",
        /// Fully qualified domain names.
        FQDN = "FQDN",
    }
}

/// One logical backend of a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// Addresses of this backend, of the type given by the slice.
    #[k8s(proto = 1, required = "must contain at least 1 address", always, list_type = set, max_items = 100)]
    pub addresses: Vec<String>,
    /// Whether the backend can currently take traffic.
    #[k8s(proto = 2)]
    pub conditions: EndpointConditions,
    /// DNS label distinguishing this backend from others of the service.
    #[k8s(proto = 3, optional, format = "dns1123-label")]
    pub hostname: Option<String>,
    /// Object, usually a pod, behind the endpoint.
    #[k8s(proto = 4, optional)]
    pub target_ref: Option<ObjectReference>,
    /// Leftover topology labels from the beta version; read-only in practice.
    #[k8s(proto = 5, optional, max_items = 16, labels)]
    pub deprecated_topology: BTreeMap<String, String>,
    /// Node on which the backend runs.
    #[k8s(proto = 6, optional, format = "dns1123-subdomain")]
    pub node_name: Option<String>,
    /// Zone in which the backend runs.
    #[k8s(proto = 7, optional)]
    pub zone: Option<String>,
    /// Advice on which clients should prefer the backend.
    #[k8s(proto = 8, optional)]
    pub hints: Option<EndpointHints>,
}

/// Readiness of an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EndpointConditions {
    /// Whether new traffic should be sent here; unset counts as true.
    #[k8s(proto = 1, optional)]
    pub ready: Option<bool>,
    /// Whether it still answers, even during termination; unset counts as ready.
    #[k8s(proto = 2, optional)]
    pub serving: Option<bool>,
    /// Whether the backend is being shut down; unset counts as false.
    #[k8s(proto = 3, optional)]
    pub terminating: Option<bool>,
}

/// Routing advice for an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EndpointHints {
    /// Zones whose clients should use this endpoint.
    #[k8s(proto = 1, list_type = atomic, max_items = 8, distinct_with_absent(name))]
    pub for_zones: Vec<ForZone>,
    /// Nodes whose clients should use this endpoint.
    #[k8s(proto = 2, list_type = atomic, max_items = 8, distinct_with_absent(name))]
    pub for_nodes: Vec<ForNode>,
}

/// Names a zone that should consume an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ForZone {
    /// Zone name.
    #[k8s(proto = 1, always, format = "k8s-label-value")]
    pub name: String,
}

/// Names a node that should consume an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ForNode {
    /// Node name.
    #[k8s(proto = 1, always, format = "dns1123-subdomain")]
    pub name: String,
}

/// Port exposed by every endpoint in a slice.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct EndpointPort {
    /// Port name, unique in the slice; empty or a DNS label.
    #[k8s(proto = 1, default = "", unless(name = "")(format = "dns1123-label"))]
    pub name: Option<String>,
    /// Transport protocol: TCP, UDP or SCTP; TCP when unset.
    #[k8s(proto = 2, required, published = optional, default = "TCP", enum)]
    pub protocol: Option<Protocol>,
    /// Port number; how an unset value is read depends on the consumer.
    #[k8s(proto = 3)]
    pub port: Option<i32>,
    /// Hint about the application protocol spoken, such as https or kubernetes.io/h2c.
    #[k8s(proto = 4, optional, format = "k8s-label-key")]
    pub app_protocol: Option<String>,
}

/// Collection of endpoint slices.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EndpointSliceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The EndpointSlice objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<EndpointSlice>,
}
