//! How the server divides itself between two users whose priority levels have one seat each: one sends over 51 connections, the
//! other over 3. Prints how much each got, how long its requests waited for seats, and how busy the seats were. Guarantees that
//! both send the same request to one server. Must never run with the tests.
//!
//! `cargo bench -p pintle-cli --bench tenants`; with `PINTLE_TEST_PROGRAM` another build of the server is measured. Server and clients
//! should have processors of their own: as long as the clients are slower than the server, no seat is ever waited for, and
//! each client gets the same.

#[path = "../tests/whole_server/common/mod.rs"]
mod common;

use common::http::Endpoint;
use common::process::{ADMIN_TOKEN, Installation, Process};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TENANTS: [(&str, usize); 2] = [("elephant", 51), ("mouse", 3)];
const MEASURED: Duration = Duration::from_secs(10);

fn endpoint(process: &Process, user: &str) -> Endpoint {
    Endpoint { token: Some(format!("{user}-token")), ..process.endpoint() }
}

/// Gives a user a priority level of one share whose queues hold all of its requests.
fn create_level(process: &Process, user: &str) {
    let mut client = process.endpoint().client();
    let metadata = json!({"name": user});
    let queuing = json!({"queues": 100, "handSize": 1, "queueLengthLimit": 60});
    let limited = json!({
        "nominalConcurrencyShares": 1, "borrowingLimitPercent": 0, "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": queuing}
    });
    let level = json!({"metadata": metadata, "spec": {"type": "Limited", "limited": limited}});
    let rule = json!({
        "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true
    });
    let schema = json!({"metadata": metadata, "spec": {
        "matchingPrecedence": 1000, "priorityLevelConfiguration": metadata, "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"resourceRules": [rule], "subjects": [{"kind": "User", "user": metadata}]}]
    }});
    for (resource, object) in [("prioritylevelconfigurations", level), ("flowschemas", schema)] {
        let path = format!("/apis/flowcontrol.apiserver.k8s.io/v1/{resource}");
        client.post(&path, &object).expect("an answer").expect(201);
    }
}

/// The sum of a metric's samples that have all of the labels.
fn metric(text: &str, name: &str, labels: &[&str]) -> f64 {
    let samples = text.lines().filter(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
            && labels.iter().all(|label| line.contains(label))
    });
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

fn main() {
    let installation = Installation::own();
    let users = TENANTS.map(|(user, _)| format!("{user}-token,{user},{user}\n")).concat();
    std::fs::write(installation.path("tokens.csv"), format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n{users}"))
        .expect("the tokens");
    let process = installation.start_with(&[
        "--controllers=-*",
        "--authorization-mode=AlwaysAllow",
        "--max-requests-inflight=1",
        "--max-mutating-requests-inflight=1",
    ]);
    for (user, _) in TENANTS {
        create_level(&process, user);
    }
    let ends = AtomicBool::new(false);
    let waited = TENANTS.map(|_| AtomicU64::new(0));
    thread::scope(|scope| {
        for ((user, connections), waited) in TENANTS.iter().zip(&waited) {
            for _ in 0..*connections {
                let (process, ends) = (&process, &ends);
                scope.spawn(move || {
                    let mut client = endpoint(process, user).client();
                    while !ends.load(Ordering::Relaxed) {
                        let sent = Instant::now();
                        client.get("/api/v1/namespaces").expect("an answer").expect(200);
                        waited.fetch_add(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(0), Ordering::Relaxed);
                    }
                });
            }
        }
        thread::sleep(MEASURED);
        ends.store(true, Ordering::Relaxed);
    });
    let text = process.endpoint().client().get("/metrics").expect("an answer").text();
    println!(
        "{:<10} {:>11} {:>9} {:>12} {:>14} {:>12}",
        "user", "connections", "answers", "mean ms", "for seats, ms", "seat busy %"
    );
    for ((user, connections), waited) in TENANTS.iter().zip(&waited) {
        let level = format!("priority_level=\"{user}\"");
        let of = |name: &str| metric(&text, name, &[level.as_str()]);
        let answers = of("apiserver_flowcontrol_dispatched_requests_total");
        let for_seats = metric(
            &text,
            "apiserver_flowcontrol_request_wait_duration_seconds_sum",
            &[level.as_str(), "execute=\"true\""],
        );
        let busy = of("apiserver_flowcontrol_request_execution_seconds_sum") / MEASURED.as_secs_f64();
        let mean = waited.load(Ordering::Relaxed) as f64 / 1e6 / answers.max(1.0);
        println!(
            "{user:<10} {connections:>11} {answers:>9} {mean:>12.2} {:>14.3} {:>12.1}",
            for_seats * 1e3 / answers.max(1.0),
            busy * 100.0
        );
    }
}
