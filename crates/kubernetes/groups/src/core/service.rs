//! Services and Endpoints.
//!
//! Addresses and ports are allocated by the registry; here is what needs no allocator. Updates stand in
//! `service_update`.

use super::service_update;
use crate::printing::printer;
use crate::views::{clear, set_if_absent};
use pintle_gates as gates;
use pintle_resource::{
    Context, GENERAL, NOT_SUPPORTED, NameRule, Resource, STATUS, Selectable, Storage, Strategy, Subresource, Verbs,
    WITH_STATUS,
};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::core::v1;
use v1::{IPFamily, IPFamilyPolicy, Service, ServiceInternalTrafficPolicy, ServiceSpec, ServiceType};

pub(super) fn endpoints() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Endpoints>().under("/registry/services/endpoints/")),
        strategy: &Strategy { create_on_update: true, ..GENERAL },
        deprecation: Str::new_static("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        printer: printer(&super::columns::network::ENDPOINTS),
        warn: Some(super::rules::cluster_warnings::endpoints),
        ..Resource::of::<v1::Endpoints>()
    }
}

pub(super) fn services() -> Resource {
    Resource {
        storage: Some(Storage::of::<Service>().under("/registry/services/specs/")),
        subresources: vec![
            Subresource::connect::<v1::ServiceProxyOptions>("proxy", Verbs::PROXY),
            Subresource::status::<Service>(&STATUS),
        ],
        selectable: vec![
            Selectable::path("spec.clusterIP", &["spec", "clusterIP"]),
            Selectable::path("spec.type", &["spec", "type"]),
        ],
        selector_refusal: NOT_SUPPORTED,
        strategy: &SERVICE,
        printer: printer(&super::columns::network::SERVICE),
        warn: Some(super::rules::service::warn),
        ..Resource::of::<Service>()
    }
}

static SERVICE: Strategy = Strategy {
    name: NameRule::Gated(&gates::RELAXED_SERVICE_NAME_VALIDATION, &NameRule::Label, &NameRule::Label1035),
    create_on_update: true,
    delete_answers_object: true,
    prepare_create: Some(prepare_create),
    prepare_update: Some(service_update::prepare),
    complete_stored: Some(complete_stored),
    decorate: Some(decorate),
    ..WITH_STATUS
};

/// `clusterIP` without `clusterIPs` sets the first item of the list. The reverse does not hold: a request with the list
/// must have both.
fn prepare_create(object: &mut Value, _: &mut Context) {
    first_of_cluster_ips(ViewMut::<Service>::new(object).field(Service::SPEC));
}

fn first_of_cluster_ips(mut spec: ViewMut<'_, ServiceSpec>) {
    let single = spec.view().field(ServiceSpec::CLUSTER_IP).get();
    if !single.is_empty() && spec.view().field(ServiceSpec::CLUSTER_IPS).iter().len() == 0 {
        spec.by_ref().field(ServiceSpec::CLUSTER_IPS).set(vec![single]);
    }
}

/// Services that are other names are stored with their policy for internal traffic, and shown without.
fn decorate(object: &mut Value) {
    let mut spec = ViewMut::<Service>::new(object).field(Service::SPEC);
    if spec.view().field(ServiceSpec::TYPE).get() == ServiceType::EXTERNAL_NAME {
        clear(&mut spec, ServiceSpec::INTERNAL_TRAFFIC_POLICY);
    }
}

/// Sets fields that services lack which were stored before these fields existed. The families of those without addresses depend on
/// the cluster: the allocator fills them in.
fn complete_stored(object: &mut Value) {
    let mut spec = ViewMut::<Service>::new(object).field(Service::SPEC);
    if !service_update::needs_cluster_ip(spec.view()) {
        return;
    }
    first_of_cluster_ips(spec.by_ref());
    set_if_absent(&mut spec, ServiceSpec::INTERNAL_TRAFFIC_POLICY, ServiceInternalTrafficPolicy::CLUSTER);
    if spec.view().field(ServiceSpec::IP_FAMILIES).iter().len() == 0 {
        let ips = spec.view().field(ServiceSpec::CLUSTER_IPS).get();
        let families: Vec<IPFamily> = ips.iter().filter_map(|ip| family_of(ip)).collect();
        if !families.is_empty() {
            spec.by_ref().field(ServiceSpec::IP_FAMILIES).set(families);
        }
    }
    let policy = match spec.view().field(ServiceSpec::IP_FAMILIES).iter().len() {
        0 => return,
        1 => IPFamilyPolicy::SINGLE_STACK,
        _ => IPFamilyPolicy::REQUIRE_DUAL_STACK,
    };
    set_if_absent(&mut spec, ServiceSpec::IP_FAMILY_POLICY, policy);
}

fn family_of(ip: &str) -> Option<IPFamily> {
    match ip.parse::<std::net::IpAddr>().ok()?.to_canonical() {
        std::net::IpAddr::V4(_) => Some(IPFamily::IPV4),
        std::net::IpAddr::V6(_) => Some(IPFamily::IPV6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::{ApiType, canonicalize, value};

    #[test]
    fn a_single_address_is_the_first() {
        let rows = [
            (value!({"clusterIP": "10.0.0.1"}), value!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]})),
            (value!({"clusterIPs": ["10.0.0.1"]}), value!({"clusterIPs": ["10.0.0.1"]})),
            (value!({}), value!({})),
        ];
        for (given, expected) in rows {
            let service = created(&services(), value!({"spec": (given.clone())}));
            assert_eq!(service.get("spec"), Some(&expected), "{given:?}");
        }
    }

    #[test]
    fn old_services_are_completed() {
        let both = value!(["10.0.0.1", "fd00::1"]);
        for (old, families, policy) in [
            (value!({"type": "ClusterIP", "clusterIP": "fd00::1"}), value!(["IPv6"]), "SingleStack"),
            (
                value!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": both}),
                value!(["IPv4", "IPv6"]),
                "RequireDualStack",
            ),
        ] {
            let mut service = value!({"spec": (old.clone())});
            complete_stored(&mut service);
            let mut expected = old.clone();
            if expected.get("clusterIPs").is_none() {
                expected.set_at(&["clusterIPs"], value!([(expected.get("clusterIP").cloned().unwrap_or_default())]));
            }
            expected.set_at(&["internalTrafficPolicy"], "Cluster");
            expected.set_at(&["ipFamilies"], families);
            expected.set_at(&["ipFamilyPolicy"], policy);
            let canonical = |spec: &Value| {
                let mut service = value!({"spec": (spec.clone())});
                canonicalize(Service::schema(), &mut service);
                service
            };
            assert_eq!(canonical(service.get("spec").expect("a spec")), canonical(&expected), "{old:?}");
        }
        let mut alias = value!({"spec": {"type": "ExternalName", "internalTrafficPolicy": "Local"}});
        decorate(&mut alias);
        assert!(alias.at(&["spec", "internalTrafficPolicy"]).is_none_or(Value::is_null));
    }
}
