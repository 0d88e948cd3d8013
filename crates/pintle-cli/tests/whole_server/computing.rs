//! Requests that compute for long, on a server with one worker thread. Guarantees that others are answered before they end. Must
//! never judge by time: what counts is the order of answers.

use crate::common::http::Answered;
use crate::common::http::Endpoint;
use crate::common::process::Installation;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

const OBJECTS: usize = 200;

/// So many short requests have to be answered while a long one is worked on.
const MEANWHILE: usize = 10;

/// A selector of as many bytes as a URL may have; each object is compared with every part of it.
fn long_selector() -> String {
    let parts: Vec<String> = (0..7000).map(|n| format!("l{n:05}%21%3Dv")).collect();
    parts.join(",").get(..60_000).and_then(|text| Some(text.rsplit_once(',')?.0)).expect("it is longer").to_owned()
}

/// Sends a long request, and short ones until it is answered. Returns how many were answered before it.
fn answered_meanwhile(endpoint: &Endpoint, path: &str, accept: &str) -> usize {
    let answered = AtomicUsize::new(0);
    let (ended, end) = mpsc::channel();
    thread::scope(|scope| {
        let mut short = endpoint.client();
        assert_eq!(short.get("/livez").answer().status, 200);
        scope.spawn(move || {
            let mut long = endpoint.client().with_header("Accept", accept);
            let answer = long.get(path).answer();
            let _ = ended.send(answer.status);
        });
        loop {
            match end.try_recv() {
                Ok(status) => break assert_eq!(status, 200, "{path}"),
                Err(_) => {
                    assert_eq!(short.get("/livez").answer().status, 200);
                    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
                    assert_eq!(short.get(lease).answer().status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    answered.into_inner()
}

#[test]
fn long_requests_leave_the_worker_thread_to_others() {
    let installation = Installation::own();
    let server = installation.start_with(&["--worker-threads=1"]);
    let endpoint = server.endpoint();
    let mut client = endpoint.client();
    for n in 0..OBJECTS {
        let object = json!({
            "metadata": {"name": format!("c{n}"), "labels": {"app": "a", "tier": "b"}}, "data": {"key": "x".repeat(2000)}
        });
        client.post("/api/v1/namespaces/default/configmaps", &object).expect_status(201);
    }
    let path = "/api/v1/namespaces/default/configmaps";
    let selector = long_selector();
    for (query, accept) in [
        (format!("?labelSelector={selector}"), "application/json"),
        (format!("?watch=1&timeoutSeconds=1&labelSelector={selector}"), "application/json"),
    ] {
        let short = answered_meanwhile(&endpoint, &format!("{path}{query}"), accept);
        let query = query.get(..40).unwrap_or_default();
        assert!(short >= MEANWHILE, "{short} short requests were answered meanwhile: {query} {accept}");
    }
}
