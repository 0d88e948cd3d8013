//! The `networking.k8s.io` group: ingresses, network policies and service addresses.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Served, Storage, Subresource};
use crate::strategy::{GENERAL, NameRule, SPEC_PATHS, STATUS, STATUS_ALONE, Strategy, WITH_STATUS};
use crate::views::rename;
use pintle_schema::{IntOrString, Value, ViewMut};
use pintle_types::networking::{v1, v1beta1};

pub(crate) static RESOURCES: &[&Resource] = &[
    &INGRESS_CLASSES,
    &INGRESSES,
    &IP_ADDRESSES,
    &NETWORK_POLICIES,
    &SERVICE_CIDRS,
    &IP_ADDRESSES_V1BETA1,
    &SERVICE_CIDRS_V1BETA1,
];

static INGRESS_CLASS: Strategy = Strategy { generation: Some(SPEC_PATHS), ..GENERAL };

static INGRESS: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

static IP_ADDRESS: Strategy = Strategy { name: NameRule::Ip, ..GENERAL };

const IP_ADDRESS_STORAGE: Storage =
    Storage::of::<v1::IPAddress>("networking.k8s.io/v1", "IPAddress", "/registry/ipaddresses/", "3f/plJFChNE=");

static NETWORK_POLICY: Strategy = Strategy { generation: Some(SPEC_PATHS), ..GENERAL };

const SERVICE_CIDR_STORAGE: Storage =
    Storage::of::<v1::ServiceCIDR>("networking.k8s.io/v1", "ServiceCIDR", "/registry/servicecidrs/", "gNLvruQhW2g=");

static INGRESS_CLASSES: Resource = Resource {
    storage: Some(Storage::of::<v1::IngressClass>(
        "networking.k8s.io/v1",
        "IngressClass",
        "/registry/ingressclasses/",
        "l/iqIbDgFyQ=",
    )),
    strategy: &INGRESS_CLASS,
    ..Resource::cluster::<v1::IngressClass>("networking.k8s.io", "v1", "ingressclasses", "ingressclass", "IngressClass")
};

static INGRESSES: Resource = Resource {
    short_names: &["ing"],
    storage: Some(Storage::of::<v1::Ingress>("networking.k8s.io/v1", "Ingress", "/registry/ingress/", "39NQlfNR+bo=")),
    subresources: &[Subresource::status::<v1::Ingress>("Ingress", &STATUS)],
    strategy: &INGRESS,
    ..Resource::namespaced::<v1::Ingress>("networking.k8s.io", "v1", "ingresses", "ingress", "Ingress")
};

static IP_ADDRESSES: Resource = Resource {
    short_names: &["ip"],
    storage: Some(IP_ADDRESS_STORAGE),
    strategy: &IP_ADDRESS,
    ..Resource::cluster::<v1::IPAddress>("networking.k8s.io", "v1", "ipaddresses", "ipaddress", "IPAddress")
};

static NETWORK_POLICIES: Resource = Resource {
    short_names: &["netpol"],
    storage: Some(Storage::of::<v1::NetworkPolicy>(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "/registry/networkpolicies/",
        "YpfwF18m1G8=",
    )),
    strategy: &NETWORK_POLICY,
    ..Resource::namespaced::<v1::NetworkPolicy>(
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "networkpolicy",
        "NetworkPolicy",
    )
};

static SERVICE_CIDRS: Resource = Resource {
    storage: Some(SERVICE_CIDR_STORAGE),
    subresources: &[Subresource::status::<v1::ServiceCIDR>("ServiceCIDR", &STATUS_ALONE)],
    strategy: &WITH_STATUS,
    ..Resource::cluster::<v1::ServiceCIDR>("networking.k8s.io", "v1", "servicecidrs", "servicecidr", "ServiceCIDR")
};

static IP_ADDRESSES_V1BETA1: Resource = Resource {
    short_names: &["ip"],
    served: Served::OnRequest,
    storage: Some(IP_ADDRESS_STORAGE),
    strategy: &IP_ADDRESS,
    deprecation: "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
    ..Resource::cluster::<v1beta1::IPAddress>("networking.k8s.io", "v1beta1", "ipaddresses", "ipaddress", "IPAddress")
};

static SERVICE_CIDRS_V1BETA1: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(SERVICE_CIDR_STORAGE),
    subresources: &[Subresource::status::<v1beta1::ServiceCIDR>("ServiceCIDR", &STATUS_ALONE)],
    strategy: &WITH_STATUS,
    deprecation: "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+",
    ..Resource::cluster::<v1beta1::ServiceCIDR>(
        "networking.k8s.io",
        "v1beta1",
        "servicecidrs",
        "servicecidr",
        "ServiceCIDR",
    )
};

/// From versions that name a backend's service and its port in two fields, and the default backend otherwise.
pub(crate) fn ingress_from_v1beta1(object: &mut Value) {
    let mut spec = ViewMut::<v1beta1::Ingress>::new(object).field(v1beta1::Ingress::SPEC);
    if let Some(backend) = spec.by_ref().field(v1beta1::IngressSpec::BACKEND).some() {
        backend_from_v1beta1(backend.raw());
    }
    for rule in spec.by_ref().field(v1beta1::IngressSpec::RULES).iter_mut() {
        let value = rule.field(v1beta1::IngressRule::INGRESS_RULE_VALUE);
        let Some(http) = value.field(v1beta1::IngressRuleValue::HTTP).some() else { continue };
        for path in http.field(v1beta1::HTTPIngressRuleValue::PATHS).iter_mut() {
            backend_from_v1beta1(path.field(v1beta1::HTTPIngressPath::BACKEND).raw());
        }
    }
    rename(spec.raw(), &[(v1beta1::IngressSpec::BACKEND.name(), v1::IngressSpec::DEFAULT_BACKEND.name())]);
}

fn backend_from_v1beta1(backend: &mut Value) {
    let mut old = ViewMut::<v1beta1::IngressBackend>::new(backend);
    let name = old.view().field(v1beta1::IngressBackend::SERVICE_NAME).get();
    let port = old.view().field(v1beta1::IngressBackend::SERVICE_PORT).get();
    old.by_ref().field(v1beta1::IngressBackend::SERVICE_NAME).clear();
    old.by_ref().field(v1beta1::IngressBackend::SERVICE_PORT).clear();
    let port = match port {
        IntOrString::Int(0) if name.is_empty() => return,
        IntOrString::Int(number) => v1::ServiceBackendPort { number, ..Default::default() },
        IntOrString::String(name) => v1::ServiceBackendPort { name: name.to_string(), ..Default::default() },
    };
    let service = v1::IngressServiceBackend { name, port };
    ViewMut::<v1::IngressBackend>::new(backend).field(v1::IngressBackend::SERVICE).set(Some(service));
}
