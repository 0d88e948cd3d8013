//! Validation that depends on more than the canonical object: fields that were sent empty, the namespace, the user and
//! the request's version. Guarantees that data outside the canonical form is validated, and that it has no effect on
//! later requests.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client};
use crate::common::in_process::InProcess;
use crate::common::process::{Installation, Process};
use serde_json::{Value, json};

const DEFAULT: &str = "/api/v1/namespaces/default";
const RESOURCE: &str = "/apis/resource.k8s.io/v1";

/// The binary, since fields behind gates are in question.
fn serve(installation: &Installation) -> Process {
    installation.start_with(&["--feature-gates", "DRAPartitionableDevices=true"])
}

fn post(client: &mut Client, path: &str, object: Value) -> Answer {
    client.post(&format!("{path}?dryRun=All"), &object).answer()
}

/// The fields named by an error.
fn fields(answer: &Answer) -> Vec<String> {
    let causes = answer.json()["details"]["causes"].as_array().cloned().unwrap_or_default();
    causes.iter().map(|cause| cause["field"].as_str().unwrap_or_default().to_owned()).collect()
}

fn template(namespace: &str, metadata: Value, admin: bool) -> (String, Value) {
    let exactly = json!({"deviceClassName": "gpu", "adminAccess": admin});
    let spec = json!({"devices": {"requests": [{"name": "r", "exactly": exactly}]}});
    let object = json!({"metadata": {"name": "a"}, "spec": {"metadata": metadata, "spec": spec}});
    (format!("{RESOURCE}/namespaces/{namespace}/resourceclaimtemplates"), object)
}

#[test]
fn empty_values_are_not_absent() {
    let installation = Installation::new();
    let process = serve(&installation);
    let client = &mut process.endpoint().client();
    let rows = [
        (json!({"labels": {}}), vec![]),
        (json!({"finalizers": []}), vec!["spec.metadata.finalizers"]),
        (
            json!({"managedFields": [], "ownerReferences": []}),
            vec!["spec.metadata.ownerReferences", "spec.metadata.managedFields"],
        ),
    ];
    for (metadata, expected) in rows {
        let (path, object) = template("default", metadata, false);
        let answer = post(client, &path, object);
        assert_eq!(fields(&answer), expected, "{}", answer.text());
    }
    let slice = |counters: Value, devices: Value| {
        json!({"metadata": {"name": "a"}, "spec": {
            "driver": "d.example.com", "allNodes": true, "sharedCounters": counters, "devices": devices,
            "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1}}})
    };
    let counters = || json!([{"name": "c", "counters": {"memory": {"value": "1Gi"}}}]);
    for (counters, devices, expected) in [
        (counters(), Value::Null, vec![]),
        (json!([]), json!([]), vec![]),
        (counters(), json!([]), vec!["spec"]),
        (json!([]), json!([{"name": "d"}]), vec!["spec"]),
    ] {
        let answer = post(client, &format!("{RESOURCE}/resourceslices"), slice(counters, devices));
        assert_eq!(fields(&answer), expected, "{}", answer.text());
    }
    let pod = |overhead: Value| {
        let containers = json!([{"name": "c", "image": "i"}]);
        json!({"metadata": {"name": "a"}, "spec": {"containers": containers, "overhead": overhead}})
    };
    let account = json!({"metadata": {"name": "default"}});
    client.post(&format!("{DEFAULT}/serviceaccounts"), &account).answer();
    post(client, &format!("{DEFAULT}/pods"), pod(Value::Null)).expect(201);
    post(client, &format!("{DEFAULT}/pods"), pod(json!({}))).expect(403);
}

#[test]
fn a_namespace_allows_admin_access() {
    let installation = Installation::new();
    let process = serve(&installation);
    let client = &mut process.endpoint().client();
    let labels = json!({"resource.kubernetes.io/admin-access": "true"});
    let namespace = json!({"metadata": {"name": "open", "labels": labels}});
    client.post("/api/v1/namespaces", &namespace).expect_status(201);
    for (namespace, admin, expected) in [
        ("default", false, vec![]),
        ("default", true, vec!["spec.devices.requests[0].adminAccess"]),
        ("open", true, vec![]),
    ] {
        let (path, object) = template(namespace, json!({}), admin);
        let answer = post(client, &path, object);
        assert_eq!(fields(&answer), expected, "{}", answer.text());
    }
}

#[test]
fn a_plugin_that_is_off_does_not_act() {
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (flags, expected) in [
        (["--disable-admission-plugins", "ServiceAccount"], 201),
        (["--enable-admission-plugins", "ServiceAccount"], 403),
    ] {
        let installation = Installation::new();
        let process = installation.start_with(&flags);
        post(&mut process.endpoint().client(), &format!("{DEFAULT}/pods"), pod.clone()).expect(expected);
    }
}

#[test]
fn addresses_are_generated_without_a_suffix() {
    let server = InProcess::start();
    let client = &mut server.client();
    let parent = json!({"resource": "services", "namespace": "default", "name": "a"});
    let address = |prefix: &str| json!({"metadata": {"generateName": prefix}, "spec": {"parentRef": parent}});
    let path = "/apis/networking.k8s.io/v1/ipaddresses";
    let made = client.post(path, &address("192.0.2.7")).expect_status(201);
    assert_eq!(made["metadata"]["name"], "192.0.2.7");
    client.post(path, &address("192.0.2.7")).expect_status(409);
    let refused = client.post(path, &address("x-")).expect_status(422);
    assert_eq!(refused["details"]["name"], "x-");
}

#[test]
fn a_name_is_taken_though_one_could_be_generated() {
    let server = InProcess::start();
    let client = &mut server.client();
    let path = format!("{DEFAULT}/configmaps");
    let object = json!({"metadata": {"generateName": "a-", "name": "b"}});
    client.post(&path, &object).expect_status(201);
    let refused = client.post(&path, &object).answer();
    assert_eq!(refused.header("retry-after"), "1");
    let refused = refused.expect(409);
    let message = "configmaps \"b\" already exists, the server was not able to generate a unique name for the object";
    assert_eq!(refused["message"], message);
    assert_eq!(refused["details"]["retryAfterSeconds"], 1);
}

#[test]
fn a_binding_is_validated_and_its_pod_is_not() {
    let installation = Installation::new();
    let process = serve(&installation);
    let client = &mut process.endpoint().client();
    client.post(&format!("{DEFAULT}/serviceaccounts"), &json!({"metadata": {"name": "default"}})).answer();
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(&format!("{DEFAULT}/pods"), &pod).expect_status(201);
    let conditions = json!([{"type": "PodScheduled", "status": "False"}, {"type": "Ready", "status": "False"}]);
    let status = json!({"status": {"nominatedNodeName": "n", "conditions": conditions}}).to_string();
    let merge = "application/merge-patch+json";
    let patched = client.send("PATCH", &format!("{DEFAULT}/pods/p/status"), merge, status.as_bytes());
    patched.expect_status(200);
    let bind = |uid: &str, target: Value| {
        let labels = json!({"a": "b"});
        let metadata = json!({"name": "p", "uid": uid, "labels": labels, "annotations": {"not a key": "v"}});
        json!({"metadata": metadata, "target": target})
    };
    let path = format!("{DEFAULT}/pods/p/binding");
    client.post(&path, &bind("", json!({}))).expect_status(500);
    let refused = client.post(&path, &bind("other", json!({"name": "n"}))).expect_status(409);
    assert_eq!(refused["details"]["kind"], "pods");
    client.post(&path, &bind("", json!({"name": "n"}))).expect_status(201);
    let refused = client.post(&path, &bind("", json!({"name": "n"}))).expect_status(409);
    assert_eq!(refused["details"]["kind"], "pods/binding");
    let pod = client.get(&format!("{DEFAULT}/pods/p")).expect_status(200);
    assert_eq!(pod["metadata"]["annotations"]["not a key"], "v");
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(pod["spec"]["nodeName"], "n");
    assert_eq!(pod["status"]["nominatedNodeName"], Value::Null);
    let conditions = [&pod["status"]["conditions"][0], &pod["status"]["conditions"][1]];
    let reported = conditions.map(|condition| [&condition["type"], &condition["status"]].map(|text| text.as_str()));
    assert_eq!(reported, [["PodScheduled", "True"], ["Ready", "False"]].map(|row| row.map(Some)), "in their places");
}
