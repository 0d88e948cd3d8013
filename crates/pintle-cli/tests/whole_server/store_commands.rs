//! `pintle store check` and `pintle store copy` with the real binary, on stores that a real server wrote. Guarantees
//! that each kind of damage is reported, and that a copied store serves the same objects. Must never look into the
//! format of a store.

use crate::common::etcd::{self, Etcd};
use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::{Installation, Process, pintle};
use crate::common::{Scratch, name, resource_version};
use pintle_cache::encoded_object;
use pintle_schema::base64;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, Expect, Key, Observer, Record, Revision, Store, Transaction};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

const NAMESPACE: &str = "/api/v1/namespaces/default";

fn run(arguments: &[&str]) -> (i32, String) {
    let folder = Scratch::new();
    let Output { status, stdout, stderr } =
        pintle(folder.path()).arg("store").args(arguments).output().expect("it runs");
    let said = [stdout, stderr].concat();
    (status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn fill(client: &mut Client) {
    let service = |name: &str| {
        json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": name},
            "spec": {"type": "NodePort", "ports": [{"name": "t", "port": 80}, {"name": "u", "port": 80, "protocol": "UDP"}]}})
    };
    for name in ["one", "two"] {
        client.post(&format!("{NAMESPACE}/services"), &service(name)).expect_status(201);
    }
    for number in 0..30 {
        let name = format!("map-{number}");
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": {"n": name}},
            "data": {"k": "swordfish".repeat(50)}});
        client.post(&format!("{NAMESPACE}/configmaps"), &map).expect_status(201);
    }
    for number in 0..20 {
        client.delete(&format!("{NAMESPACE}/configmaps/map-{number}")).expect_status(200);
    }
}

/// A server that was filled and stopped.
fn filled() -> Installation {
    let installation = Installation::own();
    let mut process = installation.start();
    fill(&mut process.endpoint().client());
    process.kill();
    installation
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// What a client sees of some resources, by path and name. The service of the server itself follows its port.
fn seen(process: &Process) -> BTreeMap<String, Value> {
    let mut client = process.endpoint().client();
    let mut seen = BTreeMap::new();
    for path in [
        "/api/v1/services",
        "/api/v1/configmaps",
        "/api/v1/namespaces",
        "/apis/networking.k8s.io/v1/ipaddresses",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ] {
        let list = client.get(path).expect_status(200);
        for object in list["items"].as_array().expect("items").iter().filter(|object| name(object) != "kubernetes") {
            seen.insert(format!("{path} {}/{}", object["metadata"]["namespace"], name(object)), object.clone());
        }
    }
    seen
}

fn assert_same(after: &BTreeMap<String, Value>, before: &BTreeMap<String, Value>) {
    assert!(before.len() > 50);
    let keys: Vec<_> = after.keys().collect();
    assert_eq!(keys, before.keys().collect::<Vec<_>>());
    after.iter().for_each(|(key, object)| assert_eq!(object, &before[key], "{key}"));
}

#[derive(Clone, Default)]
struct Records(Arc<Mutex<BTreeMap<Key, Record>>>);

impl Observer for Records {
    fn replay(&mut self, record: Record, _: bool) {
        self.0.lock().expect("whole").insert(record.key.clone(), record);
    }

    fn publish(&mut self, _: &[Record], _: Revision) {}
}

#[test]
fn check_says_what_is_wrong() {
    let installation = filled();
    let data = installation.path("data");
    let (code, said) = run(&["check", text(&data)]);
    assert!(code == 0 && said.ends_with(": no problems\n"), "{code}: {said}");
    {
        let _process = installation.start();
        let (code, said) = run(&["check", text(&data)]);
        assert!(code == 2 && said.contains("is in use by another process"), "{code}: {said}");
    }
    let store = EmbeddedStore::open(&data.join("store"), EmbeddedOptions::default()).expect("opens");
    let records = Records::default();
    store.start(Box::new(records.clone())).expect("starts");
    let record = |key: &str| records.0.lock().expect("whole")[key].value.clone().expect("a value");
    let put = |key: &str, value: Option<bytes::Bytes>| {
        store.commit(Transaction::one(key.into(), Expect::Any, value)).wait().expect("written");
    };
    let service: Value = {
        let process_json = record("/registry/services/specs/default/one");
        let start = process_json.windows(2).position(|pair| pair == b"{\"").expect("JSON");
        serde_json::from_slice(&process_json[start..]).expect("an object")
    };
    put("/registry/services/specs/default/twin", Some(record("/registry/services/specs/default/one")));
    put("/registry/configmaps/default/map-25", Some(bytes::Bytes::from_static(b"garbage")));
    put("/registry/configmaps/default/map-26", Some(b"k8s:enc:aesgcm:v1:key1:sealed".as_slice().into()));
    let address = service["spec"]["clusterIP"].as_str().expect("an address");
    put(&format!("/registry/ipaddresses/{address}"), None);
    drop(store);
    let (code, said) = run(&["check", text(&data)]);
    assert_eq!(code, 1, "{said}");
    let port = &service["spec"]["ports"][0]["nodePort"];
    let uid = service["metadata"]["uid"].as_str().expect("a uid");
    let one = "/registry/services/specs/default/one";
    for line in [
        "/registry/services/specs/default/twin: holds the object \"one\" of namespace \"default\"\n".to_owned(),
        format!("/registry/services/specs/default/twin: uid {uid} is also that of {one}\n"),
        format!("/registry/services/specs/default/twin: cluster IP {address} is also that of {one}\n"),
        format!("/registry/services/specs/default/twin: node port {port} is also that of {one}\n"),
        "/registry/configmaps/default/map-25: is no object: the record is damaged or of an unknown format\n".to_owned(),
        "/registry/configmaps/default/map-26: cannot be read: identity transformer tried to read encrypted data\n"
            .to_owned(),
        format!("/registry/ipaddresses/{address}: is missing: service default/one has it\n"),
    ] {
        assert!(said.contains(&line), "{line} in {said}");
    }
    assert!(!said.contains("map-27"), "{said}");
    let (code, said) = run(&["copy", "--from", text(&data), "--to", text(&installation.path("other"))]);
    assert!(code == 1 && said.contains("nothing was copied: 1 objects would be lost"), "{code}: {said}");
    assert!(!installation.path("other").exists());
}

#[test]
fn a_no_op_update_rewrites_values_of_an_older_version() {
    let installation = filled();
    let store = EmbeddedStore::open(&installation.path("data/store"), EmbeddedOptions::default()).expect("opens");
    let records = Records::default();
    store.start(Box::new(records.clone())).expect("starts");
    let key = "/registry/configmaps/default/map-25";
    let record = records.0.lock().expect("whole")[key].value.clone().expect("a value");
    let object: pintle_schema::Value = {
        let json = encoded_object::object(&record).expect("an object");
        pintle_codec::json::parse(&json, pintle_codec::Strictness::Ignore).expect("JSON").value
    };
    let older = encoded_object::encode(&object, &["of a field that was selectable once"]);
    store.commit(Transaction::one(key.into(), Expect::Any, Some(older))).wait().expect("written");
    drop(store);
    let process = installation.start();
    let mut client = process.endpoint().client();
    let mut put = |name: &str, query: &str| {
        let path = format!("{NAMESPACE}/configmaps/{name}");
        let object = client.get(&path).expect_status(200);
        let written = client.put(&format!("{path}{query}"), &object).expect_status(200);
        resource_version(&written) > resource_version(&object)
    };
    assert!(!put("map-25", "?dryRun=All"));
    assert!(put("map-25", ""));
    assert!(!put("map-25", "") && !put("map-26", ""), "the others are as this program writes them");
}

#[test]
fn a_copy_serves_the_same_and_can_be_encrypted() {
    let installation = filled();
    let before = seen(&installation.start());
    let rules = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: ['*.*']\n  \
                 providers: [{secretbox: {keys: [{name: k, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]\n";
    let config = installation.scratch.write("encryption.yaml", rules);
    let (from, to) = (installation.path("data"), installation.path("copied"));
    let sealed = ["--to-encryption-provider-config", text(&config)];
    let copy = [&["copy", "--from", text(&from), "--to", text(&to)], &sealed[..]].concat();
    let (code, said) = run(&copy);
    assert!(code == 0 && said.contains("every one was read back and compared"), "{code}: {said}");
    let (code, said) = run(&copy);
    assert!(code == 2 && said.contains("there is something in it already"), "{code}: {said}");
    let (code, said) = run(&["check", text(&to)]);
    assert!(code == 1 && said.contains("identity transformer tried to read encrypted data"), "{code}: {said}");
    let (code, said) = run(&["check", "--encryption-provider-config", text(&config), text(&to)]);
    assert_eq!(code, 0, "{said}");
    let process = installation.start_with(&["--encryption-provider-config", text(&config), "--data-dir", text(&to)]);
    assert_same(&seen(&process), &before);
    let newest = before.values().map(resource_version).max();
    let mut client = process.endpoint().client();
    let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "later"}});
    let later = client.post(&format!("{NAMESPACE}/configmaps"), &map).expect_status(201);
    assert!(Some(resource_version(&later)) > newest);
}

#[test]
fn a_cluster_moves_to_etcd_and_back() {
    let Some(program) = etcd::program("3.5") else { return };
    let installation = filled();
    let before = seen(&installation.start());
    let etcd = Etcd::start(program.clone(), 1);
    let from = installation.path("data");
    let (code, said) = run(&["copy", "--from", text(&from), "--to", &etcd.urls()]);
    assert!(code == 0 && said.contains("every one was read back and compared"), "{code}: {said}");
    let (code, said) = run(&["check", &etcd.urls()]);
    assert!(code == 0 && said.ends_with(": no problems\n"), "{code}: {said}");
    let (code, said) = run(&["copy", "--from", text(&from), "--to", &etcd.urls()]);
    assert!(code == 2 && said.contains("the cluster is not empty"), "{code}: {said}");
    assert!(said.contains("a new cluster is needed") && !said.contains("Usage:"), "{said}");
    let serve_on = |etcd: &Etcd| installation.start_with(&["--etcd-servers", &etcd.urls()]);
    let changed = {
        let process = serve_on(&etcd);
        assert_same(&seen(&process), &before);
        // What is in the history of the cluster belongs to it, too.
        let (mut client, maps) = (process.endpoint().client(), format!("{NAMESPACE}/configmaps"));
        for name in ["kept", "removed"] {
            let map = json!({"metadata": {"name": name}});
            client.post(&maps, &map).expect_status(201);
        }
        client.delete(&format!("{maps}/removed")).expect_status(200);
        seen(&process)
    };
    assert!(changed.len() > before.len());
    let (back, other) = (installation.path("back"), Etcd::start(program, 1));
    for to in [text(&back), &other.urls()] {
        let (code, said) = run(&["copy", "--from", &etcd.urls(), "--to", to]);
        assert!(code == 0 && said.contains("every one was read back and compared"), "{code}: {said}");
    }
    assert_same(&seen(&installation.start_with(&["--data-dir", text(&back)])), &changed);
    assert_same(&seen(&serve_on(&other)), &changed);
    // What a copy leaves that is killed on its way.
    other.call("/v3/kv/put", &json!({"key": base64::encode(b"pintle_store_copy_filler")}));
    let (code, said) = run(&["check", &other.urls()]);
    assert!(code == 2 && said.contains("a copy to it was not finished"), "{code}: {said}");
}
