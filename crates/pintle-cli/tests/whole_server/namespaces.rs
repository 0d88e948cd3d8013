//! What becomes of creations that are under way while their namespace is deleted or changed: a webhook of the test holds them until
//! the test has done that. Guarantees that nothing exists in a namespace that is gone. Must never depend on how long anything takes.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::{Answer, Client, MERGE_PATCH};
use crate::common::stores;
use crate::common::{name, wait_for};
use bytes::Bytes;
use http::Response;
use pintle_webhook::InProcess;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use tokio::sync::Semaphore;

const NAMESPACES: &str = "/api/v1/namespaces";
const APPLY: &str = "application/apply-patch+yaml";

/// A webhook that says when it is called, and allows when it may.
fn holding(called: mpsc::Sender<()>, allowed: Arc<Semaphore>) -> InProcess {
    let called = Mutex::new(called);
    InProcess::new(move |request| {
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let response = json!({"uid": review["request"]["uid"], "allowed": true});
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        // The test may have ended.
        let _ = called.lock().expect("no panic").send(());
        let allowed = allowed.clone();
        async move {
            allowed.acquire().await.expect("it stays open").forget();
            Response::new(Bytes::from(answer.to_string()))
        }
    })
}

fn configure(client: &mut Client, url: &str) {
    let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    // What the controllers put in new namespaces is not held.
    let condition = json!({"name": "held", "expression": "object.metadata.name == 'held'"});
    let configuration = json!({
        "metadata": {"name": "hooks"},
        "webhooks": [{
            "name": "w.example.com",
            "clientConfig": {"url": url},
            "rules": [rule],
            "matchConditions": [condition],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    client.post(path, &configuration).expect_status(201);
}

/// How a config map is created.
#[derive(Clone, Copy, Debug)]
enum By {
    Post,
    Apply,
}

fn create(client: &mut Client, namespace: &str, by: By) -> Answer {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held"}});
    let path = format!("{NAMESPACES}/{namespace}/configmaps");
    match by {
        By::Post => client.post(&path, &object),
        By::Apply => {
            let path = format!("{path}/held?fieldManager=m");
            client.send("PATCH", &path, APPLY, object.to_string().as_bytes())
        }
    }
    .answer()
}

fn config_maps(client: &mut Client, namespace: &str) -> Vec<String> {
    let list = client.get(&format!("{NAMESPACES}/{namespace}/configmaps")).expect_status(200);
    list["items"].as_array().into_iter().flatten().map(|item| name(item).to_owned()).collect()
}

/// What happens to the namespace while the creation is held.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    /// It is deleted, and gone.
    Gone,
    /// It is being deleted, and something in it has a finalizer.
    Terminating,
    Labelled,
}

fn do_meanwhile(client: &mut Client, namespace: &str, what: Meanwhile) {
    let path = format!("{NAMESPACES}/{namespace}");
    match what {
        Meanwhile::Labelled => {
            let patch = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
            client.send("PATCH", &path, MERGE_PATCH, patch.as_bytes()).expect_status(200);
        }
        Meanwhile::Terminating => {
            let metadata = json!({"name": "kept", "finalizers": ["example.com/kept"]});
            let kept = json!({ "metadata": metadata });
            client.post(&format!("{path}/secrets"), &kept).expect_status(201);
            client.delete(&path).expect_status(200);
        }
        Meanwhile::Gone => {
            client.delete(&path).expect_status(200);
            wait_for("the namespace to be gone", || (client.get(&path).answer().status == 404).then_some(()));
        }
    }
}

#[test]
fn nothing_is_stored_in_a_namespace_that_is_gone() {
    let (called, calls) = mpsc::channel();
    let allowed = Arc::new(Semaphore::new(0));
    let mut url = String::new();
    let mut etcd = None;
    let store = || {
        let (store, started) = stores::store().expect("a store");
        etcd = started;
        store
    };
    let fixture = Fixture::over(store, |builder| {
        url = builder.webhooks().register("w", holding(called, allowed.clone()));
    });
    let mut client = fixture.client();
    configure(&mut client, &url);
    let mut number = 0;
    for what in [Meanwhile::Gone, Meanwhile::Terminating, Meanwhile::Labelled] {
        for (by, has_quota) in [(By::Post, false), (By::Apply, false), (By::Post, true)] {
            number += 1;
            let namespace = format!("n{number}");
            let row = format!("{what:?} {by:?} {has_quota}");
            let new = || json!({"metadata": {"name": namespace.as_str()}});
            client.post(NAMESPACES, &new()).expect_status(201);
            if has_quota {
                let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "100"}}});
                let path = format!("{NAMESPACES}/{namespace}/resourcequotas");
                client.post(&path, &quota).expect_status(201);
                wait_for("the usage", || {
                    let quota = client.get(&format!("{path}/q")).expect_status(200);
                    quota["status"]["used"].is_object().then_some(())
                });
            }
            let mut held = fixture.client();
            let answer = std::thread::scope(|scope| {
                let creation = scope.spawn(|| create(&mut held, &namespace, by));
                calls.recv().expect("the webhook is called");
                do_meanwhile(&mut client, &namespace, what);
                allowed.add_permits(1);
                creation.join().expect("no panic")
            });
            let is_stored = match what {
                Meanwhile::Gone => {
                    let refused = answer.expect(404);
                    assert_eq!(refused["message"], format!("namespaces \"{namespace}\" not found"), "{row}");
                    // Whatever is in it shows when there is a namespace of its name again.
                    client.post(NAMESPACES, &new()).expect_status(201);
                    false
                }
                Meanwhile::Terminating => {
                    let refused = answer.expect(403);
                    assert_eq!(refused["details"]["causes"][0]["reason"], "NamespaceTerminating", "{row}");
                    false
                }
                Meanwhile::Labelled => {
                    assert_eq!(answer.status, 201, "{row}");
                    true
                }
            };
            assert_eq!(config_maps(&mut client, &namespace).contains(&"held".to_owned()), is_stored, "{row}");
        }
    }
    assert!(calls.try_recv().is_err(), "admission was asked once for each");
    drop(fixture);
    drop(etcd);
}
