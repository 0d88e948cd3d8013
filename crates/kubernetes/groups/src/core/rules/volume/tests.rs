//! Validation of volumes, claims, secrets, limits and quotas.

use crate::rules::tests;
use pintle_gates as gates;
use pintle_schema::{ApiType, GateSet, Struct, Value, value};
use pintle_types::core::v1::{LimitRange, PersistentVolume, PersistentVolumeClaim, ResourceQuota, Secret};
use pintle_types::storage::v1::{StorageClass, VolumeAttachment};
use pintle_validation::{Operation, Request};

fn validate_as(api_version: &str, schema: &'static Struct, new: &Value, old: Option<&Value>) -> Vec<String> {
    let gates = GateSet::only([&gates::VOLUME_ATTRIBUTES_CLASS, &gates::RECOVER_VOLUME_EXPANSION_FAILURE]);
    let mut lines = tests::validate_as(
        schema,
        new,
        old,
        Request { api_version, namespaced: false, gates: &gates, ..Request::new(Operation::Create) },
    );
    lines.retain(|line| !line.starts_with("metadata"));
    lines
}

fn validate(schema: &'static Struct, new: &Value, old: Option<&Value>) -> Vec<String> {
    validate_as("v1", schema, new, old)
}

fn with(mut object: Value, path: &[&str], value: Value) -> Value {
    object.set_at(path, value);
    object
}

fn volume() -> Value {
    value!({
        "metadata": {"name": "a"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/x", "type": ""}
        }
    })
}

#[test]
fn a_persistent_volume_has_one_source() {
    let schema = PersistentVolume::schema();
    assert_eq!(validate(schema, &volume(), None), [""; 0]);
    let two = with(volume(), &["spec", "nfs"], value!({"path": "not/absolute"}));
    assert_eq!(validate(schema, &two, None), ["spec.nfs: Forbidden: may not specify more than 1 volume type"]);
    let pathless = with(volume(), &["spec", "hostPath"], value!({"type": "Odd"}));
    assert_eq!(validate(schema, &pathless, None), ["spec.hostPath.path: Required value"]);
    let disk = with(volume(), &["spec", "hostPath"], Value::Null);
    assert_eq!(validate(schema, &disk, None), ["spec: Required value: must specify a volume type"]);
    let disk = with(disk, &["spec", "gcePersistentDisk"], value!({"partition": 256}));
    assert_eq!(
        validate(schema, &disk, None),
        [
            "spec.persistentDisk.pdName: Required value",
            "spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"
        ]
    );
}

#[test]
fn labels_of_a_volumes_nodes_take_their_new_names_one_by_one() {
    let schema = PersistentVolume::schema();
    let on_nodes = |keys: [&str; 2]| {
        let expressions = keys.map(|key| value!({"key": key, "operator": "Exists"}));
        let terms = value!([{"matchExpressions": (expressions.to_vec())}]);
        with(volume(), &["spec", "nodeAffinity", "required", "nodeSelectorTerms"], terms)
    };
    let old = on_nodes(["beta.kubernetes.io/os", "beta.kubernetes.io/arch"]);
    let changes = |keys| {
        let reported = validate(schema, &on_nodes(keys), Some(&old));
        reported.iter().filter(|line| line.starts_with("nodeAffinity: ")).count()
    };
    assert_eq!(changes(["kubernetes.io/os", "kubernetes.io/arch"]), 0);
    assert_eq!(changes(["kubernetes.io/os", "beta.kubernetes.io/arch"]), 0);
    assert_eq!(changes(["kubernetes.io/arch", "kubernetes.io/os"]), 1);
    assert_eq!(changes(["beta.kubernetes.io/os", ""]), 1);
    let plain = on_nodes(["a", "b"]);
    let reported = validate(schema, &on_nodes(["a", ""]), Some(&plain));
    assert!(!reported.iter().any(|line| line.starts_with("nodeAffinity: ")), "{reported:?}");
}

#[test]
fn a_persistent_volume_keeps_its_source() {
    let schema = PersistentVolume::schema();
    let resized = with(volume(), &["spec", "capacity"], value!({"storage": "2Gi"}));
    assert_eq!(validate(schema, &resized, Some(&volume())), [""; 0]);
    let moved = with(volume(), &["spec", "hostPath", "path"], value!("/y"));
    let reported = validate(schema, &moved, Some(&volume()));
    let text =
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7";
    assert!(reported.len() == 1 && reported[0].starts_with(text), "{reported:?}");
    assert!(reported[0].contains("-  \"Path\": \"/x\",\n+  \"Path\": \"/y\",\n"), "{reported:?}");
}

fn claim() -> Value {
    value!({
        "metadata": {"name": "a"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, "volumeMode": "Filesystem"
        },
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    })
}

#[test]
fn a_bound_claim_changes_its_size_alone() {
    let schema = PersistentVolumeClaim::schema();
    assert_eq!(validate(schema, &claim(), None), [""; 0]);
    let size = &["spec", "resources", "requests"];
    let resized = |size_now: &str| with(claim(), size, value!({"storage": size_now}));
    assert_eq!(validate(schema, &resized("3Gi"), Some(&claim())), [""; 0]);
    assert_eq!(validate(schema, &resized("1500Mi"), Some(&claim())), [""; 0]);
    let text = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
    assert_eq!(validate(schema, &resized("1Gi"), Some(&claim())), [text]);
    let none = ["spec.resources[storage]: Invalid value: \"-1\": must be greater than zero"];
    assert_eq!(validate(schema, &resized("-1"), None), none);
    let other = with(claim(), &["spec", "storageClassName"], value!("fast"));
    assert_eq!(validate(schema, &other, Some(&claim())), [""; 0], "a class may come later");
    let other = with(claim(), &["spec", "accessModes"], value!(["ReadWriteMany"]));
    assert_eq!(validate(schema, &other, Some(&claim())).len(), 1);
}

#[test]
fn a_claim_that_named_a_group_may_name_any() {
    let schema = PersistentVolumeClaim::schema();
    let from = |group: &str| {
        let source = value!({"apiGroup": group, "kind": "K", "name": "n"});
        let claim = with(claim(), &["spec", "dataSource"], source.clone());
        with(claim, &["spec", "dataSourceRef"], source)
    };
    let groups = |new: &Value, old: Option<&Value>| {
        validate(schema, new, old).iter().filter(|line| line.contains(".apiGroup: ")).count()
    };
    assert_eq!(groups(&from("A_"), None), 2);
    assert_eq!(groups(&from("A_"), Some(&claim())), 2);
    assert_eq!(groups(&from("A_"), Some(&from("example.com"))), 0);
}

#[test]
fn only_known_modes_exclude_that_of_one_pod() {
    let with_modes = |modes: Value| {
        validate(PersistentVolumeClaim::schema(), &with(claim(), &["spec", "accessModes"], modes), None).len()
    };
    assert_eq!(with_modes(value!(["ReadWriteOncePod"])), 0);
    assert_eq!(with_modes(value!(["ReadWriteOncePod", "ReadWriteOnce"])), 1);
    assert_eq!(with_modes(value!(["ReadWriteOncePod", ""])), 1);
    // The selector is validated before them.
    let selector = value!({"matchExpressions": [{"key": "a", "operator": "Odd"}]});
    let both = with(with(claim(), &["spec", "accessModes"], value!(["Odd"])), &["spec", "selector"], selector);
    let lines = validate(PersistentVolumeClaim::schema(), &both, None);
    assert!(lines.len() == 2 && lines[0].starts_with("spec.selector."), "{lines:?}");
}

#[test]
fn secrets_have_the_keys_of_their_type() {
    let schema = Secret::schema();
    let tls = value!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}});
    assert_eq!(validate(schema, &tls, None), ["data[tls.key]: Required value"]);
    let config = |text: &str| value!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": text}});
    assert_eq!(validate(schema, &config("e30="), None), [""; 0]);
    assert!(validate(schema, &config("YQ=="), None)[0].contains("<secret contents redacted>"));
}

#[test]
fn limits_and_quotas() {
    let limits = |item: Value| value!({"spec": {"limits": [item]}});
    let schema = LimitRange::schema();
    let good = limits(value!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}));
    assert_eq!(validate(schema, &good, None), [""; 0]);
    let bad = limits(value!({"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "2"}}));
    let text = "spec.limits[0].min[cpu]: Invalid value: \"3\": min value 3 is greater than max value 2";
    assert_eq!(validate(schema, &bad, None), [text]);
    let item = || value!({"type": "Container", "max": {"a b": "1"}});
    let twice = value!({"spec": {"limits": [(item()), (item())]}});
    let fields: Vec<String> =
        validate(schema, &twice, None).iter().map(|line| line.split(": ").next().unwrap_or_default().into()).collect();
    let is_repeated = fields.iter().position(|field| field == "spec.limits[1].type");
    assert_eq!(is_repeated, fields.iter().position(|field| field.starts_with("spec.limits[1]")), "{fields:?}");
    let nameless = validate(schema, &value!({"spec": {"limits": [{}, {}]}}), None);
    assert_eq!(nameless.last().map(String::as_str), Some("spec.limits[1].type: Duplicate value: \"\""));
    let schema = ResourceQuota::schema();
    let quota = value!({"spec": {"hard": {"pods": "1", "secrets": "1"}, "scopes": ["BestEffort"]}});
    let text = "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource";
    assert_eq!(validate(schema, &quota, None), [text]);
    let both =
        value!({"scopes": ["Odd"], "scopeSelector": {"matchExpressions": [{"scopeName": "Odd", "operator": "In"}]}});
    let fields = validate(schema, &value!({"spec": both}), None);
    assert!(fields.len() == 3 && fields[0].starts_with("spec.scopes: "), "{fields:?}");
}

#[test]
fn classes_and_attachments_stay() {
    let class = value!({"provisioner": "a", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"});
    let schema = StorageClass::schema();
    assert_eq!(validate(schema, &class, None), [""; 0]);
    assert_eq!(validate(schema, &with(class.clone(), &["provisioner"], value!("A.B/C")), None), [""; 0]);
    let topologies = value!([{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}, {}]);
    let text = "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"";
    assert_eq!(validate(schema, &with(class.clone(), &["allowedTopologies"], topologies), None), [text; 2]);
    let zones = |values: Value| value!({"matchLabelExpressions": [{"key": "zone", "values": values}]});
    let repeated = value!([(zones(value!(["a"]))), (zones(value!(["a", "a"])))]);
    assert_eq!(
        validate(schema, &with(class.clone(), &["allowedTopologies"], repeated), None),
        [
            "allowedTopologies[1].matchLabelExpressions[0].values[1]: Duplicate value: \"a\"",
            "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"",
        ]
    );
    let labels = value!([{"matchLabelExpressions": [
        {"key": "zone", "values": ["a"]}, {"key": "zone", "values": ["b"]}, {"key": "other"}
    ]}]);
    assert_eq!(
        validate(schema, &with(class.clone(), &["allowedTopologies"], labels), None),
        [
            "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"zone\"",
            "allowedTopologies[0].matchLabelExpressions[2].values: Required value",
        ]
    );
    let spaced = validate(schema, &with(class.clone(), &["provisioner"], value!("A B")), None);
    assert!(spaced.iter().all(|line| line.starts_with("provisioner: Invalid value: \"a b\": ")), "{spaced:?}");
    assert_eq!(spaced.len(), 1);
    let other = with(class.clone(), &["provisioner"], Value::Null);
    assert_eq!(
        validate(schema, &other, Some(&class)),
        ["provisioner: Required value", "provisioner: Invalid value: \"\": field is immutable"]
    );
    let schema = VolumeAttachment::schema();
    let inline = value!({"accessModes": ["ReadWriteOnce"], "csi": {"driver": "a", "volumeHandle": "b"}});
    let attachment = value!({"spec": {"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": inline}}});
    assert_eq!(validate_as("storage.k8s.io/v1", schema, &attachment, None), [""; 0]);
    let both = with(attachment, &["spec", "source"], value!({"persistentVolumeName": "a", "inlineVolumeSpec": {}}));
    let text = "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    assert_eq!(validate_as("storage.k8s.io/v1", schema, &both, None), [text]);
}
