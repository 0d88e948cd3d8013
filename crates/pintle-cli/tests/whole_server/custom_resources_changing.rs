//! Custom resources while their definition changes: stored objects are served by the current definition. Guarantees that all
//! steps use only the API. Must never depend on how fast a definition is served.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, MERGE_PATCH};
use crate::common::process::Installation;
use crate::common::{resource_version, wait_for};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ACCOUNTS_OFF: &str = "--disable-admission-plugins=ServiceAccount";

fn version(name: &str, storage: bool, spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}});
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn definition(versions: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions}})
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
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

fn redefine(client: &mut Client, versions: Value) {
    change(client, DEFINITION, json!({"spec": {"versions": versions}}));
}

#[test]
fn stored_objects_are_read_as_the_definition_says_now() {
    let installation = Installation::own();
    let mut process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let text = || json!({"type": "string"});
    let first = version("v1", true, json!({"a": text(), "b": text()}));
    client.post(DEFINITIONS, &definition(json!([first]))).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    client.post(WIDGETS, &widget("x", json!({"a": "red", "b": "y"}))).expect_status(201);

    // A field goes, another one has a default, a third one selects.
    let mut second = version("v1", true, json!({"a": text(), "c": {"type": "string", "default": "new"}}));
    second["selectableFields"] = json!([{"jsonPath": ".spec.a"}]);
    redefine(&mut client, json!([second]));
    let object = format!("{WIDGETS}/x");
    let read = json!({"a": "red", "c": "new"});
    let shown = until(&mut client, &object, |_, shown| shown["spec"] == read);
    let version_before = shown["metadata"]["resourceVersion"].clone();
    for (value, count) in [("red", 1), ("blue", 0)] {
        let found = client.get(&format!("{WIDGETS}?fieldSelector=spec.a%3D{value}")).expect_status(200);
        assert_eq!(found["items"].as_array().map(Vec::len), Some(count), "{value}");
    }
    process.kill();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let again = until(&mut client, &object, |status, _| status == 200);
    assert_eq!((&again["spec"], &again["metadata"]["resourceVersion"]), (&read, &version_before));

    // Another version is stored: all are read from it, and an update that says nothing new stores the object in it.
    let third = version("v2", true, json!({"a": text(), "d": text()}));
    second["storage"] = json!(false);
    redefine(&mut client, json!([second, third]));
    let other = object.replace("/v1/", "/v2/");
    let moved = until(&mut client, &other, |_, shown| shown["spec"] == json!({"a": "red"}));
    assert_eq!(moved["apiVersion"], "example.com/v2");
    let definition = client.get(DEFINITION).expect_status(200);
    assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v2"]));
    let written = change(&mut client, &other, json!({}));
    assert_ne!(written["metadata"]["resourceVersion"], version_before, "it is stored in another version now");
    let same = change(&mut client, &other, json!({}));
    assert_eq!(same["metadata"]["resourceVersion"], written["metadata"]["resourceVersion"]);
}

#[test]
fn owners_are_forgotten_when_a_version_lacks_their_fields() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let versions = ["v1", "v2"].map(|name| {
        let field = if name == "v1" { "host" } else { "address" };
        version(name, name == "v1", json!({field: {"type": "string"}, "size": {"type": "integer"}}))
    });
    client.post(DEFINITIONS, &definition(json!(versions))).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    for (name, spec, has_owners) in [("x", json!({"address": "a"}), false), ("y", json!({"size": 2}), true)] {
        client.post(WIDGETS, &widget(name, json!({"host": "h", "size": 1}))).expect_status(201);
        let path = format!("{WIDGETS}/{name}").replace("/v1/", "/v2/");
        let shown = client.get(&path).expect_status(200);
        assert_eq!(shown["spec"], json!({"size": 1}), "conversion drops what the version does not know");
        assert!(shown["metadata"]["managedFields"].is_array(), "{shown}");
        // Its new fields would be needed in the version in which others are owned.
        let mut object = shown.clone();
        object["spec"] = spec;
        let body = object.to_string();
        let written = client.send("PUT", &path, "application/json", body.as_bytes()).expect_status(200);
        assert_eq!(written["metadata"]["managedFields"].is_array(), has_owners, "{written}");
        assert_eq!(written["metadata"]["generation"], 2, "{written}");
    }
}

/// The version whose objects are stamped with the number of the definition that they are written under.
fn stamping(number: u64) -> Value {
    let stamp = json!({"type": "integer", "default": number, "minimum": number});
    json!([version("v1", true, json!({"stamp": stamp, "size": {"type": "integer"}}))])
}

/// Creates, replaces and patches objects until it is stopped. Returns what was written.
fn write_widgets(endpoint: &Endpoint, writer: usize, writes: &AtomicUsize, stopped: &AtomicBool) -> Vec<Value> {
    let mut client = endpoint.client();
    let mut written = Vec::new();
    for number in 0.. {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{writer}-{number}");
        let created = client.post(WIDGETS, &widget(&name, json!({}))).expect_status(201);
        // The stamp is dropped and given anew.
        let path = format!("{WIDGETS}/{name}");
        let mut replaced = created.clone();
        replaced["spec"] = json!({"size": 1});
        let replaced = client.put(&path, &replaced).expect_status(200);
        let patch = json!({"spec": {"stamp": null, "size": 2}});
        let patched = client.send("PATCH", &path, MERGE_PATCH, patch.to_string().as_bytes());
        let patched = patched.expect_status(200);
        written.extend([created, replaced, patched]);
        writes.fetch_add(3, Ordering::Relaxed);
    }
    written
}

/// Changes the definition through one server while others write objects; each must be of the definition that it was committed
/// under.
fn check_writes_under_changes(changing: &Endpoint, writing: &[Endpoint], changes: u64) {
    let mut client = changing.client();
    client.post(DEFINITIONS, &definition(stamping(1))).expect_status(201);
    for endpoint in writing {
        until(&mut endpoint.client(), WIDGETS, |status, _| status == 200);
    }
    let (writes, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (mut defined, written) = thread::scope(|scope| {
        let (writes, stopped) = (&writes, &stopped);
        let writers = writing.iter().enumerate();
        let writers: Vec<_> =
            writers.map(|(at, endpoint)| scope.spawn(move || write_widgets(endpoint, at, writes, stopped))).collect();
        let mut defined = Vec::new();
        for number in 2..=changes {
            let patch = json!({"spec": {"versions": stamping(number)}});
            defined.push((resource_version(&change(&mut client, DEFINITION, patch)), number));
            if number % 4 == 0 {
                // A change of metadata alone is no other definition.
                change(&mut client, DEFINITION, json!({"metadata": {"labels": {"n": number.to_string()}}}));
            }
            // Writes go on whatever changes.
            let before = writes.load(Ordering::Relaxed);
            wait_for("a write", || (writes.load(Ordering::Relaxed) > before).then_some(()));
        }
        stopped.store(true, Ordering::Relaxed);
        let written: Vec<Value> = writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect();
        (defined, written)
    });
    defined.insert(0, (0, 1));
    for object in &written {
        let revision = resource_version(object);
        let of = defined.iter().rev().find(|(since, _)| *since < revision).map(|(_, number)| *number);
        assert_eq!(object["spec"]["stamp"].as_u64(), of, "{object}, {defined:?}");
    }
}

#[test]
fn what_was_prepared_under_another_definition_is_not_committed() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let writing = [process.endpoint(), process.endpoint(), process.endpoint()];
    check_writes_under_changes(&process.endpoint(), &writing, 40);
}

#[test]
fn another_server_changes_the_definition_meanwhile() {
    let Some(program) = program("3.5") else { return };
    let etcd = Etcd::start(program, 1);
    let installations = [Installation::own(), Installation::own()];
    let servers = installations
        .each_ref()
        .map(|installation| installation.start_with(&[ACCOUNTS_OFF, "--etcd-servers", &etcd.urls()]));
    let [first, second] = servers.each_ref().map(|server| server.endpoint());
    let writing = [servers[0].endpoint(), servers[1].endpoint(), second];
    check_writes_under_changes(&first, &writing, 25);
}

#[test]
fn nothing_is_created_under_a_definition_that_is_gone() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let versions = || json!([version("v1", true, json!({}))]);
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3 {
            let (endpoint, stopped) = (process.endpoint(), &stopped);
            scope.spawn(move || {
                let mut client = endpoint.client();
                for number in 0.. {
                    if stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = client.post(WIDGETS, &widget(&format!("w{writer}-{number}"), json!({})));
                    let status = answer.answer().status;
                    assert!(matches!(status, 201 | 403 | 404), "{status}");
                }
            });
        }
        for _ in 0..10 {
            let created = client.post(DEFINITIONS, &definition(versions())).expect_status(201);
            let established = until(&mut client, WIDGETS, |status, _| status == 200);
            for widget in established["items"].as_array().into_iter().flatten() {
                assert!(resource_version(widget) > resource_version(&created), "{widget} is older than {created}");
            }
            thread::sleep(std::time::Duration::from_millis(20));
            client.delete(DEFINITION).expect_status(200);
            until(&mut client, DEFINITION, |status, _| status == 404);
        }
        stopped.store(true, Ordering::Relaxed);
    });
}

#[test]
fn each_version_selects_by_its_own_fields() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let text = || json!({"type": "string"});
    let spec = |more: &str| json!({"color": text(), "shape": text(), more: text()});
    let mut versions = [version("v1", true, spec("old")), version("v2", false, spec("new"))];
    versions[0]["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    versions[1]["selectableFields"] = json!([{"jsonPath": ".spec.shape"}]);
    client.post(DEFINITIONS, &definition(json!(versions))).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let (v1, v2) = (WIDGETS, WIDGETS.replace("/v1/", "/v2/"));
    client.post(v1, &widget("x", json!({"color": "red", "shape": "round"}))).expect_status(201);
    client.post(v1, &widget("y", json!({"color": "red", "shape": "flat"}))).expect_status(201);
    let rows = [
        (v1, "spec.color=red", Some(2)),
        (v1, "spec.color!=red", Some(0)),
        (v1, "spec.shape=flat", None),
        (&v2, "spec.shape=flat", Some(1)),
        (&v2, "spec.shape!=flat,metadata.name!=z", Some(1)),
        (&v2, "spec.color=red", None),
    ];
    for (path, selector, count) in rows {
        let answer = client.get(&format!("{path}?fieldSelector={}", selector.replace('=', "%3D"))).answer();
        let found = (answer.status == 200).then(|| answer.json()["items"].as_array().map_or(0, Vec::len));
        assert_eq!(found, count, "{path} {selector}");
        if count.is_none() {
            let label = selector.split('=').next().unwrap_or_default();
            assert_eq!(answer.json()["message"], format!("field label not supported: {label}"));
        }
    }
    let mut watch = client.watch(&format!("{v2}?watch=true&fieldSelector=spec.shape%3Dflat")).expect("a watch");
    assert_eq!(watch.event().1["metadata"]["name"], "y");
    change(&mut client, &format!("{v1}/x"), json!({"spec": {"shape": "flat"}}));
    let (kind, object) = watch.event();
    assert_eq!((kind.as_str(), &object["apiVersion"]), ("ADDED", &json!("example.com/v2")));
}

#[test]
fn a_write_without_status_takes_it_from_managers_of_other_versions() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let with_status = |name: &str, storage: bool| {
        let mut version = version(name, storage, json!({"a": {"type": "string"}}));
        version["subresources"] = json!({"status": {}});
        let phase = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
        version["schema"]["openAPIV3Schema"]["properties"]["status"] = phase;
        version
    };
    let versions = json!([with_status("v1", true), with_status("v2", false)]);
    client.post(DEFINITIONS, &definition(versions)).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let created =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"a": "1"}});
    client.post(WIDGETS, &created).expect_status(201);
    for (version, kept) in [("v1", true), ("v2", false)] {
        let applied = json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": "x"},
            "status": {"phase": "Up"}});
        let path =
            format!("{}/x/status?fieldManager=team&force=true", WIDGETS.replace("/v1/", &format!("/{version}/")));
        let apply = client.send("PATCH", &path, "application/apply-patch+yaml", applied.to_string().as_bytes());
        let mut object = apply.expect_status(200);
        object["apiVersion"] = json!("example.com/v1");
        object.as_object_mut().expect("an object").remove("status");
        let path = format!("{WIDGETS}/x");
        let put = client.send("PUT", &path, "application/json", object.to_string().as_bytes());
        let put = put.expect_status(200);
        let owners = put["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        assert_eq!(owners.iter().any(|owner| owner["manager"] == "team"), kept, "{version}: {put}");
        assert_eq!(put["status"]["phase"], "Up");
    }
}

#[test]
fn an_apply_that_changes_nothing_completes_nothing() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let text = || json!({"type": "string"});
    let completed = json!({"a": text(), "b": {"type": "string", "default": "x"}});
    let versions = json!([version("v1", true, json!({"a": text()})), version("v2", false, completed)]);
    client.post(DEFINITIONS, &definition(versions)).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let path = format!("{}/x?fieldManager=m", WIDGETS.replace("/v1/", "/v2/"));
    let object =
        json!({"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"a": "1"}});
    for code in [201, 200, 200] {
        let answer = client.send("PATCH", &path, "application/apply-patch+yaml", object.to_string().as_bytes());
        assert_eq!(answer.expect_status(code)["metadata"]["generation"], 1);
    }
}

#[test]
fn managers_of_other_versions_live_as_long_as_these_are_defined() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let spec = || json!({"size": {"type": "integer"}, "other": {"type": "integer"}});
    let old = || {
        let mut old = version("v1", false, spec());
        old["served"] = json!(false);
        old
    };
    let versions = json!([version("v1", true, spec()), version("v2", false, spec())]);
    client.post(DEFINITIONS, &definition(versions)).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let apply = |client: &mut Client, version: &str, manager: &str, spec: Value| {
        let object = json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget",
            "metadata": {"name": "x"}, "spec": spec});
        let path = format!("{}/x?fieldManager={manager}", WIDGETS.replace("/v1/", &format!("/{version}/")));
        client.send("PATCH", &path, "application/apply-patch+yaml", object.to_string().as_bytes()).answer()
    };
    let managers = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let of = |entry: Value| format!("{} {}", entry["manager"], entry["apiVersion"]).replace('"', "");
        entries.into_iter().map(of).collect::<Vec<_>>()
    };
    apply(&mut client, "v1", "one", json!({"size": 1})).expect(201);
    // A version that is not served is still known.
    redefine(&mut client, json!([old(), version("v2", true, spec())]));
    let both = apply(&mut client, "v2", "two", json!({"other": 2})).expect(200);
    assert_eq!(managers(&both), ["one example.com/v1", "two example.com/v2"]);
    let conflict = apply(&mut client, "v2", "two", json!({"size": 2})).expect(409);
    assert_eq!(conflict["details"]["causes"][0]["field"], ".spec.size");
    // One that is gone stops applies, and updates forget all.
    change(&mut client, &format!("{DEFINITION}/status"), json!({"status": {"storedVersions": ["v2"]}}));
    redefine(&mut client, json!([version("v2", true, spec())]));
    let refused = apply(&mut client, "v2", "two", json!({"other": 3})).expect(500);
    assert_eq!(refused["message"], "request to convert CR to an invalid group/version: example.com/v1");
    let path = format!("{}/x", WIDGETS.replace("/v1/", "/v2/"));
    let patched = change(&mut client, &path, json!({"spec": {"size": 5}}));
    assert_eq!(managers(&patched), Vec::<String>::new());
    let conflict = apply(&mut client, "v2", "two", json!({"other": 3})).expect(409);
    let message =
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v2: .spec.other";
    assert_eq!(conflict["message"], message);
}

#[test]
fn no_item_repeats_in_a_list_that_is_a_set_for_another_manager() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let list = json!({"type": "array", "items": {"type": "string"}});
    let mut set = list.clone();
    set["x-kubernetes-list-type"] = json!("set");
    let versions = json!([version("v1", true, json!({"list": list})), version("v2", false, json!({"list": set}))]);
    client.post(DEFINITIONS, &definition(versions)).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    let mut apply = |version: &str, manager: &str, list: Value| {
        let object = json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget",
            "metadata": {"name": "x"}, "spec": {"list": list}});
        let path = format!("{}/x?force=true&fieldManager={manager}", WIDGETS.replace("/v1/", &format!("/{version}/")));
        client.send("PATCH", &path, "application/apply-patch+yaml", object.to_string().as_bytes()).answer()
    };
    apply("v2", "one", json!(["a", "b"])).expect(201);
    let repeated = ".spec.list: duplicate entries for key [=\"a\"]";
    for (manager, message) in [
        ("two", "failed to convert new object"),
        ("one", "failed to prune fields: failed to convert merged object to last applied version"),
    ] {
        let refused = apply("v1", manager, json!(["a", "a"])).expect(500);
        assert_eq!(refused["message"], format!("{message}: {repeated}"));
    }
    // An update forgets managers that it cannot tell any more.
    let patched = change(&mut client, &format!("{WIDGETS}/x"), json!({"spec": {"list": ["a", "a"]}}));
    assert_eq!(patched["metadata"]["managedFields"], Value::Null);
}

#[test]
fn a_field_that_comes_back_is_read_again_until_the_object_is_written() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let text = || json!({"type": "string"});
    let whole = || json!([version("v1", true, json!({"a": text(), "b": text()}))]);
    let part = || json!([version("v1", true, json!({"a": text()}))]);
    client.post(DEFINITIONS, &definition(whole())).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    for name in ["read", "written"] {
        client.post(WIDGETS, &widget(name, json!({"a": "x", "b": "y"}))).expect_status(201);
    }
    let [read, written] = ["read", "written"].map(|name| format!("{WIDGETS}/{name}"));
    for _ in 0..2 {
        redefine(&mut client, part());
        until(&mut client, &read, |_, shown| shown["spec"] == json!({"a": "x"}));
        redefine(&mut client, whole());
        until(&mut client, &read, |_, shown| shown["spec"] == json!({"a": "x", "b": "y"}));
    }
    redefine(&mut client, part());
    until(&mut client, &written, |_, shown| shown["spec"] == json!({"a": "x"}));
    change(&mut client, &written, json!({"spec": {"a": "z"}}));
    redefine(&mut client, whole());
    until(&mut client, &read, |_, shown| shown["spec"]["b"] == "y");
    let written = client.get(&written).expect_status(200);
    assert_eq!(written["spec"], json!({"a": "z"}));
}

#[test]
fn watches_end_when_their_definition_changes() {
    let installation = Installation::own();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let text = || json!({"a": {"type": "string"}});
    let (v1, v2) = (version("v1", true, text()), version("v2", false, text()));
    client.post(DEFINITIONS, &definition(json!([v1]))).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    client.post(WIDGETS, &widget("x", json!({"a": "b"}))).expect_status(201);
    let begin = |version: &str, selector: &str| {
        let path = format!("{}?watch=true{selector}", WIDGETS.replace("v1", version));
        let mut watch = process.endpoint().client().watch(&path).expect("a watch");
        assert_eq!(watch.event().1["metadata"]["name"], "x");
        watch
    };
    let one = "&fieldSelector=metadata.name%3Dx";
    let mut watches = vec![begin("v1", ""), begin("v1", one)];

    // A change of what is not specified leaves them.
    change(&mut client, DEFINITION, json!({"metadata": {"labels": {"a": "b"}}}));
    let shown = change(&mut client, &format!("{WIDGETS}/x"), json!({"spec": {"a": "c"}}));
    watches.iter_mut().for_each(|watch| assert_eq!(watch.event().1, shown));

    let mut with_columns = v1.clone();
    with_columns["additionalPrinterColumns"] = json!([{"name": "A", "type": "string", "jsonPath": ".spec.a"}]);
    let mut with_default = v1.clone();
    let spec = &mut with_default["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["n"] = json!({"type": "integer", "default": 1});
    let mut unserved = v2.clone();
    unserved["served"] = json!(false);
    for (case, versions, next) in [
        ("other columns", json!([with_columns]), vec!["v1"]),
        ("one more version", json!([v1, v2]), vec!["v1", "v2"]),
        ("a version is served no more", json!([v1, unserved]), vec!["v1"]),
        ("all objects are read anew", json!([with_default, unserved]), vec!["v1"]),
        ("a version is gone", json!([with_default]), vec![]),
    ] {
        redefine(&mut client, versions);
        for watch in &mut watches {
            assert_eq!(watch.next().expect("the end of the watch"), None, "{case}");
        }
        watches = next.iter().flat_map(|version| [begin(version, ""), begin(version, one)]).collect();
    }
}

#[test]
fn defaults_that_were_not_stored_go_with_the_definition() {
    let installation = Installation::own();
    let mut process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    let field = |default: Option<&str>| match default {
        Some(default) => json!({"type": "string", "default": default}),
        None => json!({"type": "string"}),
    };
    // v1 is that of requests, and v2 that of storage.
    let versions = |of_request: Option<&str>, of_storage: Option<&str>| {
        let of = |default| json!({"a": field(Some("A")), "c": field(default)});
        json!([version("v1", false, of(of_request)), version("v2", true, of(of_storage))])
    };
    client.post(DEFINITIONS, &definition(versions(None, None))).expect_status(201);
    until(&mut client, WIDGETS, |status, _| status == 200);
    client.post(WIDGETS, &widget("before", json!({}))).expect_status(201);
    redefine(&mut client, versions(None, Some("C")));
    let [before, during] = ["before", "during"].map(|name| format!("{WIDGETS}/{name}"));
    // One is written without the default, which is added when it is read.
    let made = client.post(WIDGETS, &widget("during", json!({}))).expect_status(201);
    assert_eq!(made["spec"], json!({"a": "A", "c": "C"}));
    for path in [&before, &during] {
        until(&mut client, path, |_, shown| shown["spec"] == json!({"a": "A", "c": "C"}));
    }
    process.kill();
    let process = installation.start_with(&[ACCOUNTS_OFF]);
    let mut client = process.endpoint().client();
    for path in [&before, &during] {
        until(&mut client, path, |_, shown| shown["spec"] == json!({"a": "A", "c": "C"}));
    }
    redefine(&mut client, versions(Some("C"), None));
    for path in [&before, &during] {
        let shown = client.get(path).expect_status(200);
        assert_eq!(shown["spec"], json!({"a": "A"}), "{path}");
    }
    let list = client.get(WIDGETS).expect_status(200);
    assert!(list["items"].as_array().into_iter().flatten().all(|shown| shown["spec"] == json!({"a": "A"})), "{list}");
    // The version of a request fills in its defaults, which are stored.
    let written = change(&mut client, &before, json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(written["spec"], json!({"a": "A", "c": "C"}));
    redefine(&mut client, versions(None, None));
    let [written, other] = [&before, &during].map(|path| client.get(path).expect_status(200));
    assert_eq!((&written["spec"], &other["spec"]), (&json!({"a": "A", "c": "C"}), &json!({"a": "A"})));
    // Nothing is left to be written.
    let same = change(&mut client, &during, json!({}));
    assert_eq!(resource_version(&same), resource_version(&other));
}
