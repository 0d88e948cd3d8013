//! Custom resources on a real server: served once their definition is established, under its schema, until it is deleted.
//! Guarantees that all steps use only the API.

use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition(plural: &str, kind: &str, short: &str) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "default": 3, "minimum": 1},
            "color": {"type": "string", "enum": ["red", "blue"]},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string", "maxLength": 5}}}}});
    let other = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "mark": {"type": "string", "default": "new"}}}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [short]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}}, "selectableFields": [{"jsonPath": ".spec.color"}]},
                {"name": "v2", "served": true, "storage": false, "deprecated": true,
                    "schema": {"openAPIV3Schema": other}},
            ],
        },
    })
}

/// Polls until a response is as expected.
fn until(client: &mut Client, path: &str, is: impl Fn(u16, &Value) -> bool) -> Value {
    wait_for(path, || {
        let answer = client.get(path).answer();
        let body = if answer.status == 200 { answer.json() } else { Value::Null };
        is(answer.status, &body).then_some(body)
    })
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

#[test]
fn objects_live_under_their_definition() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let mut wrong = definition("widgets", "Widget", "w");
    wrong["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["type"] = json!("");
    let refused = client.post(DEFINITIONS, &wrong).expect_status(422);
    let field = "spec.versions[0].schema.openAPIV3Schema.properties[spec].type";
    assert_eq!(refused["details"]["causes"][0]["field"], field);
    client.post(DEFINITIONS, &definition("widgets", "Widget", "w")).expect_status(201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let stored = until(&mut client, &path, |_, definition| is_true(definition, "Established"));
    assert!(is_true(&stored, "NamesAccepted"));
    assert_eq!(stored["status"]["acceptedNames"]["listKind"], "WidgetList");

    // What is unknown is pruned, what is absent defaulted, what is wrong refused; the status is not written here.
    let widget = |name: &str, spec: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec,
            "status": {"phase": "x"}})
    };
    let made = client.post(WIDGETS, &widget("a", json!({"color": "red", "other": 1}))).expect_status(201);
    assert_eq!((&made["spec"], &made["status"]), (&json!({"color": "red", "size": 3}), &Value::Null));
    assert_eq!(made["metadata"]["generation"], 1);
    let refused = client.post(WIDGETS, &widget("b", json!({"size": 0, "color": "green"}))).answer();
    assert_eq!(
        refused.expect(422)["message"],
        "Widget.example.com \"b\" is invalid: [spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\", \
         spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1]"
    );

    // Updates, the status and its own rules, generations, selectors.
    let object = format!("{WIDGETS}/a");
    let mut patch =
        |path: &str, body: Value| client.send("PATCH", path, MERGE_PATCH, body.to_string().as_bytes()).answer();
    let changed = patch(&object, json!({"spec": {"size": 5}, "status": {"phase": "no"}})).expect(200);
    assert_eq!((&changed["metadata"]["generation"], &changed["status"]), (&json!(2), &Value::Null));
    let status = format!("{object}/status");
    let reported = patch(&status, json!({"spec": {"size": 9}, "status": {"phase": "Ready"}})).expect(200);
    assert_eq!((&reported["spec"]["size"], &reported["status"]["phase"]), (&json!(5), &json!("Ready")));
    assert_eq!(reported["metadata"]["generation"], 2);
    patch(&status, json!({"status": {"phase": "too long"}})).expect(422);
    for (color, count) in [("red", 1), ("blue", 0)] {
        let found = client.get(&format!("{WIDGETS}?fieldSelector=spec.color%3D{color}")).expect_status(200);
        assert_eq!(found["items"].as_array().map(Vec::len), Some(count), "{color}");
    }

    // Another version has another schema, and says that it is deprecated.
    let other = client.get(&object.replace("/v1/", "/v2/")).answer();
    assert!(other.header("warning").contains("example.com/v2 Widget is deprecated"), "{}", other.header("warning"));
    assert_eq!(other.expect(200)["spec"], json!({"size": 5}));

    // A name of another definition is not given twice, but once it is free.
    client.post(DEFINITIONS, &definition("gadgets", "Gadget", "w")).expect_status(201);
    let other = format!("{DEFINITIONS}/gadgets.example.com");
    let waits = until(&mut client, &other, |_, definition| condition(definition, "NamesAccepted").is_some());
    let accepted = condition(&waits, "NamesAccepted").expect("a condition");
    assert_eq!((&accepted["status"], &accepted["reason"]), (&json!("False"), &json!("ShortNamesConflict")));
    assert_eq!(accepted["message"], "\"w\" is already in use");
    assert!(!is_true(&waits, "Established"));
    let ending = client.delete(&path).expect_status(200);
    assert_eq!(ending["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert!(is_true(&ending, "Terminating"));
    until(&mut client, &path, |status, _| status == 404);
    until(&mut client, WIDGETS, |status, _| status == 404);
    until(&mut client, &other, |_, definition| is_true(definition, "Established"));
    client.get("/apis/example.com/v1/namespaces/default/gadgets").expect_status(200);

    // Its objects went with the definition: another one of the same name has none.
    client.post(DEFINITIONS, &definition("widgets", "Widget", "wd")).expect_status(201);
    let objects = until(&mut client, WIDGETS, |status, _| status == 200);
    assert_eq!(objects["items"], json!([]));
}

#[test]
fn the_approval_of_a_definition_is_its_first_condition() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let mut approved = definition("widgets", "Widget", "w");
    approved["metadata"] = json!({"name": "widgets.example.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}});
    approved["spec"]["group"] = json!("example.k8s.io");
    client.post(DEFINITIONS, &approved).expect_status(201);
    let path = format!("{DEFINITIONS}/widgets.example.k8s.io");
    let stored = until(&mut client, &path, |_, definition| is_true(definition, "Established"));
    let conditions = stored["status"]["conditions"].as_array().into_iter().flatten();
    let kinds: Vec<&Value> = conditions.map(|condition| &condition["type"]).collect();
    assert_eq!(kinds, ["KubernetesAPIApprovalPolicyConformant", "NamesAccepted", "Established"]);
    assert!(is_true(&stored, "KubernetesAPIApprovalPolicyConformant"));
}

#[test]
fn definitions_are_served_again_after_a_restart() {
    let installation = Installation::own();
    let mut process = installation.start_with(&["--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    client.post(DEFINITIONS, &definition("widgets", "Widget", "w")).expect_status(201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    until(&mut client, &path, |_, definition| is_true(definition, "Established"));
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}});
    client.post(WIDGETS, &widget).expect_status(201);
    process.kill();
    let process = installation.start_with(&["--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let stored = until(&mut client, &format!("{WIDGETS}/a"), |status, _| status == 200);
    assert_eq!(stored["spec"]["size"], 3);
}
