//! A server beside kube-apiserver on one etcd, which takes over from it and gives back. kube-apiserver is played by a
//! plain client of etcd's; that both may write the same objects at the same time is shown where faults are made as well.
//! Guarantees that leases and compaction are shared with it, and that what it stored comes back as it was. Must never
//! need kube-apiserver itself, nor what was recorded from it: without that, its part is skipped.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::MERGE_PATCH;
use crate::common::process::{Installation, Process};
use crate::common::reference::{Reference, config_map, uid_and_entry};
use crate::common::{name, resource_version, wait_for};
use pintle_schema::base64;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn serve(etcd: &Etcd, installation: &Installation, flags: &[&str]) -> Process {
    installation.start_with(&[&["--etcd-servers", &etcd.urls()], flags].concat())
}

#[test]
fn each_reads_watches_and_changes_what_the_other_wrote() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let (etcd, installation) = (Etcd::start(program, 1), Installation::own());
        let process = serve(&etcd, &installation, &[]);
        let (mut client, mut reference) = (process.endpoint().client(), Reference::on(&etcd));
        let now = resource_version(&client.get(CONFIG_MAPS).expect_status(200));
        let watched = format!("{CONFIG_MAPS}?watch=true&resourceVersion={now}");
        let mut watch = process.endpoint().client().watch(&watched).expect("a watch");
        let (key, path) = ("/registry/configmaps/default/a", format!("{CONFIG_MAPS}/a"));
        let uid = "3c1d3cf1-90f3-4f4f-8c3f-0d1f3a4b5c6d";

        let made = reference.put(key, 0, &config_map("a", uid, "k", "1"), 0).expect("an answer").expect("it is new");
        let (kind, object) = watch.event();
        assert_eq!((kind.as_str(), resource_version(&object), &object["data"]), ("ADDED", made, &json!({"k": "1"})));
        assert_eq!(client.get(&path).expect_status(200), object);
        let patch = br#"{"data":{"k":"2"}}"#;
        let patched = client.send("PATCH", &path, MERGE_PATCH, patch).expect_status(200);
        let (at, stored) = reference.get(key).expect("an answer").expect("it is there");
        assert_eq!(at, resource_version(&patched));
        assert_eq!(uid_and_entry(&stored, "k"), Some((uid.to_owned(), "2".to_owned())));
        assert_eq!(watch.event(), ("MODIFIED".to_owned(), patched.clone()));

        // A stale write gets a conflict, on both sides.
        let late = reference.put(key, made, &config_map("a", uid, "k", "3"), 0).expect("an answer");
        assert_eq!(late, Err(Some((at, stored))));
        let third = reference.put(key, at, &config_map("a", uid, "k", "3"), 0).expect("an answer").expect("in time");
        assert_eq!(client.put(&path, &patched).expect_status(409)["reason"], "Conflict");
        let (kind, object) = watch.event();
        assert_eq!(
            (kind.as_str(), resource_version(&object), &object["data"]),
            ("MODIFIED", third, &json!({"k": "3"}))
        );
        let gone = reference.delete(key, third).expect("an answer").expect("in time");
        let (kind, object) = watch.event();
        assert_eq!((kind.as_str(), resource_version(&object), &object["data"]), ("DELETED", gone, &json!({"k": "3"})));
        client.get(&path).expect_status(404);

        // What has a lease goes with it.
        let lease = reference.lease(3600).expect("a lease");
        let leased = reference.put(key, 0, &config_map("a", uid, "k", "4"), lease).expect("an answer");
        assert_eq!(resource_version(&watch.event().1), leased.expect("it is new"));
        reference.revoke(lease).expect("an answer");
        assert_eq!(watch.event().0, "DELETED");
        client.get(&path).expect_status(404);
    }
}

#[test]
fn servers_of_both_kinds_are_advertised() {
    let Some(program) = program("3.5") else { return };
    let (etcd, installation) = (Etcd::start(program, 1), [Installation::own(), Installation::own()]);
    let mut reference = Reference::on(&etcd);
    let addresses = |process: &Process| -> Vec<String> {
        let endpoints = process.endpoint().client().get("/api/v1/namespaces/default/endpoints/kubernetes");
        let endpoints = endpoints.expect_status(200);
        let addresses = endpoints["subsets"][0]["addresses"].as_array().expect("addresses").iter();
        addresses.map(|address| address["ip"].as_str().expect("an address").to_owned()).collect()
    };
    let ours = serve(&etcd, &installation[0], &["--advertise-address", "10.1.0.1"]);
    let (_, lease) = reference.get("/registry/masterleases/10.1.0.1").expect("an answer").expect("a lease");
    let theirs = String::from_utf8_lossy(&lease).replace("10.1.0.1", "10.1.0.9").into_bytes();
    let lived = reference.lease(3600).expect("a lease");
    reference.put("/registry/masterleases/10.1.0.9", 0, &theirs, lived).expect("an answer").expect("it is new");
    // Who comes or goes looks who else is there.
    let mut other = serve(&etcd, &installation[1], &["--advertise-address", "10.1.0.2"]);
    assert_eq!(addresses(&ours), ["10.1.0.1", "10.1.0.2", "10.1.0.9"]);
    reference.revoke(lived).expect("an answer");
    other.signal("TERM");
    wait_for("its end", || other.exit_status());
    assert_eq!(addresses(&ours), ["10.1.0.1"]);
}

#[test]
fn compaction_is_done_in_turns() {
    const INTERVAL: Duration = Duration::from_millis(100);
    let Some(program) = program("3.5") else { return };
    let (etcd, installation) = (Etcd::start(program, 1), Installation::own());
    let process = serve(&etcd, &installation, &["--etcd-compaction-interval", "100ms"]);
    let (mut client, mut reference) = (process.endpoint().client(), Reference::on(&etcd));
    let now = resource_version(&client.get(CONFIG_MAPS).expect_status(200));
    let watched = format!("{CONFIG_MAPS}?watch=true&resourceVersion={now}");
    let mut watch = process.endpoint().client().watch(&watched).expect("a watch");
    let (mut turn, mut wins, mut number) = ((0, 0), [0, 0], 0);
    // Until either has had its turns: each sees by the count whether the other was faster.
    wait_for("turns of both", || {
        let map = json!({"metadata": {"name": format!("n{number}")}});
        let made = client.post(CONFIG_MAPS, &map).expect_status(201);
        assert_eq!(
            resource_version(&watch.event().1),
            resource_version(&made),
            "what is compacted was reported before"
        );
        number += 1;
        std::thread::sleep(INTERVAL);
        let next = reference.compact(turn.0, turn.1).expect("an answer");
        match next.0 == turn.0 + 1 {
            true => wins[0] += 1,
            false => wins[1] += 1,
        }
        turn = next;
        (wins[0] >= 3 && wins[1] >= 3).then_some(())
    });
    let (_, reported) = reference.get("compact_rev_key").expect("an answer").expect("the revision of the last");
    let reported: u64 = String::from_utf8(reported).ok().and_then(|text| text.parse().ok()).expect("a revision");
    let too_old = format!("{CONFIG_MAPS}?resourceVersionMatch=Exact&resourceVersion={now}");
    assert!(reported > now, "history up to {reported} is gone, {now} with it");
    // What this server has in memory it may show all the same.
    let status = client.get(&too_old).answer().status;
    assert!([200, 410].contains(&status), "{status}");
}

/// Beside the checkout: a JSON document a line, with the key, the value and what kube-apiserver served of it.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/stored/objects.jsonl");

#[test]
fn data_of_kube_apiserver_can_be_taken_over_and_given_back() {
    let (Some(program), Ok(text)) = (program("3.5"), std::fs::read_to_string(Path::new(RECORDED))) else { return };
    let mut recorded: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // What is served by several groups was recorded of each.
    let mut known = BTreeSet::new();
    recorded.retain(|line| known.insert(line["key"].to_string()));
    assert!(recorded.len() > 100);
    let (etcd, installation) = (Etcd::start(program, 1), Installation::own());
    let mut reference = Reference::on(&etcd);
    let bytes = |line: &Value| base64::decode(line["value"].as_str().expect("a value")).expect("base64");
    let key = |line: &Value| line["key"].as_str().expect("a key").to_owned();
    for line in &recorded {
        reference.put(&key(line), 0, &bytes(line), 0).expect("an answer").expect("it is new");
    }
    let process = serve(&etcd, &installation, &["--controllers=", "--runtime-config=api/all=true"]);
    let mut client = process.endpoint().client();
    let (mut wrong, mut same) = (Vec::new(), 0);
    // The identity of a host is renewed at the start, if it was recorded on this one.
    let is_own = |line: &Value| key(line).starts_with("/registry/leases/kube-system/apiserver-");
    // An address whose service was not recorded is taken back.
    let keys: BTreeSet<String> = recorded.iter().map(key).collect();
    let is_leaked = |line: &Value| {
        let service = &line["object"]["spec"]["parentRef"];
        let [namespace, service] = ["namespace", "name"].map(|field| service[field].as_str().unwrap_or_default());
        key(line).starts_with("/registry/ipaddresses/")
            && (namespace, service) != ("default", "kubernetes")
            && !keys.contains(&format!("/registry/services/specs/{namespace}/{service}"))
    };
    // What is being deleted is only finished.
    let is_ended = |line: &Value| !line["object"]["metadata"]["deletionTimestamp"].is_null();
    let is_changed = |line: &Value| !is_own(line) && !is_leaked(line) && !is_ended(line);
    recorded.retain(is_changed);
    for line in &recorded {
        let (key, object, before) = (key(line), &line["object"], bytes(line));
        let collection = line["servedAs"].as_str().expect("a path");
        let (group_version, plural) = collection.rsplit_once('/').expect("a path");
        let path = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("{group_version}/namespaces/{namespace}/{plural}/{}", name(object)),
            None => format!("{collection}/{}", name(object)),
        };
        let (_, found) = reference.get(&key).expect("an answer").expect("it is there");
        if found != before {
            wrong.push(format!("{key} was changed by the start"));
            continue;
        }
        // A change that is none to the kind, and its reversal.
        let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let more = [&finalizers[..], &[json!("example.com/taken-over")]].concat();
        let mut write = |finalizers: Vec<Value>| {
            let finalizers = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
            let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
            client.send("PATCH", &format!("{path}?fieldManager=t"), MERGE_PATCH, patch.as_bytes()).answer()
        };
        let answers = [write(more), write(finalizers)];
        // JSON documents within an object are compared with their blanks, which no client sees; so kube-apiserver too
        // lets nobody change an object that must keep one with blanks.
        let has_blanks = before.windows(3).any(|window| window == b"\": ");
        let refused = answers.iter().find(|answer| answer.status != 200);
        if let Some(answer) = refused.filter(|answer| answer.status != 422 || !has_blanks) {
            wrong.push(format!("{key}: {}", answer.text()));
            continue;
        }
        let (_, after) = reference.get(&key).expect("an answer").expect("it is there");
        if after == before {
            same += 1;
            continue;
        }
        // What reading fills in is stored with the next write, and there is room for ten managers only.
        let kind = |stored: &[u8]| stored.get(..stored.len().min(6 + usize::from(stored[5]))).map(<[u8]>::to_vec);
        let [found, wanted] = [&answers[1].json(), object].map(|object| {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().expect("metadata");
            metadata.retain(|field, _| field != "managedFields" && field != "resourceVersion");
            object
        });
        if found != wanted || kind(&after) != kind(&before) {
            wrong.push(format!("{key} is\n  {found}\n  not {wanted}\n  {}", after.escape_ascii()));
        }
    }
    println!("{same} of {} are the same bytes", recorded.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), recorded.len(), wrong.join("\n"));
    assert!(same * 10 > recorded.len() * 9, "{same} of {} are the same bytes", recorded.len());
}

/// What an old cluster has stored, where it is shown, and a part of how it is shown now.
fn stored_long_ago() -> [(&'static str, &'static str, Value, Value); 4] {
    let metadata =
        json!({"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "2019-01-01T00:00:00Z"});
    let template = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    [
        (
            "/registry/poddisruptionbudgets/default/a",
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({
                "kind": "PodDisruptionBudget", "apiVersion": "policy/v1beta1", "metadata": metadata,
                "spec": {"minAvailable": 1, "selector": {}},
            }),
            json!({"minAvailable": 1, "selector": {"matchExpressions": [
                {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"},
            ]}}),
        ),
        (
            "/registry/ingress/default/a",
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            json!({
                "kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": metadata,
                "spec": {"backend": {"serviceName": "s", "servicePort": 80}},
            }),
            json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}),
        ),
        (
            "/registry/replicasets/default/a",
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({
                "kind": "ReplicaSet", "apiVersion": "extensions/v1beta1", "metadata": metadata,
                "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template},
            }),
            json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}}),
        ),
        (
            "/registry/cronjobs/default/a",
            "/apis/batch/v1/namespaces/default/cronjobs",
            json!({
                "kind": "CronJob", "apiVersion": "batch/v1beta1", "metadata": metadata,
                "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
            }),
            json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow"}),
        ),
    ]
}

#[test]
fn objects_in_versions_that_are_served_no_more_are_read_and_written_anew() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let (etcd, installation) = (Etcd::start(program, 1), Installation::own());
        let put = |key: &str, object: &Value| {
            let (key, value) = (base64::encode(key.as_bytes()), base64::encode(object.to_string().as_bytes()));
            etcd.call("/v3/kv/put", &json!({"key": key, "value": value}));
        };
        let rows = stored_long_ago();
        rows.iter().for_each(|(key, _, object, _)| put(key, object));
        let process = serve(&etcd, &installation, &["--controllers="]);
        let mut client = process.endpoint().client();
        for (key, collection, old, expected) in rows {
            let list = client.get(collection).expect_status(200);
            assert_eq!(name(&list["items"][0]), "a", "{collection}");
            let object = client.get(&format!("{collection}/a")).expect_status(200);
            let api_version = collection.split('/').skip(2).take(2).collect::<Vec<_>>().join("/");
            assert_eq!(object["apiVersion"], api_version, "{collection}");
            for (field, value) in expected.as_object().expect("fields") {
                assert_eq!(&object["spec"][field], value, "{collection}: {field}");
            }
            // An update that changes nothing stores it in today's version.
            let written = client.put(&format!("{collection}/a"), &object).expect_status(200);
            assert!(resource_version(&written) > resource_version(&object), "{collection}");
            let range = json!({"key": base64::encode(key.as_bytes())});
            let value = etcd.call("/v3/kv/range", &range)["kvs"][0]["value"].clone();
            let value = base64::decode(value.as_str().expect("a value")).expect("base64");
            let stored = String::from_utf8_lossy(&value);
            assert!(value.starts_with(b"k8s\0") && stored.contains(&api_version), "{collection}: {stored}");
            // A watch shows what an old server still writes.
            let watched = format!("{collection}?watch=true&resourceVersion={}", resource_version(&written));
            let mut watch = process.endpoint().client().watch(&watched).expect("a watch");
            put(key, &old);
            let (kind, object) = watch.event();
            assert_eq!((kind.as_str(), &object["apiVersion"]), ("MODIFIED", &json!(api_version)), "{collection}");
            client.delete(&format!("{collection}/a")).expect_status(200);
        }
    }
}
