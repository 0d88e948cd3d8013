//! Definitions and custom resources that other servers stored: releases before 1.16, and kube-apiserver with other settings.
//! Guarantees that these are read, shown and changed as kube-apiserver does. The bytes go into the store beside the server, as another
//! server over the same etcd would write them. Must never send such an object through the API, which rejects it.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::stores::KeptBytes;
use crate::common::wait_for;
use serde_json::{Value, json};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.old.example.com";
const DEFINITION_KEY: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/gears.old.example.com";
const GEARS: &str = "/apis/old.example.com/v1/gears";
const APPLY: &str = "application/apply-patch+yaml";

struct Old {
    kept: KeptBytes,
    fixture: Fixture,
}

impl Old {
    fn start() -> Old {
        let kept = KeptBytes::new();
        let fixture = Fixture::over(|| kept.store(|_| {}), |_| {});
        Old { kept, fixture }
    }

    /// Stores a definition as a server of old did, with this in its `spec`, and waits until it is served.
    fn define(&self, spec: Value) -> Client {
        self.kept.put(DEFINITION_KEY, definition(spec).to_string());
        let mut client = self.fixture.client();
        wait_for("the resource", || (client.get(GEARS).answer().status == 200).then_some(()));
        client
    }
}

fn definition(more: Value) -> Value {
    let names = json!({"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"});
    let mut spec = json!({"group": "old.example.com", "version": "v1", "scope": "Cluster", "names": names,
        "versions": [{"name": "v1", "served": true, "storage": true}]});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let met = |kind: &str, reason: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2019-01-01T00:00:00Z"})
    };
    json!({"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": "gears.old.example.com", "uid": "6a6f1f3e-0000-4000-8000-000000000001", "generation": 1,
            "creationTimestamp": "2019-01-01T00:00:00Z"},
        "spec": spec,
        "status": {"acceptedNames": names, "storedVersions": ["v1"],
            "conditions": [met("NamesAccepted", "NoConflicts"), met("Established", "InitialNamesAccepted")]}})
}

fn condition(definition: &Value, kind: &str) -> Value {
    let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// Schemas from before they had to be structural, and one that is.
fn schemas() -> [(&'static str, Value); 5] {
    let of = |schema: Value| json!({"validation": {"openAPIV3Schema": schema}});
    [
        ("none", json!({})),
        ("empty", of(json!({}))),
        ("a list of nothing", of(json!({"properties": {"list": {"type": "array"}}}))),
        ("an unknown type", of(json!({"type": "object", "properties": {"other": {"type": "map"}}}))),
        (
            "structural",
            of(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "list": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}})),
        ),
    ]
}

#[test]
fn objects_without_a_usable_schema_are_applied() {
    for (what, spec) in schemas() {
        let old = Old::start();
        let mut client = old.define(spec);
        let path = |manager: &str| format!("{GEARS}/a?fieldManager={manager}");
        let gear = |teeth: u32| {
            json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": {"name": "a"},
                "spec": {"teeth": teeth, "list": ["x"], "free": {"form": null}}})
        };
        let mut apply =
            |path: &str, gear: &Value| client.send("PATCH", path, APPLY, gear.to_string().as_bytes()).answer();
        let made = apply(&path("one"), &gear(1)).expect(201);
        assert_eq!((&made["spec"]["teeth"], &made["spec"]["list"]), (&json!(1), &json!(["x"])), "{what}");
        let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
        let list = if what == "structural" { json!({"v:\"x\"": {}}) } else { json!({}) };
        assert_eq!((&owned["f:teeth"], &owned["f:list"]), (&json!({}), &list), "{what}");
        let mut other = old.fixture.client();
        let patch = json!({"spec": {"teeth": 5}}).to_string();
        other.send("PATCH", &path("two"), MERGE_PATCH, patch.as_bytes()).expect_status(200);
        let refused = apply(&path("one"), &gear(1)).expect(409);
        let fields: Vec<&Value> = refused["details"]["causes"].as_array().into_iter().flatten().collect();
        assert!(matches!(fields[..], [cause] if cause["field"] == ".spec.teeth"), "{what}: {refused}");
        let forced = apply(&format!("{}&force=true", path("one")), &gear(1)).expect(200);
        assert_eq!(forced["spec"]["teeth"], 1, "{what}");
        // Nothing is dropped that no schema knows.
        let read = other.get(&format!("{GEARS}/a")).expect_status(200);
        assert_eq!(read["spec"], gear(1)["spec"], "{what}");
    }
}

#[test]
fn unknown_fields_are_kept_by_definitions_that_keep_them() {
    let old = Old::start();
    let [.., (_, structural)] = schemas();
    let stored = json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": {"name": "a", "uid": "u"},
        "spec": {"list": ["x"], "teeth": 3, "nothing": null}, "more": [1]});
    old.kept.put("/registry/old.example.com/gears/a", stored.to_string());
    let mut client = old.define(structural);
    let read = client.get(&format!("{GEARS}/a")).expect_status(200);
    assert_eq!((&read["spec"], &read["more"]), (&stored["spec"], &json!([1])));
    let gear =
        json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": {"name": "b"}, "extra": {"a": 1}});
    let made = client.post(&format!("{GEARS}?fieldValidation=Strict"), &gear).expect_status(201);
    assert_eq!(made["extra"], json!({"a": 1}));
}

#[test]
fn what_is_not_structural_is_a_condition_and_is_not_published() {
    const SCHEMA: &str = "spec.versions[0].schema.openAPIV3Schema";
    const OPEN: &str = "spec.preserveUnknownFields: Invalid value: true: must be false";
    let of = |schema: Value| json!({"validation": {"openAPIV3Schema": schema}});
    let field = json!({"type": "object", "properties": {"a": {}}});
    let rows = [
        (json!({}), OPEN.to_owned()),
        (of(json!({"type": ""})), format!("[{OPEN}, {SCHEMA}.type: Required value: must not be empty at the root]")),
        (
            of(json!({"type": "integer"})),
            format!("[{OPEN}, {SCHEMA}.type: Invalid value: \"integer\": must be object at the root]"),
        ),
        (
            of(field),
            format!(
                "[{OPEN}, {SCHEMA}.properties[a].type: Required value: must not be empty for specified object fields]"
            ),
        ),
    ];
    for (spec, message) in rows {
        let old = Old::start();
        let mut client = old.define(spec.clone());
        let noted = wait_for("the condition", || {
            let found = client.get(DEFINITION).expect_status(200);
            let noted = condition(&found, "NonStructuralSchema");
            (!noted.is_null()).then_some(noted)
        });
        assert_eq!((&noted["status"], &noted["reason"]), (&json!("True"), &json!("Violations")), "{spec}");
        assert_eq!(noted["message"], message);
        let shown = client.get(DEFINITION).expect_status(200);
        assert_eq!(shown["spec"]["preserveUnknownFields"], true);
        let published = client.get("/openapi/v3/apis/old.example.com/v1").expect_status(200);
        let schema = &published["components"]["schemas"]["com.example.old.v1.Gear"];
        assert_eq!((&schema["type"], &schema["properties"]), (&json!("object"), &Value::Null), "{spec}: {schema}");

        // It has to become structural before it can have rules, which the condition follows.
        let structural = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let rule = json!([{"rule": "true"}]);
        let mut ruled = spec["validation"]["openAPIV3Schema"].clone();
        if ruled.is_null() {
            ruled = json!({});
        }
        ruled["x-kubernetes-validations"] = rule.clone();
        let patch = |schema: &Value, keeps: bool| {
            let versions =
                json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
            json!({"spec": {"preserveUnknownFields": keeps, "versions": versions}}).to_string()
        };
        let mut send = |patch: String| client.send("PATCH", DEFINITION, MERGE_PATCH, patch.as_bytes());
        send(patch(&ruled, true)).expect_status(422);
        let mut good = structural.clone();
        good["x-kubernetes-validations"] = rule;
        send(patch(&good, false)).expect_status(200);
        wait_for("the end of the condition", || {
            let found = client.get(DEFINITION).expect_status(200);
            condition(&found, "NonStructuralSchema").is_null().then_some(())
        });
        let published = wait_for("the schema", || {
            let document = client.get("/openapi/v3/apis/old.example.com/v1").expect_status(200);
            let schema = document["components"]["schemas"]["com.example.old.v1.Gear"].clone();
            (!schema["properties"].is_null()).then_some(schema)
        });
        assert_eq!(published["properties"]["a"]["type"], "integer");
    }
}

#[test]
fn metadata_of_wrong_types_are_dropped() {
    let old = Old::start();
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"inside": embedded}});
    let mut client = old.define(json!({"preserveUnknownFields": false, "validation": {"openAPIV3Schema": schema}}));
    let metadata = |name: &str| {
        json!({"name": name, "unknown": 42, "generation": null, "labels": {"invalid": "x y"},
            "annotations": {"a": 42, "b": "c"}, "finalizers": "none", "ownerReferences": [{"uid": 5}]})
    };
    let gear = |name: &str, metadata: Value| {
        let inside = json!({"kind": "Foo", "apiVersion": "foo/v1", "metadata": metadata.clone()});
        let object =
            json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": metadata, "inside": inside});
        old.kept.put(&format!("/registry/old.example.com/gears/{name}"), object.to_string());
    };
    for name in ["deleted", "read"] {
        gear(name, metadata(name));
    }
    wait_for("the objects", || {
        let list = client.get(GEARS).expect_status(200);
        (list["items"].as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let path = |name: &str| format!("{GEARS}/{name}");
    client.delete(&path("deleted")).expect_status(200);
    client.get(&path("deleted")).expect_status(404);
    let mut read = client.get(&path("read")).expect_status(200);
    read["metadata"]["resourceVersion"].take();
    let labels = json!({"invalid": "x y"});
    assert_eq!(read["metadata"], json!({"name": "read", "labels": labels, "generation": 1, "resourceVersion": null}));
    assert_eq!(read["inside"]["metadata"], json!({"name": "read", "labels": labels}));

    // What is of the right type is validated when it is written.
    for (labels, inside, status) in [("x y", "x y", 422), ("fixed", "x y", 422), ("fixed", "fixed", 200)] {
        let patch = json!({"metadata": {"labels": {"invalid": labels, "new": "a"}},
            "inside": {"metadata": {"labels": {"invalid": inside}}}});
        let sent = client.send("PATCH", &path("read"), MERGE_PATCH, patch.to_string().as_bytes());
        sent.expect_status(status);
    }
    // Metadata that are none make the object unreadable, as in kube-apiserver.
    gear("none", json!("x"));
    wait_for("the object", || (client.get(GEARS).answer().status == 500).then_some(()));
}

#[test]
fn custom_resources_are_stored_as_cbor_where_that_is_on_and_read_in_both_forms() {
    const SELF_DESCRIBED: &[u8] = &[0xd9, 0xd9, 0xf7];
    let key = |name: &str| format!("/registry/old.example.com/gears/{name}");
    let start = |is_on: bool| {
        let kept = KeptBytes::new();
        let fixture = Fixture::over(|| kept.store(|form| form.custom_as_cbor = is_on), |_| {});
        Old { kept, fixture }
    };
    let gear = |name: &str, list: usize| {
        json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": {"name": name},
            "spec": {"teeth": 3, "ratio": 0.5, "list": vec![1; list]}})
    };
    let mut written = Vec::new();
    for is_on in [false, true] {
        let old = start(is_on);
        let mut client = old.define(json!({}));
        let name = format!("stored-{is_on}");
        client.post(GEARS, &gear(&name, 2)).expect_status(201);
        let bytes = old.kept.written(&key(&name));
        assert_eq!(bytes.starts_with(SELF_DESCRIBED), is_on, "{bytes:?}");
        assert_eq!(bytes.starts_with(b"{\"apiVersion\":"), !is_on, "{bytes:?}");
        // A definition is JSON everywhere.
        let patch = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
        client.send("PATCH", DEFINITION, MERGE_PATCH, patch.as_bytes()).expect_status(200);
        assert!(old.kept.written(DEFINITION_KEY).starts_with(b"{"));
        // What could not be read again in CBOR is JSON.
        client.post(GEARS, &gear("long", 2000)).expect_status(201);
        assert!(old.kept.written(&key("long")).starts_with(b"{"));
        written.push((name, bytes));
    }
    for is_on in [false, true] {
        let old = start(is_on);
        written.iter().for_each(|(name, bytes)| old.kept.put(&key(name), bytes.clone()));
        let mut client = old.define(json!({}));
        for (name, bytes) in &written {
            let path = format!("{GEARS}/{name}");
            let read = client.get(&path).expect_status(200);
            assert_eq!(read["spec"], gear("", 2)["spec"], "{name}, read {is_on}");
            // The next write is in the form of this server, even if it changes nothing else.
            client.send("PATCH", &path, MERGE_PATCH, b"{}").expect_status(200);
            let now = old.kept.written(&key(name));
            let is_same = bytes.starts_with(SELF_DESCRIBED) == is_on;
            assert_eq!((now.is_empty(), now.starts_with(SELF_DESCRIBED)), (is_same, !is_same && is_on), "{name}");
        }
    }
}

#[test]
fn a_definition_stays_while_an_object_of_it_cannot_be_read() {
    let old = Old::start();
    let mut client = old.define(json!({}));
    old.kept.put("/registry/old.example.com/gears/broken", "{\"kind\":");
    wait_for("the object", || (client.get(GEARS).answer().status == 500).then_some(()));
    client.delete(DEFINITION).expect_status(200);
    let failed = wait_for("the failure", || {
        let found = client.get(DEFINITION).expect_status(200);
        let terminating = condition(&found, "Terminating");
        (terminating["reason"] == "InstanceDeletionFailed").then_some(terminating)
    });
    assert_eq!(failed["status"], "True");
    let message = failed["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("could not list instances: "), "{message}");
    // It goes as soon as the object can be read.
    let gear = json!({"apiVersion": "old.example.com/v1", "kind": "Gear", "metadata": {"name": "broken", "uid": "u"}});
    old.kept.put("/registry/old.example.com/gears/broken", gear.to_string());
    wait_for("its end", || (client.get(DEFINITION).answer().status == 404).then_some(()));
    assert!(old.kept.written("/registry/old.example.com/gears/broken").is_empty(), "the object went first");
}
