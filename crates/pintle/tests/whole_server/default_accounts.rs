//! Pods created before the service account of their namespace, which a controller creates a moment later. Guarantees that such
//! a pod is admitted when the account appears, and rejected with kube-apiserver's message otherwise. Must never depend on
//! timing: a round in which the account came too late is repeated.

use crate::common::http::{Answer, Client};
use crate::common::in_process::InProcess;
use serde_json::json;
use std::thread;

const ROUNDS: usize = 20;
const WAITING: &str = "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1";

fn namespace(client: &mut Client, name: &str) {
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).expect("an answer").expect(201);
}

fn post_pod(client: &mut Client, namespace: &str, account: &str) -> Answer {
    let spec = json!({"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    client.post(&format!("/api/v1/namespaces/{namespace}/pods"), &pod).expect("an answer")
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
            is_waiting = admin.get("/metrics").expect("an answer").text().contains(WAITING);
        }
        let account = json!({"metadata": {"name": "default"}});
        admin.post(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &account).expect("an answer").expect(201);
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
