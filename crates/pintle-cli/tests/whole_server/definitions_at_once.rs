//! Definitions are served when they are acknowledged, and are gone from every document when a client sees them deleted. Guarantees
//! that a request is made once: no step is repeated until it succeeds. Must never wait for anything but what a client can see.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, JSON, MERGE_PATCH};
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};
use std::thread;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const APPLY: &str = "application/apply-patch+yaml";

fn version(name: &str, served: bool, storage: bool, size: &str) -> Value {
    let properties = json!({"spec": {"type": "object", "properties": {"size": {"type": size}}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    json!({"name": name, "served": served, "storage": storage, "schema": schema})
}

/// A definition of the kind `Widget` in a group.
fn definition(group: &str, versions: &[Value]) -> Value {
    named("widgets", "Widget", group, versions)
}

fn named(plural: &str, kind: &str, group: &str, versions: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "kind": kind, "shortNames": ["w"]}},
    })
}

fn widgets(group: &str, version: &str) -> String {
    format!("/apis/{group}/{version}/namespaces/default/widgets")
}

fn widget(group: &str, version: &str, size: &Value) -> Value {
    json!({"apiVersion": format!("{group}/{version}"), "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}})
}

fn status(client: &mut Client, path: &str) -> u16 {
    client.get(path).answer().status
}

/// Which documents name a group, of those that name each.
fn naming(endpoint: &Endpoint, group: &str) -> Vec<&'static str> {
    let client = &mut endpoint.client();
    let aggregated = &mut endpoint.client().with_header("Accept", AGGREGATED);
    let mut names = Vec::new();
    for path in ["/", "/apis", "/openapi/v3", "/openapi/v2"] {
        let document = client.get(path).answer();
        assert_eq!(document.status, 200, "{path}: {}", document.text());
        names.extend(document.text().contains(group).then_some(path));
    }
    let document = aggregated.get("/apis").expect_status(200);
    assert_eq!(document["kind"], "APIGroupDiscoveryList");
    names.extend(document.to_string().contains(group).then_some("aggregated"));
    names.extend((status(client, &format!("/apis/{group}")) == 200).then_some("group"));
    names.extend((status(client, &format!("/apis/{group}/v1")) == 200).then_some("version"));
    names
}

const ALL: [&str; 7] = ["/", "/apis", "/openapi/v3", "/openapi/v2", "aggregated", "group", "version"];

/// Waits until a client sees that a definition is deleted.
fn wait_until_gone(client: &mut Client, path: &str) {
    wait_for(path, || (status(client, path) == 404).then_some(()));
}

#[test]
fn two_hundred_definitions_are_used_when_they_are_acknowledged() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let used = thread::scope(|scope| {
        let clients = (0..4).map(|client| {
            let endpoint = process.endpoint();
            scope.spawn(move || {
                (0..50).map(|number| use_at_once(&endpoint, &format!("g{client}-{number}.example.com"))).count()
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().expect("no panic")).sum::<usize>()
    });
    assert_eq!(used, 200);
}

/// Creates a definition and uses it as kubectl does, over several connections.
fn use_at_once(endpoint: &Endpoint, group: &str) {
    let versions = [version("v1", true, true, "integer")];
    endpoint.client().post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
    let discovered = endpoint.client().get(&format!("/apis/{group}/v1")).expect_status(200);
    assert_eq!(discovered["resources"][0]["name"], "widgets", "{group}");
    let list = endpoint.client().get(&widgets(group, "v1")).expect_status(200);
    assert_eq!(list["items"], json!([]), "{group}");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let mut watch = endpoint
        .client()
        .watch(&format!("{}?watch=true&resourceVersion={version}", widgets(group, "v1")))
        .expect("a watch");
    endpoint.client().post(&widgets(group, "v1"), &widget(group, "v1", &json!(3))).expect_status(201);
    assert_eq!(watch.event().0, "ADDED", "{group}");
    let aggregated = endpoint.client().with_header("Accept", AGGREGATED).get("/apis").expect_status(200);
    assert!(aggregated.to_string().contains(group), "{group}");
}

#[test]
fn a_changed_definition_is_in_force_when_it_is_acknowledged() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let client = &mut process.endpoint().client();
    let group = "changing.example.com";
    let path = format!("{DEFINITIONS}/widgets.{group}");
    // The first by apply, which creates it.
    let first = definition(group, &[version("v1", true, true, "integer")]);
    let applied = format!("{path}?fieldManager=test");
    let answer = client.send("PATCH", &applied, APPLY, first.to_string().as_bytes()).answer();
    assert_eq!(answer.status, 201, "{}", answer.text());
    for round in 0..20 {
        let (size, wrong) = if round % 2 == 0 { ("integer", json!("a")) } else { ("string", json!(1)) };
        let right = if round % 2 == 0 { json!(1) } else { json!("a") };
        let versions = [version("v1", true, true, size), version("v2", round % 2 == 0, false, size)];
        let change = json!({"spec": {"versions": versions}});
        client.send("PATCH", &path, MERGE_PATCH, change.to_string().as_bytes()).expect_status(200);
        let other = &mut process.endpoint().client();
        assert_eq!(status(other, &widgets(group, "v2")), if round % 2 == 0 { 200 } else { 404 }, "round {round}");
        assert_eq!(
            status(other, &format!("/apis/{group}/v2")),
            if round % 2 == 0 { 200 } else { 404 },
            "round {round}"
        );
        other.post(&widgets(group, "v1"), &widget(group, "v1", &wrong)).expect_status(422);
        other.post(&widgets(group, "v1"), &widget(group, "v1", &right)).expect_status(201);
        other.delete(&format!("{}/w", widgets(group, "v1"))).expect_status(200);
    }
}

#[test]
fn a_deleted_definition_is_gone_from_every_document() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let endpoint = process.endpoint();
    let client = &mut process.endpoint().client();
    for round in 0..5 {
        let group = &format!("g{round}.example.com");
        let path = format!("{DEFINITIONS}/widgets.{group}");
        let versions = [version("v1", true, true, "integer")];
        client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
        assert_eq!(naming(&endpoint, group), ALL, "round {round}");
        client.post(&widgets(group, "v1"), &widget(group, "v1", &json!(1))).expect_status(201);
        let name = format!("metadata.name%3Dwidgets.{group}");
        let mut watch = client.watch(&format!("{DEFINITIONS}?watch=true&fieldSelector={name}")).expect("a watch");
        client.delete(&path).expect_status(200);
        // A client polls, or watches.
        match round % 2 {
            0 => wait_until_gone(client, &path),
            _ => while watch.event().0 != "DELETED" {},
        }
        assert_eq!(status(client, &widgets(group, "v1")), 404, "round {round}");
        assert_eq!(naming(&endpoint, group), [""; 0], "round {round}");
        // Its objects went with it.
        client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
        let list = client.get(&widgets(group, "v1")).expect_status(200);
        assert_eq!(list["items"], json!([]), "round {round}");
    }
}

#[test]
fn a_definition_that_is_deleted_at_once_takes_its_objects_along() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let client = &mut process.endpoint().client();
    let group = "brief.example.com";
    let path = format!("{DEFINITIONS}/widgets.{group}");
    let versions = [version("v1", true, true, "integer")];
    for round in 0..30 {
        client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
        let list = client.get(&widgets(group, "v1")).expect_status(200);
        assert_eq!(list["items"], json!([]), "round {round}");
        client.post(&widgets(group, "v1"), &widget(group, "v1", &json!(1))).expect_status(201);
        client.delete(&path).expect_status(200);
        let late = client.post(&widgets(group, "v1"), &widget(group, "v1", &json!(1))).answer().status;
        assert!([403, 404, 409].contains(&late), "{late}");
        wait_until_gone(client, &path);
    }
}

#[test]
fn a_name_is_given_when_it_is_free() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let client = &mut process.endpoint().client();
    let group = "names.example.com";
    let versions = [version("v1", true, true, "integer")];
    client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
    client.post(DEFINITIONS, &named("gadgets", "Gadget", group, &versions)).expect_status(201);
    let gadgets = format!("/apis/{group}/v1/namespaces/default/gadgets");
    assert_eq!(status(client, &gadgets), 404, "its short name is in use");
    let waiting = wait_for("its condition", || {
        let definition = client.get(&format!("{DEFINITIONS}/gadgets.{group}")).expect_status(200);
        let conditions = definition["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|condition| condition["type"] == "NamesAccepted")
    });
    assert_eq!((&waiting["status"], &waiting["reason"]), (&json!("False"), &json!("ShortNamesConflict")));
    let path = format!("{DEFINITIONS}/widgets.{group}");
    client.delete(&path).expect_status(200);
    wait_until_gone(client, &path);
    assert_eq!(status(client, &gadgets), 200, "its short name is free");
}

#[test]
fn all_definitions_are_served_when_the_server_is() {
    let installation = Installation::own();
    let flags = ["--disable-admission-plugins=ServiceAccount"];
    let mut process = installation.start_with(&flags);
    let groups: Vec<String> = (0..10).map(|number| format!("g{number}.example.com")).collect();
    for round in 0..3 {
        let client = &mut process.endpoint().client();
        for group in groups.iter().filter(|_| round == 0) {
            let versions = [version("v1", true, true, "integer")];
            client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
            client.post(&widgets(group, "v1"), &widget(group, "v1", &json!(1))).expect_status(201);
        }
        let found = groups.iter().map(|group| status(client, &format!("{}/w", widgets(group, "v1"))));
        assert_eq!(found.collect::<Vec<_>>(), [200; 10], "round {round}");
        // Killed before the controller has noted all that it served.
        process.kill();
        process = installation.start_with(&flags);
    }
}

#[test]
fn each_server_over_a_cluster_serves_what_it_shows() {
    let Some(program) = program("3.5") else { return };
    let etcd = Etcd::start(program, 1);
    let installations = [Installation::own(), Installation::own()];
    let servers = installations.each_ref().map(|installation| {
        installation.start_with(&["--disable-admission-plugins=ServiceAccount", "--etcd-servers", &etcd.urls()])
    });
    let [first, second] = servers.each_ref().map(|server| server.endpoint());
    for round in 0..20 {
        let group = &format!("g{round}.example.com");
        let path = format!("{DEFINITIONS}/widgets.{group}");
        let versions = [version("v1", true, true, "integer")];
        let (client, other) = (&mut first.client(), &mut second.client());
        client.post(DEFINITIONS, &definition(group, &versions)).expect_status(201);
        client.post(&widgets(group, "v1"), &widget(group, "v1", &json!(1))).expect_status(201);
        other.get(&path).expect_status(200);
        assert_eq!(status(other, &format!("{}/w", widgets(group, "v1"))), 200, "round {round}");
        other.send("DELETE", &path, JSON, b"{}").expect_status(200);
        wait_until_gone(client, &path);
        assert_eq!(status(client, &widgets(group, "v1")), 404, "round {round}");
    }
}
