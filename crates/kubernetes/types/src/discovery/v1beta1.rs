//! Types of `discovery.k8s.io/v1beta1`: endpoint slices.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, same_as};

use crate::core::v1::{ObjectReference, Protocol};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{AddressType, EndpointConditions, EndpointHints, EndpointSliceList, ForNode, ForZone} }

/// Portion of the network endpoints that implement a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "discovery.k8s.io", plural = "endpointslices", namespaced))]
pub struct EndpointSlice {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Kind of address found in this slice; fixed at creation.
    #[k8s(proto = 4, published = required, always)]
    pub address_type: AddressType,
    /// Backends in this slice, at most 1000.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub endpoints: Vec<Endpoint>,
    /// Ports offered by each endpoint listed here; at most 100.
    #[k8s(proto = 3, optional, always, list_type = atomic)]
    pub ports: Vec<EndpointPort>,
}

/// One logical backend of a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// Addresses of this backend, of the type given by the slice.
    #[k8s(proto = 1, published = required, always, list_type = set)]
    pub addresses: Vec<String>,
    /// Whether the backend can currently take traffic.
    #[k8s(proto = 2)]
    pub conditions: EndpointConditions,
    /// DNS label distinguishing this backend from others of the service.
    #[k8s(proto = 3, optional)]
    pub hostname: Option<String>,
    /// Object, usually a pod, behind the endpoint.
    #[k8s(proto = 4, optional)]
    pub target_ref: Option<ObjectReference>,
    /// Topology labels of the backend, such as node host name and zone.
    #[k8s(proto = 5, optional)]
    pub topology: BTreeMap<String, String>,
    /// Node on which the backend runs.
    #[k8s(proto = 6, optional)]
    pub node_name: Option<String>,
    /// Advice on which clients should prefer the backend.
    #[k8s(proto = 7, optional)]
    pub hints: Option<EndpointHints>,
}

/// Port exposed by every endpoint in a slice.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EndpointPort {
    /// Port name, unique in the slice; empty or a DNS label.
    #[k8s(proto = 1, default = "")]
    pub name: Option<String>,
    /// Transport protocol: TCP, UDP or SCTP; TCP when unset.
    #[k8s(proto = 2, default = "TCP")]
    pub protocol: Option<Protocol>,
    /// Port number; how an unset value is read depends on the consumer.
    #[k8s(proto = 3)]
    pub port: Option<i32>,
    /// Hint about the application protocol spoken, such as https or kubernetes.io/h2c.
    #[k8s(proto = 4, optional)]
    pub app_protocol: Option<String>,
}
