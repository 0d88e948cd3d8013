//! Compares the objects with those recorded from kube-apiserver, if the records are present.

use super::{at, settings};
use crate::{BootstrapObject, LocalApiService, Settings, objects};
use pintle_codec::{Strictness, json};
use pintle_schema::{ApiValue, Time, Value};
use pintle_types::{apiregistration, core, discovery, flowcontrol, networking, rbac, scheduling};
use std::fmt::Debug;
use std::path::Path;

/// A controller of a distribution, which upstream does not have.
const NOT_UPSTREAM: &str = "system:controller:service-ca-cert-publisher";

fn record(path: &str) -> Option<Value> {
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/facts").join(path);
    let bytes = std::fs::read(facts).ok()?;
    Some(json::parse(&bytes, Strictness::Ignore).expect("records are JSON").value)
}

/// Removes fields that may differ: the type of the object, times, managers, and certificates.
fn comparable(mut value: Value, with_status: bool) -> Value {
    fn without_times(value: &mut Value) {
        match value {
            Value::Map(map) => {
                map.retain(|key, _| !matches!(key.as_str(), "lastTransitionTime" | "managedFields"));
                map.iter_mut().for_each(|(_, value)| without_times(value));
            }
            Value::List(items) => items.iter_mut().for_each(without_times),
            _ => {}
        }
    }
    without_times(&mut value);
    if let Some(map) = value.as_map_mut() {
        map.retain(|key, _| !matches!(key.as_str(), "apiVersion" | "kind") && (with_status || key != "status"));
        if let Some(data) = map.get_mut("data").and_then(Value::as_map_mut)
            && data.contains_key("client-ca-file")
        {
            data.set("client-ca-file", "");
        }
        // Namespaces get theirs when they are created.
        if let Some(spec) = map.get_mut("spec").and_then(Value::as_map_mut) {
            spec.remove("finalizers");
        }
        // kube-apiserver's texts are not recorded.
        map.remove("description");
    }
    value
}

fn identity(value: &Value) -> (String, String) {
    let text = |key| at(value, &["metadata", key]).as_str().unwrap_or("").to_owned();
    (text("namespace"), text("name"))
}

fn is_upstream(value: &Value) -> bool {
    let (_, name) = identity(value);
    name != NOT_UPSTREAM && !name.starts_with("system:openshift:")
}

fn check<T: ApiValue + PartialEq + Debug>(ours: &[BootstrapObject], plural: &str, recorded: &Value, with_status: bool) {
    let read = |value: &Value| T::from_value(&comparable(value.clone(), with_status)).expect("the shape of its kind");
    let mut recorded: Vec<_> = super::items(recorded).iter().filter(|value| is_upstream(value)).collect();
    let mut ours: Vec<_> = ours.iter().filter(|o| o.plural == plural).map(|o| &o.value).collect();
    recorded.sort_by_key(|value| identity(value));
    ours.sort_by_key(|value| identity(value));
    assert!(!recorded.is_empty(), "{plural} are recorded");
    assert_eq!(
        ours.iter().map(|value| identity(value)).collect::<Vec<_>>(),
        recorded.iter().map(|value| identity(value)).collect::<Vec<_>>(),
        "{plural}"
    );
    for (ours, recorded) in ours.into_iter().zip(recorded) {
        assert_eq!(read(ours), read(recorded), "{plural}");
    }
}

/// Settings under which the records were made.
fn recorded_settings(services: &Value, api_services: &Value) -> Settings {
    let port = super::items(at(&super::items(services)[0], &["spec", "ports"]))[0].get("targetPort").cloned();
    let int = |value: &Value, key| i32::try_from(at(value, &["spec", key]).as_i64().unwrap()).unwrap();
    let text = |value: &Value, key| at(value, &["spec", key]).as_str().unwrap_or("").to_owned();
    Settings {
        secure_port: port.and_then(|port| port.as_i64()).and_then(|port| u16::try_from(port).ok()).unwrap(),
        now: Time::parse("2026-11-20T10:00:00Z").unwrap(),
        api_services: super::items(api_services)
            .iter()
            .map(|value| LocalApiService {
                group: text(value, "group"),
                version: text(value, "version"),
                group_priority: int(value, "groupPriorityMinimum"),
                version_priority: int(value, "versionPriority"),
            })
            .collect(),
        ..settings()
    }
}

#[test]
fn bootstrap_objects() {
    let Some(record) = record("bootstrap.json") else { return };
    let of = |key: &str| record.get(key).unwrap_or_else(|| panic!("no record of {key}"));
    let ours = objects(&recorded_settings(of("v1/services"), of("apiregistration.k8s.io/v1/apiservices")));
    check::<core::v1::Namespace>(&ours, "namespaces", of("v1/namespaces"), false);
    check::<core::v1::ConfigMap>(&ours, "configmaps", of("v1/configmaps"), false);
    check::<core::v1::Service>(&ours, "services", of("v1/services"), false);
    check::<networking::v1::ServiceCIDR>(&ours, "servicecidrs", of("networking.k8s.io/v1/servicecidrs"), false);
    check::<scheduling::v1::PriorityClass>(&ours, "priorityclasses", of("scheduling.k8s.io/v1/priorityclasses"), false);

    let of_rbac = |plural: &str| of(&format!("rbac.authorization.k8s.io/v1/{plural}"));
    check::<rbac::v1::ClusterRole>(&ours, "clusterroles", of_rbac("clusterroles"), false);
    check::<rbac::v1::ClusterRoleBinding>(&ours, "clusterrolebindings", of_rbac("clusterrolebindings"), false);
    check::<rbac::v1::Role>(&ours, "roles", of_rbac("roles"), false);
    check::<rbac::v1::RoleBinding>(&ours, "rolebindings", of_rbac("rolebindings"), false);

    let of_flows = |plural: &str| of(&format!("flowcontrol.apiserver.k8s.io/v1/{plural}"));
    let levels = of_flows("prioritylevelconfigurations");
    check::<flowcontrol::v1::FlowSchema>(&ours, "flowschemas", of_flows("flowschemas"), false);
    check::<flowcontrol::v1::PriorityLevelConfiguration>(&ours, "prioritylevelconfigurations", levels, false);
}

#[test]
fn objects_with_status() {
    let Some(record) = record("server/default-objects.json") else { return };
    let of = |key: &str| record.get(key).unwrap_or_else(|| panic!("no record of {key}"));
    let ours = objects(&recorded_settings(of("services"), of("apiservices")));
    check::<core::v1::Namespace>(&ours, "namespaces", of("namespaces"), true);
    check::<core::v1::ConfigMap>(&ours, "configmaps", of("configmaps"), true);
    check::<core::v1::Service>(&ours, "services", of("services"), true);
    check::<core::v1::Endpoints>(&ours, "endpoints", of("endpoints"), true);
    check::<discovery::v1::EndpointSlice>(&ours, "endpointslices", of("endpointslices"), true);
    check::<networking::v1::ServiceCIDR>(&ours, "servicecidrs", of("servicecidrs"), true);
    check::<networking::v1::IPAddress>(&ours, "ipaddresses", of("ipaddresses"), true);
    check::<apiregistration::v1::APIService>(&ours, "apiservices", of("apiservices"), true);
}
