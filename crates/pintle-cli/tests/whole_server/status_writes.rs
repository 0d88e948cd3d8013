//! Fields of metadata that a status write may change, and their ownership. Guarantees that ownership is tracked for exactly
//! these fields, and never taken from what the write says of it. Must never name a kind without a status.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

/// The fields of metadata that a write may change, in one order everywhere.
const FIELDS: [&str; 4] = ["annotations", "finalizers", "labels", "ownerReferences"];

/// What a write of a status asks of metadata.
fn metadata(value: &str) -> Value {
    json!({
        "annotations": {"written": value},
        "finalizers": [format!("example.com/{value}")],
        "labels": {"written": value},
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Example", "name": value, "uid": value}],
    })
}

fn patch(client: &mut Client, path: &str, kind: &str, body: &Value) -> Value {
    let content_type = format!("application/{kind}");
    client.send("PATCH", path, &content_type, body.to_string().as_bytes()).expect_status(200)
}

/// Of the fields of metadata, those that are under this condition.
fn fields(which: impl Fn(&str) -> bool) -> Vec<&'static str> {
    FIELDS.into_iter().filter(|field| which(field)).collect()
}

#[test]
fn metadata_is_owned_where_a_status_can_write_it() {
    let installation = Installation::own();
    let process =
        installation.start_with(&["--storage=memory", "--controllers=", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "examples.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "examples", "singular": "example", "kind": "Example", "listKind": "ExampleList"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    });
    let template = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    });
    let attachment = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "v"},
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let rows: [(&str, Value, &[&str]); 4] = [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, &FIELDS),
        ("/apis/storage.k8s.io/v1/volumeattachments", attachment, &[]),
        ("/apis/apps/v1/namespaces/default/deployments", deployment, &["annotations", "finalizers", "ownerReferences"]),
        ("/api/v1/namespaces/default/pods", pod, &["annotations", "finalizers", "labels"]),
    ];
    for (collection, object, writable) in rows {
        client.post(collection, &object).expect_status(201);
        let status = format!("{collection}/{}/status", crate::common::name(&object));
        let mut applied = json!({"apiVersion": object["apiVersion"], "kind": object["kind"]});
        applied["metadata"] = metadata("applied");
        applied["metadata"]["name"] = object["metadata"]["name"].clone();
        let query = "?fieldManager=applier&force=true";
        let stored = patch(&mut client, &format!("{status}{query}"), "apply-patch+yaml", &applied);
        let entries = stored["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let entry = entries.into_iter().find(|entry| entry["manager"] == "applier").unwrap_or_default();
        let owned = &entry["fieldsV1"]["f:metadata"];
        assert_eq!(fields(|field| owned.get(format!("f:{field}")).is_some()), writable, "{collection}: owned");
        let merged = patch(&mut client, &status, "merge-patch+json", &json!({"metadata": metadata("merged")}));
        let changed = fields(|field| merged["metadata"][field] != stored["metadata"][field]);
        assert_eq!(changed, writable, "{collection}: changed");
    }
}

/// Who manages what, in which version.
fn managers(object: &Value) -> Vec<(String, String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            (text("manager"), text("apiVersion"), entry["fieldsV1"].clone())
        })
        .collect()
}

#[test]
fn managed_fields_that_a_status_write_sends_are_not_stored() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "examples.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "examples", "singular": "example", "kind": "Example", "listKind": "ExampleList"},
            "versions": [version("v1", false), version("v2", true)],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(definitions, &definition).expect_status(201);
    let autoscaler = json!({
        "minReplicas": 1, "maxReplicas": 5,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    });
    let rows = [
        ("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", autoscaler),
        ("example.com", "examples", "Example", json!({"a": 1})),
    ];
    for (group, plural, kind, spec) in rows {
        let path = |version: &str| format!("/apis/{group}/{version}/namespaces/default/{plural}");
        let object = json!({
            "apiVersion": format!("{group}/v2"), "kind": kind, "metadata": {"name": "o"}, "spec": spec,
        });
        let created = path("v2") + "?fieldManager=creator";
        let stored = wait_for("a resource that is served", || {
            let answer = client.post(&created, &object).answer();
            (answer.status == 201).then(|| answer.json())
        });
        let before = managers(&stored);
        let (old, status) = (format!("{}/o", path("v1")), format!("{}/o/status", path("v1")));
        let forged = json!([{
            "manager": "forger", "operation": "Update", "apiVersion": format!("{group}/v1"),
            "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:a": {}}},
        }]);
        for (at, sent) in [json!([]), json!([{}]), forged.clone(), Value::Null].into_iter().enumerate() {
            let mut written = client.get(&old).expect_status(200);
            written["metadata"]["managedFields"] = sent.clone();
            written["status"]["desiredReplicas"] = (at + 1).into();
            written["status"]["currentReplicas"] = (at + 1).into();
            client.put(&format!("{status}?fieldManager=writer"), &written).expect_status(200);
            let after = managers(&client.get(&format!("{}/o", path("v2"))).expect_status(200));
            let (own, others): (Vec<_>, Vec<_>) = after.into_iter().partition(|entry| entry.0 == "writer");
            assert_eq!(others, before, "{kind}: managed fields {sent}");
            assert_eq!(own.len(), 1, "{kind}: managed fields {sent}");
            let merged = json!({
                "metadata": {"managedFields": sent}, "status": {"desiredReplicas": 10 + at, "currentReplicas": 1},
            });
            let query = format!("{status}?fieldManager=writer");
            patch(&mut client, &query, "merge-patch+json", &merged);
            let after = managers(&client.get(&format!("{}/o", path("v2"))).expect_status(200));
            let (own, others): (Vec<_>, Vec<_>) = after.into_iter().partition(|entry| entry.0 == "writer");
            assert_eq!((own.len(), others), (1, before.clone()), "{kind}: managed fields {sent} in a patch");
        }
        // A write that changes nothing but what it says of managers changes nothing.
        let stored = client.get(&format!("{}/o", path("v2"))).expect_status(200);
        let mut written = client.get(&old).expect_status(200);
        written["metadata"]["managedFields"] = forged;
        client.put(&format!("{status}?fieldManager=writer"), &written).expect_status(200);
        let after = client.get(&format!("{}/o", path("v2"))).expect_status(200);
        assert_eq!(after, stored, "{kind}: an unchanged status");
    }
}
