//! Tests: invariants of the bootstrap objects of every server, and equality with kube-apiserver's.

mod reconciled;
mod reference;

use crate::trust::tests::certificate;
use crate::{BootstrapObject, LocalApiService, ServiceRange, Settings, objects};
use pintle_schema::{ApiType, Time, Value, canonicalize};
use pintle_types::{apiregistration, core, discovery, flowcontrol, networking, rbac, scheduling};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static AUTHORITY: LazyLock<String> = LazyLock::new(|| certificate("authority", 2040));

fn settings() -> Settings {
    Settings {
        service_ranges: vec![ServiceRange::parse("10.0.0.0/24").unwrap()],
        advertise_address: Some("10.9.8.7".parse().unwrap()),
        secure_port: 6443,
        authorities: [("client-ca-file".to_owned(), AUTHORITY.clone())].into(),
        api_services: vec![LocalApiService {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            group_priority: 17800,
            version_priority: 15,
        }],
        now: Time::parse("2026-11-20T10:00:00Z").unwrap(),
    }
}

/// The object as the store holds it.
fn canonical(object: &BootstrapObject) -> Value {
    let schema = match object.plural {
        "namespaces" => core::v1::Namespace::schema(),
        "configmaps" => core::v1::ConfigMap::schema(),
        "services" => core::v1::Service::schema(),
        "endpoints" => core::v1::Endpoints::schema(),
        "endpointslices" => discovery::v1::EndpointSlice::schema(),
        "servicecidrs" => networking::v1::ServiceCIDR::schema(),
        "ipaddresses" => networking::v1::IPAddress::schema(),
        "priorityclasses" => scheduling::v1::PriorityClass::schema(),
        "clusterroles" => rbac::v1::ClusterRole::schema(),
        "clusterrolebindings" => rbac::v1::ClusterRoleBinding::schema(),
        "roles" => rbac::v1::Role::schema(),
        "rolebindings" => rbac::v1::RoleBinding::schema(),
        "flowschemas" => flowcontrol::v1::FlowSchema::schema(),
        "prioritylevelconfigurations" => flowcontrol::v1::PriorityLevelConfiguration::schema(),
        "apiservices" => apiregistration::v1::APIService::schema(),
        other => panic!("no schema for {other}"),
    };
    let mut value = object.value.clone();
    canonicalize(schema, &mut value);
    value
}

fn find<'a>(objects: &'a [BootstrapObject], plural: &str, name: &str) -> &'a BootstrapObject {
    objects
        .iter()
        .find(|object| object.plural == plural && object.name() == name)
        .unwrap_or_else(|| panic!("no {plural} {name}"))
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str).collect()
}

fn items(list: &Value) -> &[Value] {
    list.as_list().unwrap_or(&[])
}

#[test]
fn names_are_unique_and_metadata_agrees() {
    let mut seen = BTreeSet::new();
    for object in &objects(&settings()) {
        assert!(!object.name().is_empty(), "{object:?}");
        assert!(seen.insert((object.plural, object.namespace, object.name().to_owned())), "twice: {object:?}");
        assert_eq!(at(&object.value, &["metadata", "namespace"]).as_str().unwrap_or(""), object.namespace);
        let api_version = if object.group.is_empty() {
            object.version.to_owned()
        } else {
            format!("{}/{}", object.group, object.version)
        };
        assert_eq!(at(&object.value, &["apiVersion"]).as_str(), Some(api_version.as_str()));
        assert!(at(&object.value, &["kind"]).as_str().is_some_and(|kind| !kind.is_empty()));
    }
}

#[test]
fn a_namespace_comes_before_what_is_in_it() {
    let objects = objects(&settings());
    for (place, object) in objects.iter().enumerate().filter(|(_, object)| !object.namespace.is_empty()) {
        assert!(
            objects[..place].iter().any(|before| before.plural == "namespaces" && before.name() == object.namespace),
            "{} {}",
            object.plural,
            object.name()
        );
    }
}

#[test]
fn namespaces_leave_their_finalizer_to_creation() {
    let objects = objects(&settings());
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert_eq!(canonical(find(&objects, "namespaces", name)).at(&["spec", "finalizers"]), None, "{name}");
    }
}

#[test]
fn bindings_refer_to_roles() {
    let objects = objects(&settings());
    for binding in objects.iter().filter(|object| object.plural.ends_with("rolebindings")) {
        let name = at(&binding.value, &["roleRef", "name"]).as_str().unwrap();
        let role = match at(&binding.value, &["roleRef", "kind"]).as_str().unwrap() {
            "ClusterRole" => find(&objects, "clusterroles", name),
            _ => objects
                .iter()
                .find(|role| role.plural == "roles" && role.namespace == binding.namespace && role.name() == name)
                .unwrap_or_else(|| panic!("{} refers to no role", binding.name())),
        };
        assert_eq!(role.group, "rbac.authorization.k8s.io");
    }
}

#[test]
fn unauthenticated_users_only_get_health_and_version() {
    let objects = objects(&settings());
    for binding in objects.iter().filter(|object| object.plural.ends_with("rolebindings")) {
        let holders: Vec<_> = items(at(&binding.value, &["subjects"])).iter().map(|s| at(s, &["name"])).collect();
        if holders.iter().any(|name| matches!(name.as_str(), Some("system:unauthenticated" | "system:anonymous"))) {
            assert_eq!(binding.name(), "system:public-info-viewer");
        }
        if binding.name() == "system:node" {
            assert!(holders.is_empty());
        }
    }
}

#[test]
fn rules_are_sorted_and_whole() {
    let objects = objects(&settings());
    for role in objects.iter().filter(|object| matches!(object.plural, "clusterroles" | "roles")) {
        for rule in items(at(&role.value, &["rules"])) {
            let list = |field| texts(at(rule, &[field]));
            for field in ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"] {
                assert!(list(field).is_sorted(), "{} {field} {:?}", role.name(), list(field));
            }
            let is_of_resources = !list("apiGroups").is_empty() && !list("resources").is_empty();
            assert!(!list("verbs").is_empty());
            assert_ne!(is_of_resources, !list("nonResourceURLs").is_empty(), "{}", role.name());
        }
    }
}

#[test]
fn aggregates_have_parts() {
    let objects = objects(&settings());
    let parts = |aggregate: &str| {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregate}");
        let mut names: Vec<_> = objects
            .iter()
            .filter(|role| !at(&role.value, &["metadata", "labels", &label]).is_null())
            .map(BootstrapObject::name)
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(parts("admin"), ["edit", "system:aggregate-to-admin"]);
    assert_eq!(parts("edit"), ["system:aggregate-to-edit", "view"]);
    assert_eq!(parts("view"), ["system:aggregate-to-view"]);
}

#[test]
fn flow_schemas_refer_to_levels() {
    let objects = objects(&settings());
    for schema in objects.iter().filter(|object| object.plural == "flowschemas") {
        let level = at(&schema.value, &["spec", "priorityLevelConfiguration", "name"]).as_str().unwrap();
        find(&objects, "prioritylevelconfigurations", level);
        let managers = items(at(&schema.value, &["metadata", "managedFields"]));
        let [manager] = managers else { panic!("{managers:?}") };
        assert_eq!(at(manager, &["subresource"]).as_str(), Some("status"), "the condition's manager");
    }
}

#[test]
fn the_condition_of_the_range_has_its_controller() {
    let objects = objects(&settings());
    let range = find(&objects, "servicecidrs", "kubernetes");
    let [manager] = items(at(&range.value, &["metadata", "managedFields"])) else { panic!("{:?}", range.value) };
    let text = |key| at(manager, &[key]).as_str();
    assert_eq!((text("manager"), text("subresource")), (Some("kubernetes-service-cidr-controller"), Some("status")));
}

#[test]
fn without_a_range_or_an_authority_there_is_nothing_to_publish() {
    let objects = objects(&Settings { service_ranges: Vec::new(), authorities: BTreeMap::new(), ..settings() });
    assert!(objects.iter().all(|object| object.name() != "kubernetes"));
    assert!(objects.iter().all(|object| object.name() != "extension-apiserver-authentication"));
}

#[test]
fn first_addresses_of_ranges() {
    let rows = [
        ("10.0.0.0/24", Some("10.0.0.1")),
        ("10.0.0.77/24", Some("10.0.0.1")),
        ("192.168.4.4/30", Some("192.168.4.5")),
        ("0.0.0.0/0", Some("0.0.0.1")),
        ("fd00:1::/112", Some("fd00:1::1")),
        ("10.0.0.0/31", None),
        ("fd00::/127", None),
        ("10.0.0.0/33", None),
        ("10.0.0.0/+8", None),
        ("10.0.0.0/", None),
        ("10.0.0.0", None),
        ("", None),
    ];
    for (cidr, first) in rows {
        let got = ServiceRange::parse(cidr).ok().map(|range| range.first().to_string());
        assert_eq!(got.as_deref(), first, "{cidr}");
    }
}
