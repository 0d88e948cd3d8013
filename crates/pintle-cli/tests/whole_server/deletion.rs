//! Deletes as seen by clients and watchers: what is marked first, what waits, and the status code. Guarantees that every step
//! is visible, and that a grace period only gets shorter. Must never wait for a grace period.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::in_process::InProcess;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create_pod(client: &mut Client, name: &str, node: &str) -> Value {
    let containers = json!([{"name": "c", "image": "i"}]);
    let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": containers}});
    client.post(PODS, &pod).expect_status(201)
}

fn delete(client: &mut Client, path: &str) -> Value {
    client.delete(path).expect_status(200)
}

#[test]
fn watchers_see_a_pod_terminating_before_it_is_deleted() {
    let (server, mut client) = InProcess::for_pods();
    let created = create_pod(&mut client, "a", "");
    let since = created["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut watch = server.client().watch(&format!("{PODS}?watch=1&resourceVersion={since}")).expect("a watch");
    let gone = delete(&mut client, &format!("{PODS}/a"));
    let (first, marked) = watch.event();
    let (second, last) = watch.event();
    assert_eq!((first.as_str(), second.as_str()), ("MODIFIED", "DELETED"));
    for object in [&marked, &last, &gone] {
        let metadata = &object["metadata"];
        assert_eq!(
            (&metadata["deletionGracePeriodSeconds"], &metadata["generation"]),
            (&json!(0), &json!(2)),
            "{object}"
        );
        assert!(metadata["deletionTimestamp"].is_string());
    }
    assert_eq!(last["metadata"]["resourceVersion"], gone["metadata"]["resourceVersion"]);
    assert_ne!(last["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"]);
}

#[test]
fn while_time_runs_nothing_is_said_anew() {
    let (_server, mut client) = InProcess::for_pods();
    create_pod(&mut client, "a", "n");
    let path = format!("{PODS}/a");
    let first = delete(&mut client, &path);
    assert_eq!(first["metadata"]["deletionGracePeriodSeconds"], 30);
    for query in ["", "?propagationPolicy=Foreground", "?gracePeriodSeconds=30&propagationPolicy=Foreground"] {
        assert_eq!(delete(&mut client, &format!("{path}{query}")), first, "{query}");
    }
    let shortened = delete(&mut client, &format!("{path}?gracePeriodSeconds=20&propagationPolicy=Foreground"));
    assert_eq!(shortened["metadata"]["deletionGracePeriodSeconds"], 20);
    assert_eq!(shortened["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(shortened["metadata"]["generation"], first["metadata"]["generation"]);
}

#[test]
fn orphan_dependents_is_answered_202_while_finalizers_remain() {
    let (_server, mut client) = InProcess::for_pods();
    for (finalizers, query, code) in [
        (json!(["a.example.com/b"]), "?orphanDependents=false", 202),
        (json!(["a.example.com/b"]), "?propagationPolicy=Background", 200),
        (json!([]), "?orphanDependents=false", 200),
    ] {
        let metadata = json!({"generateName": "c-", "finalizers": finalizers});
        let created = client.post(CONFIG_MAPS, &json!({"metadata": metadata})).expect_status(201);
        let name = created["metadata"]["name"].as_str().expect("a name");
        client.delete(&format!("{CONFIG_MAPS}/{name}{query}")).expect_status(code);
    }
}

#[test]
fn a_namespace_ends_in_its_own_way() {
    let (_server, mut client) = InProcess::for_pods();
    let path = "/api/v1/namespaces/a";
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "a"}})).expect_status(201);
    let options = json!({"preconditions": {"uid": "other"}}).to_string();
    let refused = client.send("DELETE", path, "application/json", options.as_bytes()).expect_status(409);
    assert_eq!(refused["details"], json!({"name": "a", "kind": "namespaces"}));
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.contains("Precondition failed: UID in precondition: other, UID in object meta: "), "{message}");
    client.put(&format!("{path}/finalize"), &json!({"metadata": {"name": "a"}})).expect_status(200);
    let marked = delete(&mut client, path);
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], Value::Null);
    client.get(path).expect_status(200);
    delete(&mut client, path);
    client.get(path).expect_status(404);
}

#[test]
fn orphaning_pods_is_warned_of() {
    let (_server, mut client) = InProcess::for_pods();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    for (path, code, is_told) in [
        (format!("{jobs}/none"), 404, true),
        (jobs.to_owned(), 200, true),
        (format!("{jobs}?propagationPolicy=Background"), 200, false),
    ] {
        let answer = client.delete(&path).answer();
        answer.expect(code);
        assert_eq!(answer.header("warning").contains("child pods are preserved by default"), is_told, "{path}");
    }
}
