//! Types of `v1`: services and their endpoints.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, string_type};

use super::{ObjectReference, Protocol};
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Whether requests from one client keep reaching the same pod.
    #[closed]
    pub ServiceAffinity {
        /// Requests from one client address go to the same pod.
        CLIENT_IP = "ClientIP",
        /// Every connection may reach any pod.
        NONE = "None",
    }
}

/// Settings for session affinity.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SessionAffinityConfig {
    /// Settings for affinity by client address.
    #[k8s(proto = 1, name = "clientIP", optional)]
    pub client_ip: Option<ClientIPConfig>,
}

/// Settings for session affinity by client address.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClientIPConfig {
    /// Seconds a client stays tied to its pod, from 1 to 86400; defaults to 10800 (three hours).
    #[k8s(proto = 1, optional)]
    pub timeout_seconds: Option<i32>,
}

string_type! {
    /// How a service can be reached.
    #[closed]
    pub ServiceType {
        /// By an address valid inside the cluster only.
        CLUSTER_IP = "ClusterIP",
        /// Additionally by a port on every node.
        NODE_PORT = "NodePort",
        /// Additionally by an external load balancer.
        LOAD_BALANCER = "LoadBalancer",
        /// By a DNS alias for a name outside; nothing is proxied.
        EXTERNAL_NAME = "ExternalName",
    }
}

string_type! {
    /// Where traffic from inside the cluster to a service's cluster IP may go.
    #[closed]
    pub ServiceInternalTrafficPolicy {
        /// To any endpoint.
        CLUSTER = "Cluster",
        /// Only to endpoints on the same node; dropped if there are none.
        LOCAL = "Local",
    }
}

string_type! {
    /// Where traffic from outside the cluster to a service may go.
    #[closed]
    pub ServiceExternalTrafficPolicy {
        /// To endpoints on any node, which may hide the client's address.
        CLUSTER = "Cluster",
        /// Only to endpoints on the receiving node, keeping the client's address; dropped if there
        /// are none.
        LOCAL = "Local",
    }
}

/// Observed state of a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceStatus {
    /// State of the external load balancer, if there is one.
    #[k8s(proto = 1, optional)]
    pub load_balancer: LoadBalancerStatus,
    /// Latest observed conditions of the service.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
}

/// Where a load balancer can be reached.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LoadBalancerStatus {
    /// Addresses at which the load balancer accepts traffic for the service.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub ingress: Vec<LoadBalancerIngress>,
}

/// One address of a load balancer.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LoadBalancerIngress {
    /// IP address, for load balancers reached by address.
    #[k8s(proto = 1, optional)]
    pub ip: String,
    /// DNS name, for load balancers reached by name.
    #[k8s(proto = 2, optional, format = "dns-name-of-host")]
    pub hostname: String,
    /// How packets reach the nodes: "VIP" with the load balancer's address kept, "Proxy" with a
    /// node's or pod's address. Allowed only together with ip.
    #[k8s(
        proto = 3,
        when_set(ip)(required = "must be specified when `ip` is set", enum("Proxy", "VIP")),
        when_unset(ip)(forbidden = "may not be specified when `ip` is not set"),
        published = optional
    )]
    pub ip_mode: Option<LoadBalancerIPMode>,
    /// State of the individual ports.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub ports: Vec<PortStatus>,
}

string_type! {
    /// A version of the Internet Protocol.
    #[closed]
    pub IPFamily {
        /// IPv4.
        IPV4 = "IPv4",
        /// IPv6.
        IPV6 = "IPv6",
        /// Not known.
        UNKNOWN = "",
    }
}

string_type! {
    /// How many IP versions a service wants.
    #[closed]
    pub IPFamilyPolicy {
        /// One IP version.
        SINGLE_STACK = "SingleStack",
        /// Both versions where the cluster has them, otherwise one.
        PREFER_DUAL_STACK = "PreferDualStack",
        /// Both versions, failing where the cluster has only one.
        REQUIRE_DUAL_STACK = "RequireDualStack",
    }
}

/// Desired state of a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 16, name = "topologyKeys"))]
#[k8s(reserved(proto = 15, name = "ipFamily"))]
#[k8s(
    subfield(ports)(unless(type = "ExternalName")(unless(clusterIPs = "None")(required))),
    subfield(clusterIPs)(
        when(type = "LoadBalancer", clusterIPs = "None")(
            each_val(message(invalid = "may not be set to 'None' for LoadBalancer services")(neq = "None"))
        ),
        when(type = "NodePort", clusterIPs = "None")(
            each_val(message(invalid = "may not be set to 'None' for NodePort services")(neq = "None"))
        ),
        when(type = "ExternalName")(forbidden = "may not be set for ExternalName services")
    ),
    subfield(ip_families)(when(type = "ExternalName")(forbidden = "may not be set for ExternalName services")),
    subfield(ip_family_policy)(when(type = "ExternalName")(forbidden = "may not be set for ExternalName services")),
    subfield(external_name)(
        when(type = "ExternalName")(required, message(required = "")(neq = "."), format = "rooted-dns1123-subdomain")
    )
)]
pub struct ServiceSpec {
    /// Ports the service offers; required unless the service is headless or an ExternalName.
    #[k8s(
        proto = 1,
        list_type = map,
        list_map_keys("port", "protocol"),
        patch_strategy = "merge",
        patch_merge_key = "port",
        each_val(when_several(subfield(name)(required)))
    )]
    pub ports: Vec<ServicePort>,
    /// Labels of the pods that receive the traffic. When empty, the endpoints have to be maintained
    /// by someone else.
    #[k8s(proto = 2, optional, map_type = atomic, labels)]
    pub selector: BTreeMap<String, String>,
    /// Main address inside the cluster. Empty has one assigned, "None" makes the service headless;
    /// it usually cannot be changed later.
    #[k8s(proto = 3, name = "clusterIP", optional)]
    pub cluster_ip: String,
    /// All addresses inside the cluster, at most one per IP version; the first equals clusterIP.
    #[k8s(proto = 18, name = "clusterIPs", published = optional, list_type = atomic)]
    pub cluster_ips: Vec<String>,
    /// How the service can be reached: "ClusterIP" (the default), "NodePort", "LoadBalancer" or
    /// "ExternalName".
    #[k8s(proto = 4, required, published = optional, default = "ClusterIP", enum)]
    pub r#type: ServiceType,
    /// Further addresses at which nodes accept traffic for the service. Routing these to the nodes
    /// is up to you.
    #[k8s(proto = 5, name = "externalIPs", optional, list_type = atomic)]
    pub external_ips: Vec<String>,
    /// "ClientIP" keeps sending a client to the same pod, "None" (the default) does not.
    #[k8s(proto = 7, required, published = optional, default = "None", enum)]
    pub session_affinity: ServiceAffinity,
    /// Deprecated wish for a certain load balancer address, which providers may ignore.
    #[k8s(proto = 8, name = "loadBalancerIP", optional)]
    pub load_balancer_ip: String,
    /// Client networks in CIDR form that the load balancer lets in, if the provider supports it;
    /// absent lets in everyone.
    #[k8s(proto = 9, optional, list_type = atomic)]
    pub load_balancer_source_ranges: Vec<String>,
    /// DNS name the service is an alias for; required for type "ExternalName".
    #[k8s(proto = 10, published = optional)]
    pub external_name: String,
    /// Where outside traffic may go: "Cluster" (the default) or "Local". Applies to node ports,
    /// external IPs and load balancers only.
    #[k8s(
        proto = 11,
        published = optional,
        when(type = "LoadBalancer|NodePort")(required, enum),
        when(type = "ClusterIP")(
            when_set(externalIPs)(required, enum),
            when_unset(externalIPs)(message(invalid = "may only be set for externally-accessible services")(forbidden))
        ),
        unless(type = "LoadBalancer|NodePort|ClusterIP")(
            message(invalid = "may only be set for externally-accessible services")(forbidden)
        )
    )]
    pub external_traffic_policy: ServiceExternalTrafficPolicy,
    /// Node port at which load balancers can ask whether a node has endpoints; assigned for type
    /// "LoadBalancer" with externalTrafficPolicy "Local", and fixed afterwards.
    #[k8s(
        proto = 12,
        published = optional,
        when(type = "LoadBalancer", external_traffic_policy = "Local")(required, format = "port"),
        unless(type = "LoadBalancer", external_traffic_policy = "Local")(
            message(invalid = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")(
                forbidden
            )
        )
    )]
    pub health_check_node_port: i32,
    /// When true, pods that are not ready are published as well, as peers finding each other at
    /// startup need. Defaults to false.
    #[k8s(proto = 13, optional)]
    pub publish_not_ready_addresses: bool,
    /// Settings for the chosen session affinity.
    #[k8s(
        proto = 14,
        published = optional,
        when(session_affinity = "None")(forbidden = "must not be set when session affinity is None"),
        when(session_affinity = "ClientIP")(
            required = "when session affinity type is ClientIP",
            subfield(clientIP)(
                required = "when session affinity type is ClientIP",
                subfield(timeout_seconds)(
                    required = "when session affinity type is ClientIP",
                    message(invalid = "must be greater than 0 and less than 86400")(minimum = 1, maximum = 86400)
                )
            )
        )
    )]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// IP versions of the service in order of preference; absent is worked out from the cluster and
    /// ipFamilyPolicy. The first one cannot be changed later.
    #[k8s(proto = 19, optional, list_type = atomic, each_val(enum("IPv4", "IPv6")))]
    pub ip_families: Vec<IPFamily>,
    /// How many IP versions to use: "SingleStack" (the default), "PreferDualStack" or
    /// "RequireDualStack".
    #[k8s(proto = 17, optional, enum)]
    pub ip_family_policy: Option<IPFamilyPolicy>,
    /// Whether a load balancer service gets node ports; defaults to true. False suits providers
    /// that reach pods directly, and ports asked for explicitly are still honoured.
    #[k8s(
        proto = 20,
        optional,
        unless(type = "LoadBalancer")(forbidden = "may only be used when `type` is 'LoadBalancer'")
    )]
    pub allocate_load_balancer_node_ports: Option<bool>,
    /// Implementation responsible for the load balancer, such as "example.com/fast"; absent means
    /// the cluster's default one. Cannot be changed once set.
    #[k8s(
        proto = 21,
        optional,
        unless(type = "LoadBalancer")(forbidden = "may only be used when `type` is 'LoadBalancer'"),
        format = "k8s-label-key"
    )]
    pub load_balancer_class: Option<String>,
    /// Where traffic from within the cluster may go: "Cluster" (the default) or "Local".
    #[k8s(proto = 22, published = optional, enum, when(type = "NodePort|LoadBalancer|ClusterIP")(required))]
    pub internal_traffic_policy: Option<ServiceInternalTrafficPolicy>,
    /// Preference for endpoints near the client: "PreferSameZone", "PreferSameNode" or the older
    /// "PreferClose". Absent sets no preference.
    #[k8s(proto = 23, optional, enum("PreferClose", "PreferSameZone", "PreferSameNode"))]
    pub traffic_distribution: Option<String>,
}

/// One port a service offers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServicePort {
    /// Name of the port, unique within the service; may be left out only if it is the sole port.
    #[k8s(proto = 1, optional, format = "dns1123-label")]
    pub name: String,
    /// Transport protocol: "TCP" (the default), "UDP" or "SCTP".
    #[k8s(proto = 2, required, published = optional, default = "TCP", published = default, enum)]
    pub protocol: Protocol,
    /// Hint on the application protocol: a registered service name such as "https", or a
    /// domain-prefixed name such as "kubernetes.io/h2c".
    #[k8s(proto = 6, optional, format = "k8s-label-key")]
    pub app_protocol: Option<String>,
    /// Port number clients connect to, from 1 to 65535.
    #[k8s(proto = 3, always, format = "port")]
    pub port: i32,
    /// Port of the pods, as a number or the name of a container port; absent uses the same number
    /// as port.
    #[k8s(proto = 4, published = optional, format = "port-or-name")]
    pub target_port: IntOrString,
    /// Port opened on each node for types "NodePort" and "LoadBalancer"; absent has a free one
    /// assigned.
    #[k8s(proto = 5, optional)]
    pub node_port: i32,
}

/// Gives a set of pods one stable address and name, and spreads traffic over them.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "services", short_names("svc"), categories("all"), namespaced))]
pub struct Service {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired ports, selection and reachability.
    #[k8s(proto = 2, optional)]
    pub spec: ServiceSpec,
    /// Last observed state.
    #[k8s(proto = 3, optional)]
    pub status: ServiceStatus,
}

/// A list of Services.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Service objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Service>,
}

/// The network addresses behind a service; deprecated in favour of EndpointSlice.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "endpoints", short_names("ep"), namespaced))]
pub struct Endpoints {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Groups of addresses that have the same ports; the endpoints are all combinations of address
    /// and port within each group.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub subsets: Vec<EndpointSubset>,
}

/// Addresses that all offer the same ports.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    message(detail = "must specify `addresses` or `notReadyAddresses`")(at_least_one("addresses", "notReadyAddresses"))
)]
pub struct EndpointSubset {
    /// Addresses that are ready for traffic.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub addresses: Vec<EndpointAddress>,
    /// Addresses that offer the ports but are not ready for traffic at present.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub not_ready_addresses: Vec<EndpointAddress>,
    /// Ports offered at each of the addresses.
    #[k8s(proto = 3, optional, list_type = atomic, each_val(when_several(subfield(name)(required))))]
    pub ports: Vec<EndpointPort>,
}

/// One address of an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
#[k8s(last(subfield(ip)(format = "endpoint-ip")))]
pub struct EndpointAddress {
    /// IP address; loopback, link-local and link-local multicast addresses are refused.
    #[k8s(
        proto = 1,
        always,
        if_enabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "strict-legacy-ip"),
        if_disabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "legacy-ip")
    )]
    pub ip: String,
    /// Host name of the endpoint within the service's domain.
    #[k8s(proto = 3, optional, format = "dns1123-label")]
    pub hostname: String,
    /// Node that hosts the endpoint, where known.
    #[k8s(proto = 4, optional, format = "dns1123-subdomain")]
    pub node_name: Option<String>,
    /// Object behind the address, usually a pod.
    #[k8s(proto = 2, optional)]
    pub target_ref: Option<ObjectReference>,
}

/// One port of an endpoint.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct EndpointPort {
    /// Name of the port, matching that of the service port; may be empty only if there is a single
    /// port.
    #[k8s(proto = 1, optional, format = "dns1123-label")]
    pub name: String,
    /// Port number.
    #[k8s(proto = 2, always, format = "port")]
    pub port: i32,
    /// Transport protocol: "TCP" (the default), "UDP" or "SCTP".
    #[k8s(proto = 3, required, published = optional, default = "TCP", enum)]
    pub protocol: Protocol,
    /// Hint on the application protocol, as in the service port.
    #[k8s(proto = 4, optional, format = "k8s-label-key")]
    pub app_protocol: Option<String>,
}

/// A list of Endpoints.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EndpointsList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Endpoints objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Endpoints>,
}

/// State of one port of a load balancer.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PortStatus {
    /// Port number of the service port.
    #[k8s(proto = 1, always)]
    pub port: i32,
    /// Transport protocol: "TCP", "UDP" or "SCTP".
    #[k8s(proto = 2, always)]
    pub protocol: Protocol,
    /// One-word problem with the port, such as "PortInUse" or "example.com/Reason"; absent if there
    /// is none.
    #[k8s(proto = 3, optional)]
    pub error: Option<String>,
}

string_type! {
    /// How packets from a load balancer arrive at the nodes.
    pub LoadBalancerIPMode {
        /// With the load balancer's address as destination.
        VIP = "VIP",
        /// With the address of a node or pod as destination.
        PROXY = "Proxy",
    }
}
