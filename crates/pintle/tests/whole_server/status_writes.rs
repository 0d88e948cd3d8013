//! Fields of metadata that a status write may change, and their ownership. Guarantees that ownership is tracked for exactly
//! these fields. Must never name a kind without a status.

use crate::common::http::Client;
use crate::common::process::Installation;
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
    client.send("PATCH", path, &content_type, body.to_string().as_bytes()).expect("an answer").expect(200)
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
        client.post(collection, &object).expect("an answer").expect(201);
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
