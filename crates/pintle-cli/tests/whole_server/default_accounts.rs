//! Pods created before the service account of their namespace, which a controller creates a moment later. Guarantees that such
//! a pod is admitted when the account appears, and rejected with kube-apiserver's message otherwise. Must never depend on
//! timing: a round in which the account came too late is repeated.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, Endpoint};
use crate::common::in_process::InProcess;
use crate::common::process::Installation;
use crate::common::wait_for;
use pintle::TestServer;
use serde_json::json;
use std::thread;
use tokio::runtime::Runtime;

const ROUNDS: usize = 20;
const WAITING: &str = "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1";

fn namespace(client: &mut Client, name: &str) {
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).expect_status(201);
}

fn post_pod(client: &mut Client, namespace: &str, account: &str) -> Answer {
    let spec = json!({"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    client.post(&format!("/api/v1/namespaces/{namespace}/pods"), &pod).answer()
}

#[test]
fn a_pod_waits_for_the_default_account_of_a_new_namespace() {
    let server = InProcess::start();
    let mut admin = server.client();
    for round in 0..ROUNDS {
        let name = format!("n{round}");
        namespace(&mut admin, &name);
        let mut other = server.client();
        let pod = thread::spawn({
            let name = name.clone();
            move || post_pod(&mut other, &name, "")
        });
        let mut is_waiting = false;
        while !is_waiting && !pod.is_finished() {
            is_waiting = admin.get("/metrics").answer().text().contains(WAITING);
        }
        let account = json!({"metadata": {"name": "default"}});
        admin.post(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &account).expect_status(201);
        let answer = pod.join().expect("no panic");
        if is_waiting && answer.status == 201 {
            assert_eq!(answer.json()["spec"]["serviceAccountName"], "default");
            return;
        }
    }
    panic!("no pod of {ROUNDS} waited for its account");
}

#[test]
fn a_pod_without_an_account_is_refused() {
    let server = InProcess::start();
    let mut admin = server.client();
    namespace(&mut admin, "n");
    for (account, name) in [("", "default"), ("default", "default"), ("other", "other")] {
        let status = post_pod(&mut admin, "n", account).expect(403);
        let why = format!(
            "pods \"p\" is forbidden: error looking up service account n/{name}: serviceaccount \"{name}\" not found"
        );
        assert_eq!(status["message"], why.as_str());
    }
}

/// The rules of a cluster role.
fn rules(client: &mut Client, role: &str) -> usize {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let role = client.get(&path).expect_status(200);
    role["rules"].as_array().map_or(0, Vec::len)
}

/// The namespace `default` is ready when the server serves; the others are soon, and a pod waits for its account.
fn check_useful_alone(client: &mut Client, has_certificate: bool) {
    post_pod(client, "default", "").expect(201);
    if has_certificate {
        let bundle = client.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt").expect_status(200);
        assert!(bundle["data"]["ca.crt"].as_str().is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE")));
    }
    namespace(client, "n");
    let pod = post_pod(client, "n", "").expect(201);
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    wait_for("the aggregated roles", || {
        ["admin", "edit", "view"].iter().all(|role| rules(client, role) > 0).then_some(())
    });
}

#[test]
fn a_server_without_a_command_is_useful_alone() {
    let installation = Installation::own();
    for _ in 0..2 {
        // A second start finds all there.
        let process = installation.start_alone(&[""; 0]);
        let client = &mut process.endpoint().client();
        check_useful_alone(client, true);
        for namespace in ["default", "n"] {
            client.delete(&format!("/api/v1/namespaces/{namespace}/pods/p?gracePeriodSeconds=0")).expect_status(200);
        }
        client.delete("/api/v1/namespaces/n").expect_status(200);
        wait_for("the end of the namespace", || {
            (client.get("/api/v1/namespaces/n").answer().status == 404).then_some(())
        });
    }
}

#[test]
fn a_test_server_is_useful_alone() {
    let runtime = Runtime::new().expect("a runtime");
    let server = runtime.block_on(TestServer::start()).expect("a server");
    let endpoint = Endpoint { address: server.address(), tls: None, token: None };
    check_useful_alone(&mut endpoint.client(), false);
    runtime.block_on(server.stop()).expect("an orderly end");
}

#[test]
fn a_server_in_place_of_kube_apiserver_leaves_accounts_to_others() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let client = &mut process.endpoint().client();
    let status = post_pod(client, "default", "").expect(403);
    let why = "pods \"p\" is forbidden: error looking up service account default/default: serviceaccount \"default\" not found";
    assert_eq!((&status["message"], rules(client, "view")), (&json!(why), 0));
    client.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt").expect_status(404);
}
