//! Types of `networking.k8s.io/v1beta1`: ingresses, network policies and addresses.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, string_type};

use crate::core::v1::{Protocol, TypedLocalObjectReference};
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

/// Rules that route external HTTP traffic to services by host and path.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Ingress {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted routing, backends and TLS setup.
    #[k8s(proto = 2, optional)]
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
    #[k8s(proto = 4, optional)]
    pub ingress_class_name: Option<String>,
    /// Fallback destination when no rule matches; older spelling of defaultBackend.
    #[k8s(proto = 1, optional)]
    pub backend: Option<IngressBackend>,
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
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub hosts: Vec<String>,
    /// Secret in this namespace containing the TLS key and certificate.
    #[k8s(proto = 2, optional)]
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
    #[k8s(proto = 2, optional)]
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
    #[k8s(proto = 1, optional)]
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
    #[k8s(proto = 1, always, list_type = atomic)]
    pub paths: Vec<HTTPIngressPath>,
}

string_type! {
    /// How a request path gets compared with the rule's path.
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
pub struct HTTPIngressPath {
    /// Request path to match; has to begin with a slash for most path types.
    #[k8s(proto = 1, optional)]
    pub path: String,
    /// Way the path is compared: Exact, Prefix or ImplementationSpecific.
    #[k8s(proto = 3, default = "ImplementationSpecific")]
    pub path_type: Option<PathType>,
    /// Destination for requests with a matching path.
    #[k8s(proto = 2, always)]
    pub backend: IngressBackend,
}

/// Destination of traffic, either a service or some other resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressBackend {
    /// Name of the service receiving the traffic.
    #[k8s(proto = 1, optional)]
    pub service_name: String,
    /// Number or name of the service port to use.
    #[k8s(proto = 2, optional)]
    pub service_port: IntOrString,
    /// Non-service object in this namespace receiving the traffic; excludes a service.
    #[k8s(proto = 3, optional)]
    pub resource: Option<TypedLocalObjectReference>,
}

/// Kind of ingress implementation that ingresses can ask for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Controller of the class and its settings.
    #[k8s(proto = 2, optional)]
    pub spec: IngressClassSpec,
}

/// Controller and optional parameters of an ingress class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClassSpec {
    /// Domain-prefixed path identifying the responsible controller, such as example.com/ingress;
    /// immutable.
    #[k8s(proto = 1)]
    pub controller: String,
    /// Object carrying extra controller settings for this class.
    #[k8s(proto = 2, optional)]
    pub parameters: Option<IngressClassParametersReference>,
}

/// Points at the object with settings for an ingress class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressClassParametersReference {
    /// API group of the settings object; the core group when unset.
    #[k8s(proto = 1, optional)]
    pub api_group: Option<String>,
    /// Kind of the settings object.
    #[k8s(proto = 2, published = required, always)]
    pub kind: String,
    /// Name of the settings object.
    #[k8s(proto = 3, published = required, always)]
    pub name: String,
    /// Whether the settings object is Cluster scoped or lives in a Namespace.
    #[k8s(proto = 4, always)]
    pub scope: Option<String>,
    /// Namespace of the settings object; only with scope Namespace, where it is needed.
    #[k8s(proto = 5, optional)]
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
#[k8s(validation_order("group", "resource", "name", "namespace"))]
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
