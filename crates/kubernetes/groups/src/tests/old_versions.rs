//! The table of versions that are not served: that it is whole, that what needs no conversion has none, and what conversions do.

use crate::all;
use pintle_resource::{Resource, Unserved};
use pintle_schema::{Struct, Type, Value, value};
use std::sync::Arc;

/// The versions of each resource, once.
fn versions() -> impl Iterator<Item = (&'static Arc<Resource>, &'static Unserved)> {
    let hubs = all().filter(|resource| {
        resource.storage.as_ref().is_some_and(|storage| storage.api_version == resource.api_version())
    });
    hubs.flat_map(|resource| resource.unserved.iter().map(move |version| (resource, version)))
}

fn prefix(resource: &Resource) -> &str {
    resource.storage.as_ref().map_or("", |storage| &storage.prefix)
}

/// The fields of an old type that the storage version does not have in the same way.
fn differences(old: &Struct, new: &Struct, path: &str, depth: u32, found: &mut Vec<String>) {
    if depth > 12 || std::ptr::eq(old, new) {
        return;
    }
    for field in old.fields.iter() {
        let path = format!("{path}.{}", &*field.name);
        match new.fields.iter().find(|other| *other.name == *field.name) {
            None => found.push(path),
            Some(other) => differ(&field.ty, &other.ty, &path, depth + 1, found),
        }
    }
}

fn differ(old: &Type, new: &Type, path: &str, depth: u32, found: &mut Vec<String>) {
    match (old, new) {
        (Type::Struct(old), Type::Struct(new)) => differences(old, new, path, depth, found),
        (Type::List(old), Type::List(new)) => differ(&old.elem, &new.elem, path, depth, found),
        (Type::Map(old), Type::Map(new)) => differ(&old.elem, &new.elem, path, depth, found),
        (Type::String | Type::Enum(_), Type::String | Type::Enum(_)) => {}
        (old, new) if std::mem::discriminant(old) == std::mem::discriminant(new) => {}
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn what_is_not_converted_has_the_fields_of_the_storage_version() {
    let mut found = Vec::new();
    for (resource, version) in versions() {
        let mut differences_of = Vec::new();
        differences((version.schema)(), resource.stored_schema(), "", 0, &mut differences_of);
        if version.to_storage.is_none() && !differences_of.is_empty() {
            found.push(format!("{} {}: {differences_of:?}", resource.plural, version.api_version()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_version_is_served_or_named_twice() {
    for (resource, version) in versions() {
        let name = format!("{} {}", resource.plural, version.api_version());
        let same = resource.unserved.iter().filter(|other| other.names == version.names);
        assert_eq!(same.count(), 1, "{name}");
        for other in all().filter(|other| prefix(other) == prefix(resource)) {
            assert_ne!(other.api_version(), version.api_version(), "{name}");
            assert!(other.unserved(&version.api_version()).is_some(), "{name} is unknown in {}", other.api_version());
        }
    }
}

#[test]
fn shapes_that_differ_are_converted() {
    let ingress = |spec: Value| value!({"spec": spec});
    let rows = [
        (
            "/registry/deployments/",
            "extensions/v1beta1",
            value!({"metadata": {"name": "a"}, "spec": {"rollbackTo": {"revision": 3}, "paused": true}}),
            value!({"metadata": {"name": "a", "annotations": {"deprecated.deployment.rollback.to": "3"}}, "spec": {"paused": true}}),
        ),
        (
            "/registry/daemonsets/",
            "extensions/v1beta1",
            value!({"metadata": {"name": "a"}, "spec": {"templateGeneration": 4, "minReadySeconds": 1}}),
            value!({"metadata": {"name": "a", "annotations": {"deprecated.daemonset.template.generation": "4"}},
                "spec": {"minReadySeconds": 1}}),
        ),
        (
            "/registry/endpointslices/",
            "discovery.k8s.io/v1beta1",
            value!({"endpoints": [
                {"topology": {"topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "n"}},
                {"nodeName": "n", "topology": {"kubernetes.io/hostname": "n", "rack": "r"}},
                {"nodeName": "n", "topology": {"kubernetes.io/hostname": "m"}},
                {"addresses": ["10.0.0.1"]}
            ]}),
            value!({"endpoints": [
                {"zone": "z", "nodeName": "n"},
                {"nodeName": "n", "deprecatedTopology": {"rack": "r"}},
                {"nodeName": "n", "deprecatedTopology": {"kubernetes.io/hostname": "m"}},
                {"addresses": ["10.0.0.1"]}
            ]}),
        ),
        (
            "/registry/ingress/",
            "extensions/v1beta1",
            ingress(value!({"backend": {"serviceName": "s", "servicePort": 80},
                "rules": [{"host": "h", "http": {"paths": [
                    {"path": "/", "backend": {"serviceName": "t", "servicePort": "web"}},
                    {"backend": {"resource": {"kind": "Bucket", "name": "b"}, "servicePort": 0}}]}}]})),
            ingress(value!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
                "rules": [{"host": "h", "http": {"paths": [
                    {"path": "/", "backend": {"service": {"name": "t", "port": {"name": "web"}}}},
                    {"backend": {"resource": {"kind": "Bucket", "name": "b"}}}]}}]})),
        ),
        (
            "/registry/prioritylevelconfigurations/",
            "flowcontrol.apiserver.k8s.io/v1beta2",
            value!({"spec": {"type": "Limited", "limited": {"assuredConcurrencyShares": 7}}}),
            value!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 7}}}),
        ),
        (
            "/registry/prioritylevelconfigurations/",
            "flowcontrol.apiserver.k8s.io/v1beta3",
            value!({"metadata": {"annotations": {"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}},
                "spec": {"limited": {"nominalConcurrencyShares": 0}}}),
            value!({"metadata": {}, "spec": {"limited": {"nominalConcurrencyShares": 0}}}),
        ),
        (
            "/registry/prioritylevelconfigurations/",
            "flowcontrol.apiserver.k8s.io/v1beta3",
            value!({"spec": {"limited": {"nominalConcurrencyShares": 0}}}),
            value!({"spec": {"limited": {}}}),
        ),
        (
            "/registry/runtimeclasses/",
            "node.k8s.io/v1alpha1",
            value!({"spec": {"runtimeHandler": "h", "scheduling": {"nodeSelector": {"a": "b"}}}}),
            value!({"handler": "h", "scheduling": {"nodeSelector": {"a": "b"}}}),
        ),
        (
            "/registry/poddisruptionbudgets/",
            "policy/v1beta1",
            value!({"spec": {"selector": {}}}),
            value!({"spec": {"selector": {"matchExpressions": [
                {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"}]}}}),
        ),
        (
            "/registry/poddisruptionbudgets/",
            "policy/v1beta1",
            value!({"spec": {"selector": {"matchExpressions": [
                {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "DoesNotExist"}]}}}),
            value!({"spec": {"selector": {}}}),
        ),
        (
            "/registry/poddisruptionbudgets/",
            "policy/v1beta1",
            value!({"spec": {"minAvailable": 1}}),
            value!({"spec": {"minAvailable": 1}}),
        ),
        (
            "/registry/clusterrolebindings/",
            "rbac.authorization.k8s.io/v1alpha1",
            value!({"subjects": [
                {"kind": "User", "name": "*", "apiVersion": "rbac.authorization.k8s.io/v1alpha1"},
                {"kind": "ServiceAccount", "name": "a", "namespace": "n", "apiVersion": "v1"},
                {"kind": "Robot", "name": "r", "apiVersion": "example.com/v1"}
            ]}),
            value!({"subjects": [
                {"kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
                {"kind": "Robot", "name": "r", "apiGroup": "example.com"}
            ]}),
        ),
    ];
    for (stored_in, api_version, mut object, mut expected) in rows {
        let name = format!("{stored_in} {api_version}");
        let is_row = |(resource, version): &(&'static Arc<Resource>, &'static Unserved)| {
            prefix(resource) == stored_in && version.names.is_api_version(api_version)
        };
        let (resource, version) = versions().find(is_row).unwrap_or_else(|| panic!("{name}"));
        pintle_schema::canonicalize((version.schema)(), &mut object);
        version.to_storage.unwrap_or_else(|| panic!("{name}"))(&mut object);
        for object in [&mut object, &mut expected] {
            pintle_schema::canonicalize(resource.stored_schema(), object);
        }
        assert_eq!(object, expected, "{name}");
    }
}
