//! Resources that are installed and removed while the server runs, with a schema built at run time. Guarantees that installing
//! and removing one takes effect in every part of the server, and affects no other request. Must never depend on a built-in
//! group, except for namespaces and owners.

#[path = "whole_server/common/mod.rs"]
mod common;

use common::http::Answered;
use common::http::{Client, Endpoint};
use common::schemas::{field, object};
use common::wait_for;
use pintle_registry::{EtcdCodec, Registry};
use pintle_resource::{FieldValue, Resource, STATUS, Selectable, Storage, Subresource};
use pintle_schema::{Field, List, ListKind, Presence, Ref, ResourceNames, Str, Type, value};
use pintle_storage::{Expect, MemoryStore, Store, Transaction, TranscodingStore, Write};
use pintle_types::core::v1::ConfigMap;
use pintle_types::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

const PATH: &str = "/apis/fun.example.com/v6/namespaces/default/frobbers";

const NAMES: ResourceNames = ResourceNames::namespaced("fun.example.com", "v6", "frobbers", "frobber", "Frobber");

/// A resource that nothing of is known when the program is compiled. More than 64 fields have defaults, lists among them.
fn frobbers(height: i64) -> Arc<Resource> {
    let sizes = Type::List(Ref::Shared(Arc::new(List { elem: Type::Int64, kind: ListKind::Atomic, declared: true })));
    let mut spec = vec![
        field("height", Type::Int64, Some(height.into())),
        field("color", Type::String, None),
        field("sizes", sizes, Some(value!([1, 2]))),
    ];
    spec.extend((0..100).map(|at| field(&format!("f{at}"), Type::Int64, Some(at.into()))));
    let spec = Type::Struct(Ref::Shared(Arc::new(object("FrobberSpec", spec))));
    let status = Type::Struct(Ref::Shared(Arc::new(object("FrobberStatus", vec![field("phase", Type::String, None)]))));
    let schema = Ref::Shared(Arc::new(object(
        "Frobber",
        vec![
            field("kind", Type::String, None),
            field("apiVersion", Type::String, None),
            field("metadata", Type::Struct(Ref::Static(<ObjectMeta as pintle_schema::ApiType>::schema)), None),
            Field { presence: Presence::Always, ..field("spec", spec, None) },
            field("status", status, None),
        ],
    )));
    let storage = Storage {
        schema: schema.clone(),
        ..Storage::named::<ConfigMap>("fun.example.com/v6", "Frobber", "/registry/fun.example.com/frobbers/")
    };
    let phase = FieldValue::Path(["status", "phase"].map(Str::from).to_vec());
    Arc::new(Resource {
        schema: schema.clone(),
        storage: Some(storage.as_json()),
        short_names: vec!["fr".into()],
        selectable: vec![Selectable { label: "status.phase".into(), value: phase, indexed: true }],
        subresources: vec![Subresource {
            kind: NAMES.kind.into(),
            schema: Some(schema),
            ..Subresource::status::<ConfigMap>(&STATUS)
        }],
        ..Resource::named::<ConfigMap>(NAMES)
    })
}

struct Fixture {
    server: Option<pintle::TestServer>,
    registry: Arc<Registry>,
    runtime: Runtime,
    endpoint: Endpoint,
}

impl Fixture {
    fn start() -> Self {
        Self::start_with(Arc::new(MemoryStore::new()))
    }

    fn start_with(store: Arc<dyn Store>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let server = runtime.block_on(pintle::TestServer::start_with(store)).expect("a server");
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        let registry = server.server().api().registry.clone();
        Fixture { server: Some(server), registry, runtime, endpoint }
    }

    fn client(&self) -> Client {
        self.endpoint.client()
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

fn frobber(name: &str) -> Value {
    json!({"kind": "Frobber", "apiVersion": "fun.example.com/v6", "metadata": {"name": name}, "spec": {"color": "red"}})
}

fn ok(answer: std::io::Result<common::http::Answer>) -> common::http::Answer {
    answer.answer()
}

#[test]
fn a_resource_is_served_from_when_it_is_installed_until_it_is_removed() {
    each_store(|fixture| {
        let mut client = fixture.client();
        assert_eq!(ok(client.get(PATH)).status, 404);
        fixture.registry.install(frobbers(1));
        let made = ok(client.post(PATH, &frobber("a"))).expect(201);
        let spec = &made["spec"];
        assert_eq!((&spec["height"], &spec["sizes"], &spec["f99"]), (&json!(1), &json!([1, 2]), &json!(99)));
        assert_eq!(made["metadata"]["generation"], Value::Null, "as its strategy says");
        let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
        assert_eq!((&owned["f:color"], &owned["f:height"]), (&json!({}), &json!({})), "with its defaults");
        // Discovery, OpenAPI, metrics.
        let groups = ok(client.get("/apis")).expect(200);
        let names: Vec<_> = groups["groups"].as_array().expect("groups").iter().map(|group| &group["name"]).collect();
        assert_eq!(names.last(), Some(&&json!("fun.example.com")), "after all built-in groups");
        let resources = ok(client.get("/apis/fun.example.com/v6")).expect(200);
        assert_eq!(resources["resources"][0]["shortNames"], json!(["fr"]));
        assert_eq!(resources["resources"][1]["name"], "frobbers/status");
        let document = ok(client.get("/openapi/v3/apis/fun.example.com/v6")).text();
        assert!(document.contains("com.example.fun.v6.Frobber\""), "{}", &document[..200]);
        assert!(
            ok(client.get("/metrics"))
                .text()
                .contains("apiserver_storage_objects{resource=\"frobbers.fun.example.com\"} 1\n")
        );
        // Other verbs.
        let patched =
            client.send("PATCH", &format!("{PATH}/a"), common::http::MERGE_PATCH, br#"{"spec":{"height":7}}"#);
        assert_eq!(ok(patched).expect(200)["spec"]["height"], 7);
        let status = client.send(
            "PATCH",
            &format!("{PATH}/a/status"),
            common::http::MERGE_PATCH,
            br#"{"status":{"phase":"Ready"},"spec":{"height":8}}"#,
        );
        assert_eq!(ok(status).expect(200)["spec"]["height"], 7);
        let config = b"{apiVersion: fun.example.com/v6, kind: Frobber, metadata: {name: b}, spec: {height: 3}}";
        let applied = client.send("PATCH", &format!("{PATH}/b?fieldManager=m"), "application/apply-patch+yaml", config);
        assert_eq!(ok(applied).expect(201)["spec"]["height"], 3);
        let selected = ok(client.get(&format!("{PATH}?fieldSelector=status.phase%3DReady"))).expect(200);
        assert_eq!(selected["items"].as_array().map(Vec::len), Some(1), "{selected}");
        let unknown =
            client.send("POST", &format!("{PATH}?fieldValidation=Strict"), common::http::JSON, &frobber_with_unknown());
        assert_eq!(ok(unknown).expect(400)["message"], UNKNOWN);
        // Removed.
        let listed = ok(client.get(PATH)).expect(200);
        let version = listed["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        let mut watch =
            fixture.client().watch(&format!("{PATH}?watch=true&resourceVersion={version}")).expect("a watch");
        ok(client.delete(&format!("{PATH}/b"))).expect(200);
        assert!(fixture.registry.uninstall("fun.example.com", "v6", "frobbers"));
        assert_eq!(watch.event().0, "DELETED", "what happened before is shown");
        assert!(watch.next().expect("a good end").is_none());
        assert_eq!(ok(client.get(PATH)).status, 404);
        assert!(!ok(client.get("/apis")).text().contains("fun.example.com"));
        assert_eq!(ok(client.get("/openapi/v3/apis/fun.example.com/v6")).status, 404);
        // And back, with another default: what was stored is found.
        fixture.registry.install(frobbers(2));
        assert_eq!(ok(client.get(&format!("{PATH}/a"))).expect(200)["spec"]["height"], 7);
        assert_eq!(ok(client.post(PATH, &frobber("c"))).expect(201)["spec"]["height"], 2);
        let listed = ok(client.get(&format!("{PATH}?fieldSelector=status.phase%3DReady"))).expect(200);
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "its index is there again");
    });
}

const UNKNOWN: &str =
    "Frobber in version \"v6\" cannot be handled as a Frobber: strict decoding error: unknown field \"spec.bogus\"";

fn frobber_with_unknown() -> Vec<u8> {
    let mut frobber = frobber("z");
    frobber["spec"]["bogus"] = 1.into();
    frobber.to_string().into_bytes()
}

/// On a store that keeps records, and on one that keeps objects in the form of kube-apiserver.
fn each_store(test: impl Fn(&Fixture)) {
    test(&Fixture::start());
    let inner = Arc::new(MemoryStore::new());
    test(&Fixture::start_with(Arc::new(TranscodingStore::new(
        inner,
        Arc::new(EtcdCodec::new(pintle_groups::resources())),
    ))));
}

#[test]
fn namespaces_and_owners_of_such_objects_are_respected() {
    each_store(|fixture| {
        fixture.registry.install(frobbers(1));
        let mut client = fixture.client();
        let namespace = |name: &str| json!({"metadata": {"name": name}});
        ok(client.post("/api/v1/namespaces", &namespace("gone"))).expect(201);
        let there = PATH.replace("default", "gone");
        ok(client.post(&there, &frobber("a"))).expect(201);
        ok(client.delete("/api/v1/namespaces/gone")).expect(200);
        wait_for("the namespace to go", || {
            (ok(fixture.client().get("/api/v1/namespaces/gone")).status == 404).then_some(())
        });
        assert_eq!(ok(client.get(&format!("{there}/a"))).status, 404);
        // A config map that a frobber owns goes with it, and not before.
        let owner = ok(client.post(PATH, &frobber("owner"))).expect(201);
        let reference = json!({"apiVersion": "fun.example.com/v6", "kind": "Frobber", "name": "owner",
            "uid": owner["metadata"]["uid"]});
        let owned = json!({"metadata": {"name": "owned", "ownerReferences": [reference]}});
        ok(client.post("/api/v1/namespaces/default/configmaps", &owned)).expect(201);
        // While its owner's kind is not served, nothing is decided.
        fixture.registry.uninstall("fun.example.com", "v6", "frobbers");
        fixture.registry.install(frobbers(1));
        assert_eq!(ok(client.get("/api/v1/namespaces/default/configmaps/owned")).status, 200);
        ok(client.delete(&format!("{PATH}/owner"))).expect(200);
        let path = "/api/v1/namespaces/default/configmaps/owned";
        wait_for("the owned to go", || (ok(fixture.client().get(path)).status == 404).then_some(()));
    });
}

#[test]
fn owners_deleted_while_their_kind_was_removed_are_noticed() {
    each_store(|fixture| {
        fixture.registry.install(frobbers(1));
        let mut client = fixture.client();
        let owner = ok(client.post(PATH, &frobber("owner"))).expect(201);
        let reference = json!({"apiVersion": "fun.example.com/v6", "kind": "Frobber", "name": "owner",
            "uid": owner["metadata"]["uid"]});
        let owned = json!({"metadata": {"name": "owned", "ownerReferences": [reference]}});
        let path = "/api/v1/namespaces/default/configmaps";
        ok(client.post(path, &owned)).expect(201);
        fixture.registry.uninstall("fun.example.com", "v6", "frobbers");
        // Another server removes it, which has the kind.
        let key = "/registry/fun.example.com/frobbers/default/owner";
        let removed = Transaction::of(vec![Write::delete(key.into(), Expect::Any)]);
        fixture.runtime.block_on(fixture.registry.store.commit(removed)).expect("it is removed");
        // The collector looks at what has owners now, and can decide nothing.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(ok(client.get(&format!("{path}/owned"))).status, 200);
        fixture.registry.install(frobbers(1));
        let gone = || (ok(fixture.client().get(&format!("{path}/owned"))).status == 404).then_some(());
        wait_for("the owned to go", gone);
    });
}

#[test]
fn a_version_is_replaced_without_a_gap() {
    let fixture = Fixture::start();
    fixture.registry.install(frobbers(0));
    let mut client = fixture.client();
    ok(client.post(PATH, &frobber("a"))).expect(201);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut client = fixture.client();
            let mut reads = 0;
            while !stop.load(Ordering::Relaxed) || reads == 0 {
                ok(client.get(&format!("{PATH}/a"))).expect(200);
                reads += 1;
            }
        });
        let mut watch = fixture.client().watch(&format!("{PATH}?watch=true")).expect("a watch");
        assert_eq!(watch.event().0, "ADDED");
        (1..200).for_each(|height| fixture.registry.install(frobbers(height)));
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("no read fails");
        let made = ok(client.post(PATH, &frobber("b"))).expect(201);
        assert_eq!(made["spec"]["height"], 199);
        assert_eq!(watch.event().0, "ADDED", "the watch goes on");
    });
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}

/// How often a resource is installed and removed.
const ROUNDS: usize = 10_000;

#[test]
fn ten_thousand_installs_under_load_fail_no_request_and_leak_nothing() {
    let fixture = Fixture::start();
    fixture.registry.install(frobbers(1));
    let mut client = fixture.client();
    ok(client.post(PATH, &frobber("a"))).expect(201);
    ok(client.post("/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": "a"}}))).expect(201);
    let (stop, reads, watches) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut memory = Vec::new();
    std::thread::scope(|scope| {
        // Others see nothing of it.
        scope.spawn(|| {
            let mut client = fixture.client();
            while !stop.load(Ordering::Relaxed) {
                for path in ["/api/v1/namespaces/default/configmaps/a", "/api/v1/configmaps", "/apis"] {
                    ok(client.get(path)).expect(200);
                }
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The object is there whenever its resource is.
        scope.spawn(|| {
            let mut client = fixture.client();
            while !stop.load(Ordering::Relaxed) {
                let answer = ok(client.get(&format!("{PATH}/a")));
                match answer.status {
                    200 => assert_eq!(answer.json()["spec"]["color"], "red"),
                    status => assert_eq!(status, 404, "{}", answer.text()),
                }
                let answer = ok(client.get("/apis/fun.example.com/v6"));
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text());
            }
        });
        // Watches end in good order.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let Ok(mut watch) = fixture.client().watch(&format!("{PATH}?watch=true&timeoutSeconds=1")) else {
                    continue;
                };
                while let Some(event) = watch.next().expect("a good end") {
                    assert_eq!(event["type"], "ADDED", "{event}");
                }
                watches.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 0..ROUNDS {
            assert!(fixture.registry.uninstall("fun.example.com", "v6", "frobbers"));
            fixture.registry.install(frobbers(1));
            if round % 1_000 == 999 {
                memory.push(resident_bytes());
            }
        }
        wait_for("readers", || {
            (reads.load(Ordering::Relaxed) > 0 && watches.load(Ordering::Relaxed) > 0).then_some(())
        });
        stop.store(true, Ordering::Relaxed);
    });
    // On a new connection: on a busy machine the first one was idle for so long that the server has closed it.
    assert_eq!(ok(fixture.client().get(&format!("{PATH}/a"))).expect(200)["spec"]["color"], "red");
    // Each schema of a hundred fields takes some tens of KiB: kept, nine thousand of them would be hundreds of MiB.
    let (first, last) = (memory[0], memory[memory.len() - 1]);
    assert!(last < first + (48 << 20), "{first} bytes after 1,000 changes, {last} after {ROUNDS}: {memory:?}");
}
