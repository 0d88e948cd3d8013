//! Discovery documents against the recorded ones, and the place of custom resources among the built-in ones.

use super::{assert_same, default_catalog, everything, facts};
use crate::catalog::{Catalog, DiscoveredResource, ServerDescription, compare_versions, storage_version_hash};
use crate::discovery::{
    aggregated_api, aggregated_api_json, aggregated_apis, aggregated_apis_json, api_versions, group, group_list,
    resource_list,
};
use pintle_resource::VersionPriorities;
use pintle_schema::{Str, Value, value};
use std::sync::Arc;

/// A resource that is like config maps but for its names.
fn custom(group: &str, version: &str, plural: &str) -> DiscoveredResource {
    let model = pintle_groups::find("", "v1", "configmaps").expect("config maps are built in");
    DiscoveredResource {
        group: Str::new(group),
        version: Str::new(version),
        plural: Str::new(plural),
        kind: Str::new("Widget"),
        list_kind: Str::new("WidgetList"),
        verbs: vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        ..DiscoveredResource::from(&**model)
    }
}

#[test]
fn aggregated_discovery_is_the_recorded_one() {
    let Some(recorded) = facts("server/aggregated-discovery.json") else { return };
    let catalog = default_catalog();
    let documents = [("api", aggregated_api(&catalog)), ("apis", aggregated_apis(&catalog))];
    for (path, document) in documents {
        assert_same(path, &document.value, recorded.get(path).expect("recorded"));
    }
}

#[test]
fn storage_hashes_are_the_recorded_ones() {
    let Some(recorded) = facts("resources.json") else { return };
    let catalog = everything();
    for row in recorded.get("resources").and_then(Value::as_list).expect("rows") {
        let (group, version) = (row.str_at(&["group"]), row.str_at(&["version"]));
        let list = resource_list(&catalog, group, version).expect("served").value;
        let entries = list.get("resources").and_then(Value::as_list).expect("entries");
        let entry = entries.iter().find(|entry| entry.str_at(&["name"]) == row.str_at(&["resource"])).expect("listed");
        for (ours, theirs) in
            [("storageVersionHash", "storageVersionHash"), ("singularName", "singular"), ("kind", "kind")]
        {
            assert_eq!(entry.str_at(&[ours]), row.str_at(&[theirs]), "{ours} of {row:?}");
        }
    }
}

#[test]
fn legacy_and_aggregated_discovery_list_the_same() {
    let catalog = everything();
    let (mut legacy, mut aggregated) = (Vec::new(), Vec::new());
    for entry in catalog.groups() {
        for version in &entry.versions {
            let list = resource_list(&catalog, &entry.name, &version.name).expect("served").value;
            for resource in list.get("resources").and_then(Value::as_list).expect("entries") {
                legacy.push(format!("{}/{}/{}", entry.name, version.name, resource.str_at(&["name"])));
            }
        }
    }
    for document in [aggregated_api(&catalog), aggregated_apis(&catalog)] {
        for group in document.value.get("items").and_then(Value::as_list).expect("groups") {
            for version in group.get("versions").and_then(Value::as_list).expect("versions") {
                for resource in version.get("resources").and_then(Value::as_list).expect("resources") {
                    let name = resource.str_at(&["resource"]);
                    let at = format!("{}/{}", group.str_at(&["metadata", "name"]), version.str_at(&["version"]));
                    aggregated.push(format!("{at}/{name}"));
                    let below = resource.get("subresources").and_then(Value::as_list).unwrap_or(&[]);
                    aggregated.extend(below.iter().map(|sub| format!("{at}/{name}/{}", sub.str_at(&["subresource"]))));
                }
            }
        }
    }
    assert!(legacy.len() > 100, "{}", legacy.len());
    assert_eq!(legacy, aggregated);
}

#[test]
fn documents_have_the_reference_s_form() {
    let catalog = default_catalog();
    assert_eq!(
        String::from_utf8_lossy(&api_versions(&catalog, "10.0.0.1:6443").to_json()),
        r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}"#
    );
    assert_eq!(
        String::from_utf8_lossy(&group(&catalog, "apps").expect("served").to_json()),
        r#"{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}"#
    );
    assert_eq!(
        String::from_utf8_lossy(&resource_list(&catalog, "policy", "v1").expect("served").to_json()),
        r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"policy/v1","resources":[{"name":"poddisruptionbudgets","singularName":"poddisruptionbudget","namespaced":true,"kind":"PodDisruptionBudget","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["pdb"],"storageVersionHash":"EVWiDmWqyJw="},{"name":"poddisruptionbudgets/status","singularName":"","namespaced":true,"kind":"PodDisruptionBudget","verbs":["get","patch","update"]}]}"#
    );
    let groups = group_list(&catalog).value;
    let first = groups.get("groups").and_then(Value::as_list).and_then(<[Value]>::first).expect("groups");
    assert_eq!(first.str_at(&["name"]), "apiregistration.k8s.io");
    assert!(group(&catalog, "").is_none() && group(&catalog, "nothing.example.com").is_none());
    assert!(resource_list(&catalog, "apps", "v2").is_none());
}

#[test]
fn documents_can_be_written_in_protobuf() {
    let catalog = everything();
    let documents = [
        api_versions(&catalog, "10.0.0.1:6443"),
        group_list(&catalog),
        resource_list(&catalog, "", "v1").expect("served"),
    ];
    for document in documents {
        let mut bytes = Vec::new();
        pintle_codec::protobuf::encode(document.schema, &document.value, &mut bytes);
        let mut read = pintle_codec::protobuf::decode(document.schema, &bytes).expect("readable");
        // The envelope has them.
        read.set_at(&["kind"], document.kind);
        if !document.api_version.is_empty() {
            read.set_at(&["apiVersion"], document.api_version);
        }
        pintle_schema::canonicalize(document.schema, &mut read);
        assert_same(document.kind, &read, &document.value);
    }
}

#[test]
fn custom_resources_join_behind_the_built_in_groups() {
    let mut catalog = default_catalog();
    catalog.add(custom("stable.example.com", "v1beta1", "widgets"), VersionPriorities::CUSTOM);
    catalog.add(custom("stable.example.com", "v1", "widgets"), VersionPriorities::CUSTOM);
    catalog.add(custom("stable.example.com", "v1", "gadgets"), VersionPriorities::CUSTOM);
    catalog.add(custom("a.example.com", "v1", "widgets"), VersionPriorities::CUSTOM);
    let names: Vec<&str> = catalog.groups().iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names.last_chunk(), Some(&["flowcontrol.apiserver.k8s.io", "a.example.com", "stable.example.com"]));
    let group = group(&catalog, "stable.example.com").expect("served").value;
    assert_eq!(group.str_at(&["preferredVersion", "groupVersion"]), "stable.example.com/v1");
    let list = resource_list(&catalog, "stable.example.com", "v1").expect("served").value;
    let entries = list.get("resources").and_then(Value::as_list).expect("entries");
    assert_eq!(entries.iter().map(|entry| entry.str_at(&["name"])).collect::<Vec<_>>(), ["gadgets", "widgets"]);
    assert_eq!(
        entries.first().and_then(|entry| entry.at(&["verbs"])),
        Some(&value!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]))
    );
}

#[test]
fn the_next_catalog_shares_the_groups_that_have_not_changed() {
    let mut table = pintle_groups::table(|_| true);
    let before = Catalog::of(&table);
    let json = aggregated_apis_json(&before);
    assert!(table.remove("apps", "v1", "deployments") && table.remove("events.k8s.io", "v1", "events"));
    let now = before.next(&table);
    let shared = |name: &str| {
        let of = |catalog: &Catalog| catalog.groups().iter().find(|group| group.name == name).cloned();
        of(&before).zip(of(&now)).map(|(before, now)| Arc::ptr_eq(&before, &now))
    };
    assert_eq!([shared(""), shared("batch"), shared("apps")], [Some(true), Some(true), Some(false)]);
    assert_eq!(shared("events.k8s.io"), None, "a group without resources is gone");
    assert_eq!(aggregated_apis_json(&now), aggregated_apis(&Catalog::of(&table)).to_json());
    assert_eq!(aggregated_apis_json(&before), json);
    table.rank("batch".into(), "v1".into(), VersionPriorities::CUSTOM);
    let ranked = now.next(&table);
    assert_eq!(aggregated_apis_json(&ranked), aggregated_apis(&Catalog::of(&table)).to_json());
}

#[test]
fn the_assembled_document_is_the_encoded_one() {
    let mut catalog = everything();
    for _ in 0..2 {
        assert_eq!(aggregated_api_json(&catalog), aggregated_api(&catalog).to_json());
        assert_eq!(aggregated_apis_json(&catalog), aggregated_apis(&catalog).to_json());
        // A group that was made is made anew with what is added.
        catalog.add(custom("apps", "v7", "widgets"), VersionPriorities::CUSTOM);
    }
    let none = Catalog::default();
    assert_eq!(aggregated_apis_json(&none), aggregated_apis(&none).to_json());
}

#[test]
fn the_order_of_what_is_added_does_not_matter() {
    let table = pintle_groups::table(|_| true);
    let mut all: Vec<_> = pintle_groups::all().collect();
    all.reverse();
    let mut backwards = Catalog::default();
    for resource in all {
        let priorities = table.priorities(&resource.group, &resource.version);
        backwards.add(DiscoveredResource::from(&**resource), priorities);
    }
    let ours = aggregated_apis(&everything()).value;
    assert_eq!(aggregated_apis(&backwards).value, ours);
}

#[test]
fn storage_version_hashes_are_computed_as_the_tables_say() {
    for (group, version, kind, hash) in [
        ("apps", "v1", "Deployment", "8aSe+NMegvE="),
        ("", "v1", "Pod", "xPOwRZ+Yhw8="),
        ("policy", "v1", "PodDisruptionBudget", "EVWiDmWqyJw="),
        ("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition", "jfWCUB31mvA="),
    ] {
        assert_eq!(storage_version_hash(group, version, kind), hash, "{kind}");
    }
}

#[test]
fn versions_are_in_kubernetes_order() {
    let ordered =
        ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "v0"];
    let mut sorted = ordered;
    sorted.reverse();
    sorted.sort_by(|a, b| compare_versions(a, b));
    assert_eq!(sorted, ordered);
}

#[test]
fn a_server_may_hide_how_kinds_are_stored() {
    let hiding = ServerDescription { hides_storage_version_hashes: true, ..ServerDescription::default() };
    let has_hashes = |catalog: &Catalog| {
        let list = resource_list(catalog, "", "v1").expect("served").value;
        let resources = list.get("resources").and_then(Value::as_list).expect("resources");
        resources.iter().any(|resource| resource.get("storageVersionHash").is_some())
    };
    assert!(has_hashes(&default_catalog()) && !has_hashes(&default_catalog().of_server(hiding)));
}
