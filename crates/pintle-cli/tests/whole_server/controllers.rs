//! The controllers of a whole server: in this process, acting at once; and in the real binary, across restarts. Guarantees that
//! controllers work without another process, and that `--controllers=` disables them. Must never depend on when a controller
//! acts.

use crate::common::http::Answered;
use crate::common::http::{Client, JSON};
use crate::common::in_process::InProcess;
use crate::common::kubectl::Kubectl;
use crate::common::process::{Installation, Process};
use crate::common::{name, wait_for};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create(client: &mut Client, path: &str, metadata: Value) -> String {
    let created = client.post(path, &json!({ "metadata": metadata })).expect_status(201);
    created["metadata"]["uid"].as_str().expect("a uid").to_owned()
}

/// A config map and one that it owns.
fn family(client: &mut Client) {
    let uid = create(client, CONFIG_MAPS, json!({"name": "owner"}));
    let owner =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": true});
    create(client, CONFIG_MAPS, json!({"name": "child", "ownerReferences": [owner]}));
}

fn exists(client: &mut Client, path: &str) -> bool {
    match client.get(path).answer().status {
        200 => true,
        404 => false,
        status => panic!("{path}: {status}"),
    }
}

fn wait_until_gone(client: &mut Client, path: &str) {
    wait_for(&format!("{path} to be gone"), || (!exists(client, path)).then_some(()));
}

fn delete(client: &mut Client, path: &str, options: Value) -> Value {
    client.send("DELETE", path, JSON, options.to_string().as_bytes()).expect_status(200)
}

fn child() -> String {
    format!("{CONFIG_MAPS}/child")
}

fn owner() -> String {
    format!("{CONFIG_MAPS}/owner")
}

#[test]
fn propagation_policies_are_carried_out() {
    for policy in ["Background", "Foreground"] {
        let server = InProcess::start();
        let mut client = server.client();
        family(&mut client);
        delete(&mut client, &owner(), json!({ "propagationPolicy": policy }));
        wait_until_gone(&mut client, &child());
        wait_until_gone(&mut client, &owner());
    }
    let server = InProcess::start();
    let mut client = server.client();
    family(&mut client);
    delete(&mut client, &owner(), json!({"propagationPolicy": "Orphan"}));
    wait_until_gone(&mut client, &owner());
    let child = client.get(&child()).expect_status(200);
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

#[test]
fn a_namespace_goes_with_everything_in_it() {
    let server = InProcess::start();
    let mut client = server.client();
    create(&mut client, "/api/v1/namespaces", json!({"name": "shop"}));
    create(&mut client, "/api/v1/namespaces/shop/configmaps", json!({"name": "a"}));
    create(&mut client, "/api/v1/namespaces/shop/secrets", json!({"name": "b"}));
    let deleted = client.delete("/api/v1/namespaces/shop").expect_status(200);
    assert_eq!(deleted["status"]["phase"], "Terminating");
    wait_until_gone(&mut client, "/api/v1/namespaces/shop");
    create(&mut client, "/api/v1/namespaces", json!({"name": "shop"}));
    for path in ["/api/v1/namespaces/shop/configmaps/a", "/api/v1/namespaces/shop/secrets/b"] {
        assert!(!exists(&mut client, path), "{path}");
    }
}

/// The name of the server's lease.
fn identity(client: &mut Client) -> String {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let leases = client.get(leases).expect_status(200);
    let lease = &leases["items"][0];
    assert_eq!(lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"], "kube-apiserver", "{leases}");
    name(lease).to_owned()
}

#[test]
fn bootstrap_objects_are_restored() {
    let server = InProcess::start();
    let mut client = server.client();
    let range = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
    let paths = [
        &format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{}", identity(&mut client)),
        "/api/v1/namespaces/kube-node-lease",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/service-accounts",
        range,
        "/api/v1/namespaces/default/endpoints/kubernetes",
        // Its endpoints would go with it.
        "/api/v1/namespaces/default/services/kubernetes",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
    ];
    let before = paths.map(|path| client.get(path).expect_status(200));
    for path in paths {
        delete(&mut client, path, json!({}));
    }
    for (path, before) in paths.iter().zip(before) {
        let after = wait_for(path, || {
            let answer = client.get(path).ok()?;
            let after = (answer.status == 200).then(|| answer.json())?;
            // What waits to be deleted is not back yet.
            (after["metadata"]["uid"] != before["metadata"]["uid"]).then_some(after)
        });
        if !path.contains("/leases/") {
            assert_eq!((&after["spec"], &after["data"]), (&before["spec"], &before["data"]), "{path}");
        }
    }
    let address = client.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.1").expect_status(200);
    assert_eq!(address["spec"]["parentRef"]["name"], "kubernetes");
    let range = client.get(range).expect_status(200);
    assert_eq!(range["status"]["conditions"][0]["type"], "Ready");
}

fn serve(installation: &Installation, controllers: &str) -> Process {
    installation.start_with(&[format!("--controllers={controllers}")])
}

#[test]
fn without_controllers_things_stay_and_with_them_they_go_on() {
    let installation = Installation::new();
    let mut process = serve(&installation, "");
    let mut client = process.endpoint().client();
    family(&mut client);
    create(&mut client, "/api/v1/namespaces", json!({"name": "shop"}));
    create(&mut client, "/api/v1/namespaces/shop/configmaps", json!({"name": "a"}));
    create(&mut client, CONFIG_MAPS, json!({"name": "held", "finalizers": ["foregroundDeletion"]}));
    delete(&mut client, &owner(), json!({}));
    client.delete("/api/v1/namespaces/shop").expect_status(200);
    delete(&mut client, &format!("{CONFIG_MAPS}/held"), json!({}));
    process.kill();
    // Nothing has happened before the second start either: no controller ran.
    let mut process = serve(&installation, "-namespace,event-ttl");
    let mut client = process.endpoint().client();
    for path in [child(), "/api/v1/namespaces/shop/configmaps/a".to_owned(), format!("{CONFIG_MAPS}/held")] {
        assert!(exists(&mut client, &path), "{path}");
    }
    process.kill();
    let process = serve(&installation, "*");
    let mut client = process.endpoint().client();
    wait_until_gone(&mut client, &child());
    wait_until_gone(&mut client, "/api/v1/namespaces/shop");
    wait_until_gone(&mut client, &format!("{CONFIG_MAPS}/held"));
}

#[test]
fn kubectl_waits_for_a_namespace_to_go() {
    let Some(kubectl) = Kubectl::start() else { return };
    for line in [
        "create namespace shop",
        "-n shop create configmap a",
        "-n shop create deployment web --image=example.com/web",
        "delete namespace shop --wait=true --timeout=50s",
    ] {
        kubectl.run(line);
    }
    assert!(!exists(&mut kubectl.process.endpoint().client(), "/api/v1/namespaces/shop"));
}
