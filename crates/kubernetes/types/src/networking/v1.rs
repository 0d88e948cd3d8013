//! Types of `networking.k8s.io/v1`: ingresses, network policies and addresses.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, string_type};

use crate::core::v1::{Protocol, TypedLocalObjectReference};
use crate::meta::v1::{Condition, LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Firewall rules stating which network traffic selected pods may send and receive.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "networking.k8s.io", plural = "networkpolicies", short_names("netpol"), namespaced))]
#[k8s(reserved(proto = 3, name = "status"))]
pub struct NetworkPolicy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Pods covered by the policy and the traffic they may exchange.
    #[k8s(proto = 2, optional)]
    pub spec: NetworkPolicySpec,
}

string_type! {
    /// Traffic direction a network policy governs.
    #[closed]
    pub PolicyType {
        /// Traffic arriving at the selected pods.
        INGRESS = "Ingress",
        /// Traffic leaving the selected pods.
        EGRESS = "Egress",
    }
}

/// Pod selection and allow rules of a network policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicySpec {
    /// Chooses the pods in this namespace to protect; empty means every pod.
    #[k8s(proto = 1, optional, always)]
    pub pod_selector: LabelSelector,
    /// Allowed incoming traffic; empty blocks it all once Ingress is among the policy types.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub ingress: Vec<NetworkPolicyIngressRule>,
    /// Allowed outgoing traffic; empty blocks it all once Egress is among the policy types.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub egress: Vec<NetworkPolicyEgressRule>,
    /// Directions this policy restricts; derived from the rules present when omitted.
    #[k8s(
        proto = 4,
        optional,
        list_type = atomic,
        message(invalid = "may not specify more than two policyTypes")(max_items = 2),
        each_val(enum("Ingress", "Egress"))
    )]
    pub policy_types: Vec<PolicyType>,
}

/// One set of sources and ports allowed to reach the selected pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyIngressRule {
    /// Destination ports opened by this rule; leaving it empty opens all ports.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub ports: Vec<NetworkPolicyPort>,
    /// Sources let in by this rule; leaving it empty admits any source.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub from: Vec<NetworkPolicyPeer>,
}

/// One set of destinations and ports the selected pods may contact.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyEgressRule {
    /// Destination ports reachable under this rule; leaving it empty permits all ports.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub ports: Vec<NetworkPolicyPort>,
    /// Destinations reachable under this rule; leaving it empty permits any destination.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub to: Vec<NetworkPolicyPeer>,
}

/// Port or port range that a rule opens.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyPort {
    /// Transport protocol to match: TCP, UDP or SCTP; TCP when unset.
    #[k8s(proto = 1, optional, default = "TCP", enum("TCP", "UDP", "SCTP"))]
    pub protocol: Option<Protocol>,
    /// Port number or named pod port; any port when unset.
    #[k8s(proto = 2, optional, format = "port-or-name")]
    pub port: Option<IntOrString>,
    /// Last port of a range starting at a numeric port value.
    #[k8s(
        proto = 3,
        optional,
        when_unset(port)(message(invalid = "may not be specified when `port` is not specified")(forbidden))
    )]
    pub end_port: Option<i32>,
}

/// Address range, optionally with holes cut out of it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IPBlock {
    /// Address range in CIDR notation, for example 10.1.0.0/16 or fd00::/64.
    #[k8s(proto = 1, required, always)]
    pub cidr: String,
    /// Smaller CIDRs inside the range that stay excluded.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub except: Vec<String>,
}

/// Communication partner given by pod and namespace labels or by addresses.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    last(
        message(detail = "must specify a peer")(at_least_one("podSelector", "namespaceSelector", "ipBlock")),
        message(forbidden = "may not specify both ipBlock and another peer")(
            at_most_one("podSelector", "ipBlock"),
            at_most_one("namespaceSelector", "ipBlock")
        )
    )
)]
pub struct NetworkPolicyPeer {
    /// Chooses partner pods by label, in this namespace unless namespaces are selected too.
    #[k8s(proto = 1, optional)]
    pub pod_selector: Option<LabelSelector>,
    /// Chooses partner namespaces by label; an empty selector takes every namespace.
    #[k8s(proto = 2, optional)]
    pub namespace_selector: Option<LabelSelector>,
    /// Chooses partners by address; excludes the use of both selectors.
    #[k8s(proto = 3, optional)]
    pub ip_block: Option<IPBlock>,
}

/// Collection of network policies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The NetworkPolicy objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<NetworkPolicy>,
}

/// Rules that route external HTTP traffic to services by host and path.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "networking.k8s.io", plural = "ingresses", short_names("ing"), namespaced))]
pub struct Ingress {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted routing, backends and TLS setup.
    #[k8s(proto = 2, published = optional)]
    pub spec: IngressSpec,
    /// Addresses under which the ingress is currently reachable.
    #[k8s(proto = 3, optional)]
    pub status: IngressStatus,
}

/// Collection of ingresses.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Ingress objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Ingress>,
}

/// Routing rules, fallback backend and TLS settings of an ingress.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressSpec {
    /// Name of the IngressClass whose controller should implement this ingress.
    #[k8s(proto = 4, optional, format = "dns1123-subdomain")]
    pub ingress_class_name: Option<String>,
    /// Where requests go when none of the rules match them.
    #[k8s(proto = 1, optional)]
    pub default_backend: Option<IngressBackend>,
    /// Certificates for serving HTTPS, matched to clients through SNI host names.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub tls: Vec<IngressTLS>,
    /// Host-based routing rules; without any, everything reaches the default backend.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub rules: Vec<IngressRule>,
}

/// Host names together with the secret holding their certificate.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressTLS {
    /// Host names the certificate is used for; should appear in that certificate.
    #[k8s(proto = 1, optional, list_type = atomic, each_val(format = "dns1123-subdomain-or-wildcard"))]
    pub hosts: Vec<String>,
    /// Secret in this namespace containing the TLS key and certificate.
    #[k8s(proto = 2, optional, format = "dns1123-subdomain")]
    pub secret_name: String,
}

/// Observed state of an ingress.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressStatus {
    /// Entry points provided by the load balancer in front.
    #[k8s(proto = 1, optional)]
    pub load_balancer: IngressLoadBalancerStatus,
}

/// Where a load balancer accepts traffic for the ingress.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressLoadBalancerStatus {
    /// Entry points at which traffic is accepted.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub ingress: Vec<IngressLoadBalancerIngress>,
}

/// A single load balancer entry point.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressLoadBalancerIngress {
    /// Address of the entry point, for balancers identified by IP.
    #[k8s(proto = 1, optional)]
    pub ip: String,
    /// DNS name of the entry point, for balancers identified by name.
    #[k8s(proto = 2, optional, format = "dns-name-of-host")]
    pub hostname: String,
    /// State of every port exposed at this entry point.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub ports: Vec<IngressPortStatus>,
}

/// State of one port offered by the load balancer.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressPortStatus {
    /// Number of the exposed port.
    #[k8s(proto = 1, always)]
    pub port: i32,
    /// Transport protocol used on the port.
    #[k8s(proto = 2, always)]
    pub protocol: Protocol,
    /// Machine-readable cause when the port could not be set up.
    #[k8s(proto = 3, optional)]
    pub error: Option<String>,
}

/// Routing for one host name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressRule {
    /// Exact or `*.` wildcard host to match; any host when unset.
    #[k8s(proto = 1, optional, format = "ingress-host")]
    pub host: String,
    /// Protocol-specific part of an ingress rule.
    #[k8s(inline, proto = 2, optional)]
    pub ingress_rule_value: IngressRuleValue,
}

/// Protocol-specific part of an ingress rule.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressRuleValue {
    /// Path routing for HTTP requests.
    #[k8s(proto = 1, optional)]
    pub http: Option<HTTPIngressRuleValue>,
}

/// HTTP paths mapped to their backends.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HTTPIngressRuleValue {
    /// Paths and the backend each is sent to.
    #[k8s(proto = 1, required, always, list_type = atomic)]
    pub paths: Vec<HTTPIngressPath>,
}

string_type! {
    /// How a request path gets compared with the rule's path.
    #[closed]
    pub PathType {
        /// The whole path must be identical, including case.
        EXACT = "Exact",
        /// Path segments must start with the given segments.
        PREFIX = "Prefix",
        /// The ingress controller decides how to compare.
        IMPLEMENTATION_SPECIFIC = "ImplementationSpecific",
    }
}

/// A path and the backend that serves matching requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(first(subfield(path_type)(required = "pathType must be specified")))]
pub struct HTTPIngressPath {
    /// Request path to match; has to begin with a slash for most path types.
    #[k8s(
        proto = 1,
        published = optional,
        when(path_type = "Exact|Prefix")(format = "absolute-path", format = "plain-url-path"),
        when(path_type = "ImplementationSpecific")(optional, format = "absolute-path")
    )]
    pub path: String,
    /// Way the path is compared: Exact, Prefix or ImplementationSpecific.
    #[k8s(proto = 3, always, enum, published = required)]
    pub path_type: Option<PathType>,
    /// Destination for requests with a matching path.
    #[k8s(proto = 2, always)]
    pub backend: IngressBackend,
}

/// Destination of traffic, either a service or some other resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    first(
        message(invalid = "resource or service backend is required", value = "")(at_least_one("resource", "service")),
        message(invalid = "cannot set both resource and service backends", value = "")(at_most_one("resource", "service"))
    )
)]
pub struct IngressBackend {
    /// Service that receives the traffic.
    #[k8s(proto = 4, optional)]
    pub service: Option<IngressServiceBackend>,
    /// Non-service object in this namespace receiving the traffic; excludes a service.
    #[k8s(
        proto = 3,
        optional,
        subfield(api_group)(format = "dns1123-subdomain"),
        subfield(kind)(required, format = "k8s-path-segment-name"),
        subfield(name)(required, format = "k8s-path-segment-name")
    )]
    pub resource: Option<TypedLocalObjectReference>,
}

/// Service and port acting as a traffic destination.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressServiceBackend {
    /// Service to send to, from the namespace of the ingress.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub name: String,
    /// Port of that service to send to.
    #[k8s(proto = 2)]
    pub port: ServiceBackendPort,
}

/// Service port chosen by name or by number, not both.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ServiceBackendPort {
    /// Name of the service port.
    #[k8s(proto = 1, optional, when_unset(number)(format = "port-name"))]
    pub name: String,
    /// Number of the service port.
    #[k8s(proto = 2, optional, when_unset(name)(format = "port"))]
    pub number: i32,
}

/// Kind of ingress implementation that ingresses can ask for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "networking.k8s.io", plural = "ingressclasses", cluster))]
pub struct IngressClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Controller of the class and its settings.
    #[k8s(proto = 2, published = optional)]
    pub spec: IngressClassSpec,
}

/// Controller and optional parameters of an ingress class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClassSpec {
    /// Domain-prefixed path identifying the responsible controller, such as example.com/ingress;
    /// immutable.
    #[k8s(proto = 1, max_bytes = 250)]
    pub controller: String,
    /// Object carrying extra controller settings for this class.
    #[k8s(proto = 2, optional)]
    pub parameters: Option<IngressClassParametersReference>,
}

/// Points at the object with settings for an ingress class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClassParametersReference {
    /// API group of the settings object; the core group when unset.
    #[k8s(proto = 1, optional, format = "dns1123-subdomain")]
    pub api_group: Option<String>,
    /// Kind of the settings object.
    #[k8s(proto = 2, required, always, format = "k8s-path-segment-name")]
    pub kind: String,
    /// Name of the settings object.
    #[k8s(proto = 3, required, always, format = "k8s-path-segment-name")]
    pub name: String,
    /// Whether the settings object is Cluster scoped or lives in a Namespace.
    #[k8s(proto = 4, required, published = optional, always, default = "Cluster", enum("Cluster", "Namespace"))]
    pub scope: Option<String>,
    /// Namespace of the settings object; only with scope Namespace, where it is needed.
    #[k8s(
        proto = 5,
        published = optional,
        when(scope = "Namespace")(required = "`parameters.scope` is set to 'Namespace'", format = "dns1123-label"),
        when(scope = "Cluster")(forbidden = "`parameters.scope` is set to 'Cluster'")
    )]
    pub namespace: Option<String>,
}

/// Collection of ingress classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The IngressClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<IngressClass>,
}

/// Records that one IP address is taken; named after that address.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "networking.k8s.io", plural = "ipaddresses", short_names("ip"), cluster))]
pub struct IPAddress {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Owner of the address.
    #[k8s(proto = 2, published = required)]
    pub spec: IPAddressSpec,
}

/// Describes who uses an address.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IPAddressSpec {
    /// Object the address has been handed out to.
    #[k8s(proto = 1, required)]
    pub parent_ref: Option<ParentReference>,
}

/// Points at the object an address belongs to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ParentReference {
    /// API group of the owning object.
    #[k8s(proto = 1, optional, format = "dns1123-subdomain")]
    pub group: String,
    /// Resource (plural) of the owning object.
    #[k8s(proto = 2, required, format = "k8s-path-segment-name")]
    pub resource: String,
    /// Namespace of the owning object.
    #[k8s(proto = 3, optional, format = "k8s-path-segment-name")]
    pub namespace: String,
    /// Name of the owning object.
    #[k8s(proto = 4, required, format = "k8s-path-segment-name")]
    pub name: String,
}

/// Collection of allocated IP addresses.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IPAddressList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The IPAddress objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<IPAddress>,
}

/// Address ranges from which cluster IPs of services are drawn.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "networking.k8s.io", plural = "servicecidrs", cluster))]
pub struct ServiceCIDR {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Address ranges on offer.
    #[k8s(proto = 2, published = optional)]
    pub spec: ServiceCIDRSpec,
    /// Whether the ranges are usable.
    #[k8s(proto = 3, optional)]
    pub status: ServiceCIDRStatus,
}

/// Address ranges a ServiceCIDR contributes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceCIDRSpec {
    /// One or two ranges in CIDR form, at most one for each IP family.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub cidrs: Vec<String>,
}

/// Observed state of a ServiceCIDR.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceCIDRStatus {
    /// Current conditions, such as whether addresses can be allocated.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
}

/// Collection of ServiceCIDRs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceCIDRList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ServiceCIDR objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ServiceCIDR>,
}
