//! The table of versions that are not served: that it is whole, that what needs no conversion has none, and what conversions do.

use super::*;
use crate::groups::all;
use pintle_schema::{Struct, Type, value};

fn stored(prefix: &str) -> Option<pintle_resource::Storage> {
    all().find_map(|resource| resource.storage.clone().filter(|storage| storage.prefix == prefix))
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
    for version in UNSERVED {
        let storage = stored(version.prefix).unwrap_or_else(|| panic!("nothing is stored in {}", version.prefix));
        let mut differences_of = Vec::new();
        differences((version.schema)(), &storage.schema, "", 0, &mut differences_of);
        if version.to_storage.is_none() && !differences_of.is_empty() {
            found.push(format!("{} {}: {differences_of:?}", version.prefix, version.api_version));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_version_is_served_or_told_twice() {
    for (at, version) in UNSERVED.iter().enumerate() {
        let name = format!("{} {}", version.prefix, version.api_version);
        let is_same = |other: &&Unserved| (other.prefix, other.api_version) == (version.prefix, version.api_version);
        assert!(!UNSERVED[at + 1..].iter().any(|other| is_same(&other)), "{name}");
        let served = all().filter(|it| it.storage.as_ref().is_some_and(|storage| storage.prefix == version.prefix));
        assert!(!served.into_iter().any(|it| it.api_version() == version.api_version), "{name}");
        let hub = all().find(|it| it.storage.as_ref().is_some_and(|storage| storage.prefix == version.prefix));
        assert!(hub.is_some_and(|hub| hub.unserved(version.api_version).is_some()), "{name}");
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
    for (prefix, api_version, mut object, mut expected) in rows {
        let name = format!("{prefix} {api_version}");
        let version = of(prefix).into_iter().find(|version| version.api_version == api_version);
        let version = version.unwrap_or_else(|| panic!("{name}"));
        let storage = stored(prefix).unwrap_or_else(|| panic!("{name}"));
        pintle_schema::canonicalize((version.schema)(), &mut object);
        version.to_storage.unwrap_or_else(|| panic!("{name}"))(&mut object);
        for object in [&mut object, &mut expected] {
            pintle_schema::canonicalize(&storage.schema, object);
        }
        assert_eq!(object, expected, "{name}");
    }
}
