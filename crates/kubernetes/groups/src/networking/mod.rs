//! The `networking.k8s.io` group: ingresses, network policies and service addresses.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::sent_empties::has_empties;
use crate::views::rename;
use pintle_resource::{
    GENERAL, Group, NameRule, Resource, SPEC_PATHS, STATUS, STATUS_ALONE, Served, Storage, Strategy, Subresource,
    Unserved, WITH_STATUS,
};
use pintle_schema::{IntOrString, Str, Value, ViewMut};
use pintle_types::extensions::v1beta1 as extensions;
use pintle_types::networking::{v1, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("networking.k8s.io"),
        priority: Some(17200),
        built_in: true,
        versions: vec![version("v1", 15), version("v1beta1", 9)],
        resources: functions.complete(vec![
            ingress_classes(),
            ingresses(),
            ip_addresses(),
            network_policies(),
            service_cidrs(),
            ip_addresses_v1beta1(),
            service_cidrs_v1beta1(),
        ]),
        internal: Vec::new(),
    }
}

static INGRESS_CLASS: Strategy = Strategy { generation: Some(SPEC_PATHS), ..GENERAL };

static INGRESS: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

static IP_ADDRESS: Strategy = Strategy { name: NameRule::Ip, ..GENERAL };

fn ip_address_storage() -> Storage {
    Storage::of::<v1::IPAddress>()
}

static NETWORK_POLICY: Strategy =
    Strategy { generation: Some(SPEC_PATHS), counts_empties: Some(policy_has_empties), ..GENERAL };

fn policy_has_empties(sent: &Value) -> bool {
    let (spec, types) = (v1::NetworkPolicy::SPEC.name(), v1::NetworkPolicySpec::POLICY_TYPES.name());
    has_empties(sent.get(spec), &[types])
}

fn service_cidr_storage() -> Storage {
    Storage::of::<v1::ServiceCIDR>()
}

fn ingress_classes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::IngressClass>()),
        strategy: &INGRESS_CLASS,
        printer: printer(&columns::INGRESS_CLASS),
        unserved: vec![Unserved::same::<v1beta1::IngressClass>()],
        ..Resource::of::<v1::IngressClass>()
    }
}

fn ingresses() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Ingress>().under("/registry/ingress/")),
        subresources: vec![Subresource::status::<v1::Ingress>(&STATUS)],
        strategy: &INGRESS,
        printer: printer(&columns::INGRESS),
        warn: Some(rules::ingress::warn),
        unserved: vec![
            Unserved::converted::<extensions::Ingress>(ingress_from_v1beta1),
            Unserved::converted::<v1beta1::Ingress>(ingress_from_v1beta1),
        ],
        ..Resource::of::<v1::Ingress>()
    }
}

fn ip_addresses() -> Resource {
    Resource {
        storage: Some(ip_address_storage()),
        strategy: &IP_ADDRESS,
        printer: printer(&columns::IP_ADDRESS),
        ..Resource::of::<v1::IPAddress>()
    }
}

fn network_policies() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::NetworkPolicy>()),
        strategy: &NETWORK_POLICY,
        printer: printer(&columns::NETWORK_POLICY),
        warn: Some(rules::network_policy::warn),
        unserved: vec![Unserved::same::<extensions::NetworkPolicy>()],
        ..Resource::of::<v1::NetworkPolicy>()
    }
}

fn service_cidrs() -> Resource {
    Resource {
        storage: Some(service_cidr_storage()),
        subresources: vec![Subresource::status::<v1::ServiceCIDR>(&STATUS_ALONE)],
        strategy: &WITH_STATUS,
        printer: printer(&columns::SERVICE_CIDR),
        ..Resource::of::<v1::ServiceCIDR>()
    }
}

fn ip_addresses_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(ip_address_storage()),
        strategy: &IP_ADDRESS,
        deprecation: Str::new_static(
            "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
        ),
        printer: printer(&columns::IP_ADDRESS),
        ..Resource::of::<v1beta1::IPAddress>()
    }
}

fn service_cidrs_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(service_cidr_storage()),
        subresources: vec![Subresource::status::<v1beta1::ServiceCIDR>(&STATUS_ALONE)],
        strategy: &WITH_STATUS,
        deprecation: Str::new_static(
            "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+",
        ),
        printer: printer(&columns::SERVICE_CIDR),
        ..Resource::of::<v1beta1::ServiceCIDR>()
    }
}

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
