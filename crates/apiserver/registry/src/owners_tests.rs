//! Tests of field ownership after creates, updates and applies, for kinds whose conversion, defaults or empty fields affect it.

use crate::testing::{registry, wait};
use crate::update::{ManagedFieldsUpdate, Update};
use crate::{ApplyRequest, Payload, Registry, Result, Target, WriteOptions, Written, track_posted};
use pintle_codec::{Strictness, json};
use pintle_schema::{ApiType, Value, value};
use pintle_types::authentication::v1::TokenRequest;

fn target(registry: &Registry, group: &str, plural: &str, name: &str) -> Target {
    let resource = pintle_groups::find(group, "v1", plural).unwrap();
    let namespace = if resource.namespaced { "default" } else { "" };
    registry.target(resource, namespace, name).unwrap()
}

fn writer(manager: &str) -> WriteOptions {
    WriteOptions { field_manager: manager.to_owned(), ..WriteOptions::default() }
}

/// An object as it is stored.
fn stored(registry: &Registry, target: &Target, written: Result<Written>) -> Value {
    match written.unwrap().payload {
        Payload::Stored(stored) => registry.decode(target, &stored).unwrap(),
        Payload::Value(_) => panic!("nothing is stored"),
    }
}

/// The managers of an object with their fields.
fn owners(object: &Value) -> Vec<String> {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let shown = |entry: &Value| {
        let fields = entry.get("fieldsV1").map(json::to_string).unwrap_or_default();
        format!("{} {fields}", entry.str_at(&["manager"]))
    };
    entries.iter().map(shown).collect()
}

fn replaced(registry: &Registry, target: &Target, object: &Value, manager: &str) -> Value {
    let change = |_: Option<&Value>| Ok(object.clone());
    let update =
        Update { change: &change, part: None, create: false, from_stored: false, owners: ManagedFieldsUpdate::Compute };
    stored(registry, target, wait(registry.update(target, &update, &writer(manager))))
}

fn applied(registry: &Registry, target: &Target, config: &Value) -> Value {
    let options = writer("team");
    let applying = ApplyRequest { config, force: false, subresource: "" };
    let change = |live: Option<&Value>| wait(registry.apply(target, live, applying, &options).get());
    let update =
        Update { change: &change, part: None, create: true, from_stored: true, owners: ManagedFieldsUpdate::Provided };
    stored(registry, target, wait(registry.update(target, &update, &options)))
}

fn pods() -> Value {
    value!({
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    })
}

#[test]
fn empty_lists_that_a_client_must_send_are_owned() {
    let registry = registry();
    let slice = |field: &str, items: Value| {
        let mut slice = value!({"metadata": {"name": "a"}, "addressType": "IPv4"});
        slice.set_at(&[field], items);
        slice
    };
    let (none, empty) = (|| value!(null), || value!([]));
    let rows = [
        (
            "",
            "limitranges",
            value!({"metadata": {"name": "a"}, "spec": {"limits": (empty())}}),
            r#""f:spec":{"f:limits":{}}"#,
        ),
        ("", "limitranges", value!({"metadata": {"name": "a"}, "spec": {"limits": (none())}}), ""),
        ("discovery.k8s.io", "endpointslices", slice("endpoints", empty()), r#""f:addressType":{},"f:endpoints":{}"#),
        ("discovery.k8s.io", "endpointslices", slice("ports", empty()), r#""f:addressType":{},"f:ports":{}"#),
        ("discovery.k8s.io", "endpointslices", slice("ports", none()), r#""f:addressType":{}"#),
        (
            "storage.k8s.io",
            "csinodes",
            value!({"metadata": {"name": "a"}, "spec": {"drivers": (empty())}}),
            r#""f:spec":{"f:drivers":{}}"#,
        ),
    ];
    for (at, (group, plural, object, fields)) in rows.into_iter().enumerate() {
        let mut object = object;
        object.set_at(&["metadata", "name"], format!("a{at}"));
        let place = target(&registry, group, plural, &format!("a{at}"));
        let created = stored(&registry, &place, wait(registry.create(&place, object.clone(), &writer("one"))));
        let expected = |manager: &str| match fields {
            "" => Vec::new(),
            fields => vec![format!("{manager} {{{fields}}}")],
        };
        assert_eq!(owners(&created), expected("one"), "{plural} {object:?}");
        if !fields.contains("addressType") {
            object.set_at(&["metadata", "resourceVersion"], created.str_at(&["metadata", "resourceVersion"]));
            let updated = replaced(&registry, &place, &object, "two");
            assert_eq!(owners(&updated), expected("two"), "who sends it again takes it over: {plural}");
        }
    }
}

#[test]
fn template_generation_is_owned_when_omitted() {
    let registry = registry();
    let place = target(&registry, "apps", "daemonsets", "a");
    let object = value!({"metadata": {"name": "a"}, "spec": (pods())});
    let annotation = r#""f:annotations":{".":{},"f:deprecated.daemonset.template.generation":{}}"#;
    let created = stored(&registry, &place, wait(registry.create(&place, object.clone(), &writer("one"))));
    assert!(owners(&created)[0].contains(annotation), "{:?}", owners(&created));
    let updated = replaced(&registry, &place, &object, "two");
    let taken = r#"two {"f:metadata":{"f:annotations":{"f:deprecated.daemonset.template.generation":{}}}}"#;
    assert_eq!(owners(&updated)[1], taken);
    assert!(!owners(&updated)[0].contains("deprecated"), "{:?}", owners(&updated));
    let kept = replaced(&registry, &place, &updated, "three");
    assert_eq!(owners(&kept), owners(&updated), "it was sent as it is");
}

#[test]
fn managers_of_a_posted_object_keep_missing_fields() {
    let registry = registry();
    let long = "m".repeat(129);
    let own = r#"team {"f:data":{".":{},"f:k":{}}}"#;
    let rows = [
        ("x", "v1", r#"{"f:data":{"f:k":{}}}"#, Ok(vec![own.to_owned()])),
        (&long, "v1", r#"{"f:data":{"f:k":{}}}"#, Ok(vec![own.to_owned()])),
        ("a\nb", "v1", r#"{"f:data":{".":{},"f:k":{}}}"#, Ok(vec![own.to_owned()])),
        ("a\nb", "apps/v1", r#"{"f:data":{"f:z":{}}}"#, Ok(vec![own.to_owned()])),
        ("x", "v1", r#"{"f:data":{"f:z":{}}}"#, Ok(vec![own.to_owned(), r#"x {"f:data":{"f:z":{}}}"#.to_owned()])),
        (&long, "v1", r#"{"f:data":{"f:z":{}}}"#, Err("metadata.managedFields[0].manager: Too long")),
        ("a\nb", "v1", r#"{"f:metadata":{}}"#, Err("metadata.managedFields[0].manager: Invalid value")),
        ("x", "a/b/c", r#"{"f:metadata":{}}"#, Ok(Vec::new())),
        ("x", "v1", r#"{"nonsense":1}"#, Ok(vec![own.to_owned()])),
    ];
    for (at, (manager, version, fields, expected)) in rows.into_iter().enumerate() {
        let name = format!("a{at}");
        let place = target(&registry, "", "configmaps", &name);
        let fields = json::parse(fields.as_bytes(), Strictness::Ignore).unwrap().value;
        let mut object = value!({"metadata": {"name": (name.as_str())}, "data": {"k": "v"}});
        let entry = value!({"manager": (manager), "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields});
        object.set_at(&["metadata", "managedFields"], Value::List(vec![entry]));
        let created = wait(registry.create(&place, object, &writer("team")));
        match (created, expected) {
            (Err(status), Err(expected)) => assert!(status.message.contains(expected), "{}", status.message),
            (created, Ok(expected)) => {
                let mut found = owners(&stored(&registry, &place, created));
                found.sort();
                assert_eq!(found, expected, "{manager:?} {version}");
            }
            (Ok(_), Err(expected)) => panic!("{manager:?} {version} was taken: {expected}"),
        }
    }
}

#[test]
fn managers_of_events_do_not_pass_between_the_groups() {
    let registry = registry();
    let event = |name: &str, version: &str| {
        let entry = value!({"manager": "a\nb", "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}});
        value!({"metadata": {"name": name, "managedFields": [entry]}, "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingController": "a.b/c", "reportingInstance": "i", "reportingComponent": "a.b/c", "action": "a", "reason": "r",
            "type": "Normal", "regarding": {"namespace": "default"}, "involvedObject": {"namespace": "default"}})
    };
    for (at, (group, version, is_kept)) in [
        ("events.k8s.io", "v1", false),
        ("events.k8s.io", "events.k8s.io/v1", true),
        ("", "v1", true),
        ("", "events.k8s.io/v1", false),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("a{at}");
        let place = target(&registry, group, "events", &name);
        let created = wait(registry.create(&place, event(&name, version), &writer("team")));
        let refused =
            created.as_ref().err().is_some_and(|status| status.message.contains("metadata.managedFields[0].manager"));
        assert_eq!(refused, is_kept, "{group:?} {version}: {:?}", created.err().map(|status| status.message));
    }
}

#[test]
fn a_claim_is_rewritten_once_to_own_its_phase() {
    let registry = registry();
    let place = target(&registry, "", "persistentvolumeclaims", "a");
    let config = value!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let first = applied(&registry, &place, &config);
    assert_eq!(first.str_at(&["status", "phase"]), "Pending", "it is read with its default");
    let again = applied(&registry, &place, &config);
    let version = |object: &Value| object.str_at(&["metadata", "resourceVersion"]).to_owned();
    assert_ne!(version(&first), version(&again));
    assert_eq!(version(&again), version(&applied(&registry, &place, &config)));
}

#[test]
fn maps_whose_fields_were_removed_stay_empty() {
    let registry = registry();
    let container = |context: Value| {
        let mut spec = pods();
        let containers = value!([{"name": "c", "image": "i", "securityContext": context}]);
        spec.set_at(&["template", "spec", "containers"], containers);
        value!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec})
    };
    let rows = [
        (value!({"capabilities": {}}), value!({"capabilities": {}})),
        (value!({"capabilities": null}), value!({"capabilities": {}})),
        (value!({"capabilities": {"drop": []}}), value!({"capabilities": {}})),
        (value!({}), value!({})),
        (value!({"runAsUser": 1}), value!({"runAsUser": 1})),
        (value!(null), value!({})),
    ];
    for (at, (given, expected)) in rows.into_iter().enumerate() {
        let name = format!("a{at}");
        let place = target(&registry, "apps", "deployments", &name);
        let config = |context: Value| {
            let mut config = container(context);
            config.set_at(&["metadata", "name"], name.as_str());
            config
        };
        applied(&registry, &place, &config(value!({"capabilities": {"drop": ["ALL"]}})));
        let left = applied(&registry, &place, &config(given.clone()));
        let containers = left.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_list).unwrap();
        assert_eq!(containers[0].get("securityContext"), Some(&expected), "{given:?}");
    }
}

#[test]
fn empty_lists_of_posted_objects_have_owners() {
    let registry = registry();
    let rows = [
        (value!({"audiences": []}), r#"team {"f:spec":{"f:audiences":{}}}"#),
        (value!({"expirationSeconds": 700}), r#"team {"f:spec":{"f:expirationSeconds":{}}}"#),
    ];
    for (spec, owned) in rows {
        let mut object = value!({"spec": (spec)});
        let (schema, version) = (TokenRequest::schema(), "authentication.k8s.io/v1");
        track_posted(schema, version, "token", &mut object, &writer("team"), registry.environment.as_ref());
        assert_eq!(owners(&object), [owned]);
    }
}
