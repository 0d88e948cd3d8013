//! Definitions of versions that are served already: by this server itself, or by an extension server. Guarantees that all steps use
//! only the API. Must never depend on how fast a definition is served.

use crate::common::http::Answered;
use crate::common::http::{Client, JSON, MERGE_PATCH};
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const ARGUMENTS: &[&str] = &["--storage=memory", "--disable-admission-plugins=ServiceAccount"];
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A field that no built-in type has.
const PROBE: &str = "definitionProbe";

fn definition(group: &str, plural: &str, kind: &str, versions: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": {PROBE: {"type": "string", "default": "x"}}});
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, name)| json!({"name": name, "served": true, "storage": at == 0, "schema": {"openAPIV3Schema": schema}}))
        .collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": group, "scope": "Cluster", "versions": versions,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")}}})
}

fn get(client: &mut Client, path: &str) -> Value {
    client.get(path).expect_status(200)
}

/// Creates a definition and waits until it is established.
fn define(client: &mut Client, definition: &Value) -> String {
    client.post(DEFINITIONS, definition).expect_status(201);
    let path = format!("{DEFINITIONS}/{}", definition["metadata"]["name"].as_str().unwrap_or_default());
    wait_for("Established", || {
        let conditions = get(client, &path)["status"]["conditions"].clone();
        let is_true = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        conditions.as_array()?.iter().any(is_true).then_some(())
    });
    path
}

/// Deletes a definition and waits for its end.
fn remove(client: &mut Client, path: &str) {
    client.delete(path).expect_status(200);
    wait_for("the end of a definition", || (client.get(path).answer().status == 404).then_some(()));
}

/// All of `/apis` in the aggregated form.
fn aggregated(client: &mut Client) -> Value {
    let accept = format!("{JSON}\r\nAccept: {AGGREGATED}");
    client.send("GET", "/apis", &accept, b"").expect_status(200)
}

/// The documents that say what is served.
fn documents(client: &mut Client) -> Vec<(&'static str, Value)> {
    let paths = ["/", "/apis", "/openapi/v2", "/openapi/v3"];
    let mut all: Vec<_> = paths.into_iter().map(|path| (path, get(client, path))).collect();
    all.push(("aggregated", aggregated(client)));
    all
}

fn assert_same(now: Vec<(&'static str, Value)>, before: &[(&'static str, Value)]) {
    for ((name, now), (_, before)) in now.iter().zip(before) {
        assert!(now == before, "{name} has changed");
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items").iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn built_in_versions_hide_definitions() {
    let installation = Installation::own();
    let process = installation.start_with(ARGUMENTS);
    let mut client = process.endpoint().client();
    // One that is served makes the others follow.
    define(&mut client, &definition("example.com", "widgets", "Widget", &["v1"]));
    let before = documents(&mut client);
    let services = wait_for("its APIService", || {
        let services = names(&get(&mut client, SERVICES));
        services.contains(&"v1.example.com".to_owned()).then_some(services)
    });
    let of_versions =
        ["/apis/networking.k8s.io/v1", "/apis/apiextensions.k8s.io/v1", "/apis/apiregistration.k8s.io/v1"];
    let lists = of_versions.map(|path| get(&mut client, path));

    let hidden = [
        definition("networking.k8s.io", "foos", "Foo", &["v1"]),
        definition("networking.k8s.io", "networkpolicies", "NetworkPolicy", &["v1"]),
        definition("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", &["v1"]),
        definition("apiregistration.k8s.io", "apiservices", "CustomAPIService", &["v1"]),
    ];
    let paths = hidden.each_ref().map(|hidden| define(&mut client, hidden));
    assert_same(documents(&mut client), &before);
    assert_eq!(names(&get(&mut client, SERVICES)), services);
    assert!(of_versions.map(|path| get(&mut client, path)) == lists);
    assert_eq!(client.get("/apis/networking.k8s.io/v1/foos").answer().status, 404);
    for path in [DEFINITIONS, SERVICES, "/apis/networking.k8s.io/v1/networkpolicies"] {
        let list = get(&mut client, path);
        let items = list["items"].as_array().expect("items");
        assert!(items.iter().all(|item| item.get(PROBE).is_none()), "{path}");
    }
    // Their objects are none of the definitions'.
    for path in paths {
        remove(&mut client, &path);
    }
    assert_same(documents(&mut client), &before);
    assert_eq!(names(&get(&mut client, SERVICES)), services);
    assert_eq!(names(&get(&mut client, DEFINITIONS)), ["widgets.example.com"]);
}

#[test]
fn other_versions_of_built_in_groups_are_served_beside() {
    let installation = Installation::own();
    let process = installation.start_with(ARGUMENTS);
    let mut client = process.endpoint().client();
    let path = define(&mut client, &definition("networking.k8s.io", "foos", "Foo", &["v1", "vother"]));
    assert_eq!(client.get("/apis/networking.k8s.io/v1/foos").answer().status, 404);
    let foo = json!({"apiVersion": "networking.k8s.io/vother", "kind": "Foo", "metadata": {"name": "a"}});
    let created = client.post("/apis/networking.k8s.io/vother/foos", &foo).expect_status(201);
    assert_eq!(created[PROBE], "x");
    let services = names(&get(&mut client, SERVICES));
    assert!(services.contains(&"vother.networking.k8s.io".to_owned()));
    remove(&mut client, &path);
    assert_eq!(client.get("/apis/networking.k8s.io/vother/foos").answer().status, 404);
    let kept = wait_for("the end of the version's APIService", || {
        let services = names(&get(&mut client, SERVICES));
        (!services.contains(&"vother.networking.k8s.io".to_owned())).then_some(services)
    });
    assert!(kept.contains(&"v1.networking.k8s.io".to_owned()));
}

#[test]
fn a_type_of_the_name_of_a_built_in_one_is_described_under_another() {
    const NAME: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
    let installation = Installation::own();
    let process = installation.start_with(ARGUMENTS);
    let mut client = process.endpoint().client();
    let before = get(&mut client, "/openapi/v2")["definitions"][NAME].clone();
    let group = "apiextensions.apis.pkg.apiextensions-apiserver.k8s.io";
    define(&mut client, &definition(group, "customresourcedefinitions", "CustomResourceDefinition", &["v1"]));
    let document = get(&mut client, "/openapi/v2");
    assert!(document["definitions"][NAME] == before, "the built-in type is described as before");
    let other = format!("{NAME}_v2");
    assert_eq!(document["definitions"][&other]["properties"][PROBE]["type"], "string");
    let path = format!("/apis/{group}/v1/customresourcedefinitions/{{name}}");
    let answer = &document["paths"][path]["get"]["responses"]["200"]["schema"]["$ref"];
    assert_eq!(answer, &json!(format!("#/definitions/{other}")));
    let lists = format!("{NAME}List_v2");
    let items = &document["definitions"][lists]["properties"]["items"]["items"]["$ref"];
    assert_eq!(items, &json!(format!("#/definitions/{other}")));
}

/// The versions of a group in aggregated discovery, with how fresh they are and the number of their resources.
fn versions(client: &mut Client, group: &str) -> Vec<(String, String, usize)> {
    let all = aggregated(client);
    let found = all["items"].as_array().expect("groups").iter().find(|item| item["metadata"]["name"] == group);
    let versions = found.and_then(|group| group["versions"].as_array()).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<_> = versions
        .iter()
        .map(|one| (text(&one["version"]), text(&one["freshness"]), one["resources"].as_array().map_or(0, Vec::len)))
        .collect();
    found.sort();
    found
}

fn expect_versions(client: &mut Client, expected: &[(&str, &str, usize)]) {
    let expected: Vec<_> =
        expected.iter().map(|(name, freshness, count)| ((*name).to_owned(), (*freshness).to_owned(), *count)).collect();
    let found = versions(client, GROUP);
    assert_eq!(found, expected);
    let root = get(client, "/");
    let paths = root["paths"].as_array().expect("paths");
    let below = format!("/apis/{GROUP}");
    let listed = paths.iter().filter_map(Value::as_str).filter(|path| path.starts_with(&below));
    let mut wanted: Vec<String> = expected.iter().map(|(version, ..)| format!("{below}/{version}")).collect();
    if !wanted.is_empty() {
        wanted.insert(0, below.clone());
    }
    assert_eq!(listed.collect::<Vec<_>>(), wanted);
}

const GROUP: &str = "stable.example.com";

#[test]
fn an_extension_server_hides_definitions_of_its_version() {
    const SERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1.stable.example.com";
    let installation = Installation::own();
    let process = installation.start_with(ARGUMENTS);
    let mut client = process.endpoint().client();
    let before = documents(&mut client);
    let elsewhere = json!({"group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
        "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "unused", "port": 443}});
    let service = json!({"metadata": {"name": format!("v1.{GROUP}")}, "spec": elsewhere});
    client.post(SERVICES, &service).expect_status(201);
    expect_versions(&mut client, &[("v1", "Stale", 0)]);
    let path = define(&mut client, &definition(GROUP, "bars", "Bar", &["v1", "v2"]));
    expect_versions(&mut client, &[("v1", "Stale", 0), ("v2", "Current", 1)]);
    let bars = |version: &str| format!("/apis/{GROUP}/{version}/bars");
    assert_eq!(client.get(&bars("v1")).answer().status, 503);
    assert_eq!(client.get(&bars("v2")).answer().status, 200);

    // Without it the definition is seen, and gets an APIService of its own.
    let local = |client: &mut Client| {
        wait_for("an APIService of the definition", || {
            let answer = client.get(SERVICE).answer();
            let service = if answer.status == 200 { answer.json() } else { return None };
            let is_own = service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"] == "true";
            (is_own && service["spec"].get("service").is_none()).then_some(service)
        })
    };
    client.delete(SERVICE).expect_status(200);
    expect_versions(&mut client, &[("v1", "Current", 1), ("v2", "Current", 1)]);
    let first = local(&mut client);
    assert_eq!(client.get(&bars("v1")).answer().status, 200);
    // That one stays as it is, and comes back.
    let changed = json!({"spec": {"service": elsewhere["service"], "insecureSkipTLSVerify": true}});
    client.send("PATCH", SERVICE, MERGE_PATCH, changed.to_string().as_bytes()).expect_status(200);
    let again = local(&mut client);
    assert_eq!(again["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(again["spec"], first["spec"]);
    client.delete(SERVICE).expect_status(200);
    assert_ne!(local(&mut client)["metadata"]["uid"], first["metadata"]["uid"]);

    remove(&mut client, &path);
    wait_for("the end of the APIServices", || {
        let services = names(&get(&mut client, SERVICES));
        (!services.iter().any(|name| name.ends_with(GROUP))).then_some(())
    });
    assert_same(documents(&mut client), &before);
    expect_versions(&mut client, &[]);
}
