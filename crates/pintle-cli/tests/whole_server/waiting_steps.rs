//! Steps of a request that wait: conversion between versions, and admission plugins. Guarantees that every verb waits for them,
//! that their failures are returned, and that a disconnected client ends the wait. Must never depend on timing: the test ends
//! each wait.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, JSON, MERGE_PATCH};
use crate::common::schemas::{field, object};
use crate::common::wait_for;
use pintle::{Builder, Serving};
use pintle_registry::{AdmissionPlugin, AdmissionRequest, Admitted, Phase, Status};
use pintle_resource::{Conversion, ConversionError, Converted, MaybeReady, Resource, Storage};
use pintle_schema::{ApiType, Field, Presence, Ref, ResourceNames, Struct, Type, Value as Object};
use pintle_storage::MemoryStore;
use pintle_types::core::v1::ConfigMap;
use pintle_types::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

const V6: &str = "/apis/fun.example.com/v6/namespaces/default/frobbers";
const V7: &str = "/apis/fun.example.com/v7/namespaces/default/frobbers";

/// Renames the height, after it was waited for. A height of 13 cannot be converted.
#[derive(Default)]
struct Renaming {
    /// How many objects each call had.
    calls: Mutex<Vec<usize>>,
}

impl Conversion for Renaming {
    fn convert<'a>(&'a self, mut objects: Vec<Object>, from: &'a str, to: &'a str) -> MaybeReady<'a, Converted> {
        self.calls.lock().expect("not poisoned").push(objects.len());
        let [old, new] = [from, to].map(|version| if version.ends_with("/v6") { "height" } else { "heightInInches" });
        MaybeReady::wait(async move {
            yield_now().await;
            for object in &mut objects {
                let Some(height) = object.remove_at(&["spec", old]) else { continue };
                if height.as_i64() == Some(13) {
                    return Err(ConversionError("conversion of height 13 failed".to_owned()));
                }
                object.set_at(&["spec", new], height);
            }
            Ok(objects)
        })
    }
}

/// The schema of a version whose height has this name.
fn schema(height: &str) -> Ref<Struct> {
    let spec = object("FrobberSpec", vec![field(height, Type::Int64, None), field("color", Type::String, None)]);
    let spec = Type::Struct(Ref::Shared(Arc::new(spec)));
    Ref::Shared(Arc::new(object(
        "Frobber",
        vec![
            field("kind", Type::String, None),
            field("apiVersion", Type::String, None),
            field("metadata", Type::Struct(Ref::Static(ObjectMeta::schema)), None),
            Field { presence: Presence::Always, ..field("spec", spec, None) },
        ],
    )))
}

fn frobbers(version: &'static str, height: &str, conversion: Option<Arc<dyn Conversion>>) -> Arc<Resource> {
    let storage = Storage {
        schema: schema("height"),
        conversion,
        ..Storage::named::<ConfigMap>("fun.example.com/v6", "Frobber", "/registry/fun.example.com/frobbers/")
    };
    let names = ResourceNames::namespaced("fun.example.com", version, "frobbers", "frobber", "Frobber");
    Arc::new(Resource {
        schema: schema(height),
        storage: Some(storage.as_json()),
        ..Resource::named::<ConfigMap>(names)
    })
}

/// Blocks objects named `slow` until they are released or dropped, and rejects those named `bad`.
#[derive(Default)]
struct Holding {
    held: AtomicUsize,
    dropped: Arc<AtomicUsize>,
    lets_go: AtomicBool,
}

/// Counts futures that end before they are done.
struct Unfinished(Option<Arc<AtomicUsize>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(count) = &self.0 {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl AdmissionPlugin for Holding {
    fn name(&self) -> &str {
        "Holding"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Mutate && request.target.resource.plural == "configmaps"
    }

    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Object,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let name = object.str_at(&["metadata", "name"]).to_owned();
        MaybeReady::wait(async move {
            if name == "bad" {
                return Err(Status::forbidden(&request.target.resource, &name, "it is bad"));
            }
            if name == "slow" {
                let mut unfinished = Unfinished(Some(self.dropped.clone()));
                self.held.fetch_add(1, Ordering::SeqCst);
                while !self.lets_go.load(Ordering::SeqCst) {
                    yield_now().await;
                }
                unfinished.0 = None;
            }
            warnings.push("it was held".to_owned());
            object.set_at(&["data", "held"], "true");
            Ok(())
        })
    }
}

struct Fixture {
    server: Option<Serving>,
    runtime: Runtime,
    endpoint: Endpoint,
    renaming: Arc<Renaming>,
    holding: Arc<Holding>,
}

impl Fixture {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let holding = Arc::new(Holding::default());
        let mut builder = Builder::new(Arc::new(MemoryStore::new()));
        builder.generic().add_admission_plugin(holding.clone());
        let server = runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            builder.start(listener).await.expect("a server")
        });
        let renaming = Arc::new(Renaming::default());
        let registry = &server.api().registry;
        registry.install(frobbers("v6", "height", None));
        registry.install(frobbers("v7", "heightInInches", Some(renaming.clone())));
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        Fixture { server: Some(server), runtime, endpoint, renaming, holding }
    }

    fn client(&self) -> Client {
        self.endpoint.client()
    }

    fn calls(&self) -> Vec<usize> {
        std::mem::take(&mut *self.renaming.calls.lock().expect("not poisoned"))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // A test that failed has said why already.
            let _ = self.runtime.block_on(server.stop());
        }
    }
}

fn frobber(version: &str, name: &str, height: &str, inches: i64) -> Value {
    json!({"kind": "Frobber", "apiVersion": format!("fun.example.com/{version}"), "metadata": {"name": name},
        "spec": {height: inches, "color": "red"}})
}

#[test]
fn writes_and_reads_wait_for_conversion() {
    let fixture = Fixture::start();
    let client = &mut fixture.client();
    let made = client.post(V7, &frobber("v7", "a", "heightInInches", 3)).expect_status(201);
    assert_eq!((&made["spec"]["heightInInches"], &made["apiVersion"]), (&json!(3), &json!("fun.example.com/v7")));
    let owned = &made["metadata"]["managedFields"][0];
    assert_eq!(owned["apiVersion"], "fun.example.com/v7");
    assert!(owned["fieldsV1"]["f:spec"]["f:heightInInches"].is_object(), "{owned}");
    let stored = client.get(&format!("{V6}/a")).expect_status(200);
    assert_eq!((&stored["spec"]["height"], &stored["apiVersion"]), (&json!(3), &json!("fun.example.com/v6")));
    // Managers of another version are compared in that version.
    let patched = client.send("PATCH", &format!("{V6}/a?fieldManager=m"), MERGE_PATCH, br#"{"spec":{"height":4}}"#);
    let patched = patched.expect_status(200);
    let managers = patched["metadata"]["managedFields"].as_array().expect("managers");
    let of_v7 = managers.iter().find(|entry| entry["apiVersion"] == "fun.example.com/v7").expect("the creator");
    assert!(of_v7["fieldsV1"]["f:spec"]["f:heightInInches"].is_null(), "the height is another's now: {of_v7}");
    let config = json!({"kind": "Frobber", "apiVersion": "fun.example.com/v7", "metadata": {"name": "a"},
        "spec": {"heightInInches": 5}});
    let path = format!("{V7}/a?fieldManager=applier");
    let apply = |path: &str, client: &mut Client| {
        let sent = client.send("PATCH", path, "application/apply-patch+yaml", config.to_string().as_bytes());
        sent.answer()
    };
    let refused = apply(&path, client).expect(409);
    assert_eq!(refused["details"]["causes"][0]["field"], ".spec.height", "as the other manager names it: {refused}");
    let applied = apply(&format!("{path}&force=true"), client).expect(200);
    assert_eq!(applied["spec"], json!({"heightInInches": 5, "color": "red"}));
    let mut object = client.get(&format!("{V7}/a")).expect_status(200);
    object["spec"]["heightInInches"] = json!(6);
    assert_eq!(client.put(&format!("{V7}/a"), &object).expect_status(200)["spec"]["heightInInches"], 6);
    let dry = client.send("PATCH", &format!("{V7}/a?dryRun=All"), MERGE_PATCH, br#"{"spec":{"heightInInches":7}}"#);
    assert_eq!(dry.expect_status(200)["spec"]["heightInInches"], 7);
    let gone = client.delete(&format!("{V7}/a")).expect_status(200);
    assert_eq!(gone["status"], "Success", "{gone}");
}

#[test]
fn a_list_is_converted_at_once_and_a_watch_in_batches() {
    let fixture = Fixture::start();
    let client = &mut fixture.client();
    for name in ["a", "b", "c"] {
        client.post(V6, &frobber("v6", name, "height", 1)).expect_status(201);
    }
    fixture.calls();
    let listed = client.get(V7).expect_status(200);
    let heights = listed["items"].as_array().expect("items").iter().map(|item| &item["spec"]["heightInInches"]);
    assert!(heights.eq([&json!(1); 3]), "{listed}");
    assert_eq!(fixture.calls(), [3], "all objects of a list in one call");
    client.get(V6).expect_status(200);
    assert_eq!(fixture.calls(), [0; 0], "the storage version is not converted");
    let mut watch = fixture.client().watch(&format!("{V7}?watch=true")).expect("a watch");
    for name in ["a", "b", "c"] {
        let (kind, object) = watch.event();
        assert_eq!((kind.as_str(), &object["metadata"]["name"]), ("ADDED", &json!(name)));
        assert_eq!(object["spec"]["heightInInches"], 1, "{object}");
    }
    assert_eq!(fixture.calls(), [3]);
    client.post(V6, &frobber("v6", "d", "height", 4)).expect_status(201);
    assert_eq!(watch.event().1["spec"]["heightInInches"], 4);
    client.delete(&format!("{V6}/d")).expect_status(200);
    let (kind, object) = watch.event();
    assert_eq!((kind.as_str(), &object["spec"]["heightInInches"]), ("DELETED", &json!(4)));
}

#[test]
fn a_long_list_is_converted_in_batches_while_it_is_sent() {
    const COUNT: usize = 40;
    let fixture = Fixture::start();
    let client = &mut fixture.client();
    let long = |name: &str, inches: i64| {
        let mut object = frobber("v6", name, "height", inches);
        object["spec"]["color"] = json!("r".repeat(40_000));
        object
    };
    let names: Vec<_> = (0..COUNT).map(|at| format!("f{at:02}")).collect();
    for name in &names {
        client.post(V6, &long(name, 1)).expect_status(201);
    }
    let check_calls = |what: &str| {
        let calls = fixture.calls();
        assert_eq!(calls.iter().sum::<usize>(), COUNT, "{what}: {calls:?}");
        // A batch has 512 KiB: twelve objects.
        assert!(calls.iter().all(|objects| *objects <= 13), "{what}: {calls:?}");
    };
    fixture.calls();
    let listed = client.get(V7).expect_status(200);
    let items = listed["items"].as_array().expect("items");
    assert!(items.iter().all(|item| item["spec"]["heightInInches"] == 1 && item["apiVersion"].is_null()));
    assert!(
        items.iter().map(|item| item["metadata"]["name"].as_str()).eq(names.iter().map(|name| Some(name.as_str())))
    );
    check_calls("a list");
    let indented = client.get(&format!("{V7}?pretty=true")).answer();
    assert!(indented.text().starts_with("{\n  \"kind\": \"FrobberList\",\n"));
    assert_eq!(indented.json(), listed);
    check_calls("an indented list");
    let mut watch = fixture.client().watch(&format!("{V7}?watch=true")).expect("a watch");
    for name in &names {
        let (kind, object) = watch.event();
        assert_eq!((kind.as_str(), &object["metadata"]["name"]), ("ADDED", &json!(name)));
        assert_eq!(object["spec"]["heightInInches"], 1);
    }
    check_calls("a watch");
    // An object of the last batch that cannot be converted.
    client.post(V6, &long("g", 13)).expect_status(201);
    assert!(fixture.client().get(V7).is_err(), "a list that has begun is broken off");
    let refused = client.delete(V7).expect_status(500);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("conversion of height 13 failed")),
        "{refused}"
    );
    let kept = client.get(V6).expect_status(200);
    assert_eq!(kept["items"].as_array().map(Vec::len), Some(COUNT + 1), "nothing is deleted that cannot be shown");
    client.delete(&format!("{V6}/g")).expect_status(200);
    fixture.calls();
    let deleted = client.delete(V7).expect_status(200);
    assert_eq!(deleted["items"].as_array().map(Vec::len), Some(COUNT));
    assert!(deleted["items"].as_array().expect("items").iter().all(|item| item["spec"]["heightInInches"] == 1));
    assert_eq!(client.get(V6).expect_status(200)["items"], json!([]));
    // Of the first batch.
    client.post(V6, &long("g", 13)).expect_status(201);
    client.get(V7).expect_status(500);
}

#[test]
fn a_conversion_that_fails_is_answered_and_stores_nothing() {
    let fixture = Fixture::start();
    let client = &mut fixture.client();
    let refused = client.post(V7, &frobber("v7", "a", "heightInInches", 13)).expect_status(500);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("conversion of height 13 failed")),
        "{refused}"
    );
    assert_eq!(client.get(&format!("{V6}/a")).answer().status, 404);
    client.post(V6, &frobber("v6", "a", "height", 13)).expect_status(201);
    assert_eq!(client.get(&format!("{V7}/a")).answer().status, 500);
    assert_eq!(client.get(V7).answer().status, 500);
    let mut watch = fixture.client().watch(&format!("{V7}?watch=true")).expect("a watch");
    let (kind, status) = watch.event();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(500)));
    assert_eq!(client.get(&format!("{V6}/a")).answer().status, 200, "nobody else is concerned");
}

#[test]
fn a_waiting_plugin_blocks_only_its_request_and_is_cancelled_with_it() {
    let fixture = Fixture::start();
    let path = "/api/v1/namespaces/default/configmaps";
    let named = |name: &str| json!({"metadata": {"name": name}});
    let refused = fixture.client().post(path, &named("bad")).expect_status(403);
    assert_eq!(refused["message"], "configmaps \"bad\" is forbidden: it is bad");
    let made = fixture.client().post(path, &named("good")).answer();
    assert_eq!(made.header("warning"), "299 - \"it was held\"");
    assert_eq!(made.expect(201)["data"]["held"], "true");
    // A client that leaves while its request is held.
    let body = named("slow").to_string();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut leaving = TcpStream::connect(fixture.endpoint.address).expect("a connection");
    leaving.write_all((head + &body).as_bytes()).expect("it is sent");
    wait_for("the request is held", || (fixture.holding.held.load(Ordering::SeqCst) == 1).then_some(()));
    // Others are served meanwhile.
    fixture.client().get(&format!("{path}/good")).expect_status(200);
    drop(leaving);
    wait_for("its plugin ends", || (fixture.holding.dropped.load(Ordering::SeqCst) == 1).then_some(()));
    assert_eq!(fixture.client().get(&format!("{path}/slow")).answer().status, 404, "nothing was stored");
    // One that stays is answered once the plugin is done.
    fixture.holding.lets_go.store(true, Ordering::SeqCst);
    fixture.client().post(path, &named("slow")).expect_status(201);
    assert_eq!(fixture.holding.dropped.load(Ordering::SeqCst), 1);
}
