//! Definitions that are being deleted: what their objects still take, and what clients see of them. Guarantees that all steps use only
//! the API. Must never depend on how long a definition takes to end.

use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ACCOUNTS_OFF: &str = "--disable-admission-plugins=ServiceAccount";

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}})
}

/// Polls until a response is as expected.
fn until(client: &mut Client, path: &str, is: impl Fn(u16, &Value) -> bool) -> Value {
    wait_for(path, || {
        let answer = client.get(path).answer();
        let body = if answer.status == 200 { answer.json() } else { Value::Null };
        is(answer.status, &body).then_some(body)
    })
}

fn change(client: &mut Client, path: &str, patch: Value) -> Value {
    client.send("PATCH", path, MERGE_PATCH, patch.to_string().as_bytes()).expect_status(200)
}

#[test]
fn a_definition_that_is_deleted_takes_no_more_objects() {
    let installation = Installation::own();
    let mut process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    client.post(DEFINITIONS, &definition()).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(WIDGETS, &held).expect_status(201);
    let deleted = client.delete(DEFINITION).expect_status(200);
    assert_eq!(
        (&deleted["metadata"]["generation"], &deleted["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(1), &Value::Null)
    );
    let refuses = |client: &mut Client| {
        let refused = client.post(WIDGETS, &widget("late")).answer();
        (refused.status == 403).then(|| refused.json())
    };
    let refused = wait_for("a refusal", || refuses(&mut client));
    assert_eq!(
        refused["message"],
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating"
    );
    // An apply that would create an object is refused too, and one that changes an object is not.
    let apply = |client: &mut Client, name: &str, query: &str| {
        let path = format!("{WIDGETS}/{name}?fieldManager=m{query}");
        let body = widget(name).to_string();
        client.send("PATCH", &path, "application/apply-patch+yaml", body.as_bytes()).answer()
    };
    for query in ["", "&dryRun=All"] {
        assert_eq!(apply(&mut client, "late", query).expect(403)["message"], refused["message"]);
        apply(&mut client, "held", query).expect(200);
    }
    // That holds after a restart, as long as an object is held.
    process.kill();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let object = format!("{WIDGETS}/held");
    until(&mut client, &object, |_, shown| !shown["metadata"]["deletionTimestamp"].is_null());
    wait_for("a refusal", || refuses(&mut client));
    change(&mut client, &object, json!({"metadata": {"finalizers": null}}));
    until(&mut client, DEFINITION, |status, _| status == 404);
    let gone = wait_for("the end of the resource", || {
        let answer = client.get(WIDGETS).answer();
        (answer.status == 404).then_some(answer)
    });
    assert_eq!(gone.text(), "404 page not found\n");
}

#[test]
fn a_definition_that_others_hold_is_seen_to_be_terminating() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF, "--storage=memory"]);
    let mut client = process.endpoint().client();
    let mut held = definition();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(DEFINITIONS, &held).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    client.delete(DEFINITION).expect_status(200);
    let terminating = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == "Terminating").unwrap_or_default()
    };
    let path = format!("{WIDGETS}/late?fieldManager=m&dryRun=All");
    let body = widget("late").to_string();
    let refused = client.send("PATCH", &path, "application/apply-patch+yaml", body.as_bytes()).answer();
    refused.expect(403);
    let ended = until(&mut client, DEFINITION, |_, shown| terminating(shown)["status"] == "False");
    assert_eq!(terminating(&ended)["reason"], "InstanceDeletionCompleted");
    // Clients had the time to see that it was terminating: a second, the unit of these times.
    let [ended_at, deleted_at] = [&terminating(&ended)["lastTransitionTime"], &ended["metadata"]["deletionTimestamp"]]
        .map(|time| time.as_str().unwrap_or_default().to_owned());
    assert!(ended_at > deleted_at, "{deleted_at} {ended_at}");
    assert_eq!(ended["metadata"]["finalizers"], json!(["example.com/hold"]));
    change(&mut client, DEFINITION, json!({"metadata": {"finalizers": null}}));
    until(&mut client, DEFINITION, |status, _| status == 404);
}
