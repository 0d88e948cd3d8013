//! Objects with large parts: every acknowledged object can be read, listed, watched and deleted, also after a restart.
//! Guarantees that one such object does not affect other requests. Must never use an object that kube-apiserver would reject:
//! each row is within its limits.

use crate::common::http::Answered;
use crate::common::http::{Client, JSON_PATCH};
use crate::common::process::Installation;
use crate::common::{name, resource_version};
use serde_json::{Map, Value, json};

fn entries(count: usize, key: impl Fn(usize) -> String) -> Value {
    Value::Object((0..count).map(|at| (key(at), json!("v"))).collect::<Map<_, _>>())
}

/// Collections, and what is created in them.
fn rows() -> Vec<(&'static str, Value)> {
    let config_maps = "/api/v1/namespaces/default/configmaps";
    let secrets = "/api/v1/namespaces/default/secrets";
    let metadata = |name: &str, field: &str, value: Value| json!({"metadata": {"name": name, field: value}});
    let owners =
        (0..5000).map(|at| json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": format!("uid-{at}")}));
    let involved = json!({"namespace": "default", "kind": "Pod", "fieldPath": "x".repeat(70_000)});
    vec![
        (secrets, json!({"metadata": {"name": "type"}, "type": "x".repeat(66_000)})),
        (secrets, json!({"metadata": {"name": "type-escaped"}, "type": "<".repeat(200_000)})),
        (config_maps, metadata("labels", "labels", entries(950, |at| format!("label-{at:05}-{}", "x".repeat(45))))),
        (config_maps, metadata("many-labels", "labels", entries(30_000, |at| format!("label-{at:05}")))),
        (config_maps, metadata("annotations", "annotations", entries(8_000, |at| format!("annotation-{at:05}")))),
        (
            config_maps,
            metadata("finalizers", "finalizers", (0..3000).map(|at| json!(format!("example.com/{at}"))).collect()),
        ),
        (config_maps, metadata("owners", "ownerReferences", owners.collect())),
        (config_maps, json!({"metadata": {"name": "data"}, "data": entries(60_000, |at| format!("key-{at:05}"))})),
        (config_maps, json!({"metadata": {"name": "escaped"}, "data": {"a": "\u{1}".repeat(500_000)}})),
        (config_maps, json!({"metadata": {"name": format!("{}.{}", "a".repeat(125), "b".repeat(127))}})),
        (
            "/api/v1/namespaces/default/events",
            json!({"metadata": {"name": "event"}, "involvedObject": involved, "reason": "r".repeat(1000), "type": "Normal"}),
        ),
    ]
}

fn names(client: &mut Client, collection: &str) -> Vec<String> {
    let list = client.get(collection).expect_status(200);
    list["items"].as_array().expect("items").iter().map(|item| name(item).to_owned()).collect()
}

#[test]
fn acknowledged_large_objects_can_be_read_watched_and_deleted() {
    let installation = Installation::new();
    // ManagedFieldsUpdate that do not exist would have the garbage collector delete what is to be read.
    let process = installation.start_with(&["--controllers="]);
    let mut client = process.endpoint().client();
    let mut made: Vec<(&str, Value)> = Vec::new();
    for (collection, object) in rows() {
        let list = client.get(collection).expect_status(200);
        let mut watcher = process.endpoint().client();
        let path = format!("{collection}?watch=true&resourceVersion={}", resource_version(&list));
        let mut watch = watcher.watch(&path).expect("a watch");
        let created = client.post(collection, &object).expect_status(201);
        let (event, seen) = watch.event();
        assert!(event == "ADDED" && seen == created, "{event} of {} is seen", name(&seen));
        let read = client.get(&format!("{collection}/{}", name(&created))).expect_status(200);
        assert!(read == created, "{} is read as another object", name(&created));
        made.push((collection, created));
    }
    drop((client, process));

    let process = installation.start_with(&["--controllers="]);
    let mut client = process.endpoint().client();
    for (collection, created) in &made {
        let path = format!("{collection}/{}", name(created));
        let read = client.get(&path).expect_status(200);
        assert!(read == *created, "{path} is another object after a restart");
        assert!(names(&mut client, collection).contains(&name(created).to_owned()), "{path} is not listed");
        client.delete(&path).expect_status(200);
        if created["metadata"]["finalizers"].is_array() {
            let patch = br#"[{"op": "remove", "path": "/metadata/finalizers"}]"#;
            client.send("PATCH", &path, JSON_PATCH, patch).expect_status(200);
        }
        assert!(!names(&mut client, collection).contains(&name(created).to_owned()), "{path} is still there");
    }
}

#[test]
fn a_deeply_nested_patch_is_rejected_without_delaying_others() {
    let installation = Installation::new();
    let process = installation.start();
    let mut client = process.endpoint().client();
    let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let names = json!({"plural": "foos", "kind": "Foo"});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let spec = json!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]});
    let definition = json!({"metadata": {"name": "foos.example.com"}, "spec": spec});
    client.post(collection, &definition).expect_status(201);

    let first = "/spec/versions/0/schema/openAPIV3Schema/properties/a";
    let mut last = first.to_owned();
    let mut operations = Vec::new();
    for round in 0..16 {
        operations.push(json!({"op": "add", "path": format!("{last}/properties"), "value": {}}));
        operations.push(json!({"op": "copy", "from": first, "path": format!("{last}/properties/a")}));
        last.push_str(&"/properties/a".repeat(1 << round));
    }
    let path = format!("{collection}/foos.example.com");
    for count in [16, 32] {
        let patch = serde_json::to_vec(&operations[..count]).expect("JSON");
        client.send("PATCH", &path, JSON_PATCH, &patch).expect_status(413);
        client.get(collection).expect_status(200);
    }
    client.delete(&path).expect_status(200);
}
