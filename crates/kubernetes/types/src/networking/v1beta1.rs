//! Types of `networking.k8s.io/v1beta1`: ingresses, network policies and addresses.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, same_as};

use crate::core::v1::{Protocol, TypedLocalObjectReference};
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        IPAddress, IPAddressList, IPAddressSpec, Ingress, IngressClass, IngressClassList, IngressClassSpec,
        IngressList, IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressPortStatus, IngressRule,
        IngressRuleValue, IngressStatus, IngressTLS, ParentReference, PathType, ServiceCIDR, ServiceCIDRList,
        ServiceCIDRSpec, ServiceCIDRStatus
    }
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

/// HTTP paths mapped to their backends.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HTTPIngressRuleValue {
    /// Paths and the backend each is sent to.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub paths: Vec<HTTPIngressPath>,
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
