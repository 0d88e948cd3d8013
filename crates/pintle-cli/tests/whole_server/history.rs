//! Clients whose revision was compacted: slow watchers, old lists, late pages. Guarantees that each gets an error and
//! can continue, and that clients that keep up are not affected. Must never fill the bound with many small changes: few
//! large ones do it in seconds.

use crate::common::http::Answered;
use crate::common::in_process::InProcess;
use crate::common::resource_version;
use pintle_cache::limits::HISTORY_BYTES;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Nearly as much as a ConfigMap may hold.
const BYTES: usize = 1_000_000;
/// Enough to leave nothing of what was before, and of what a connection holds for a client that does not read.
const CHANGES: usize = HISTORY_BYTES / BYTES + 30;

fn object(name: &str, number: usize) -> Value {
    json!({"metadata": {"name": name}, "data": {"number": number.to_string(), "ballast": "x".repeat(BYTES)}})
}

fn number(object: &Value) -> usize {
    object["data"]["number"].as_str().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn clients_that_fall_behind_get_an_error_and_can_continue() {
    let server = InProcess::start();
    let mut client = server.client();
    for name in ["a", "b"] {
        client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}})).expect_status(201);
    }
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).expect_status(200);
    let version = resource_version(&page);
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let follow = || server.client().watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}"));
    let (mut quick, mut slow) = (follow().expect("a watch"), follow().expect("a watch"));
    for change in 0..CHANGES {
        client.put(&format!("{CONFIG_MAPS}/a"), &object("a", change)).expect_status(200);
        let (kind, seen) = quick.event();
        assert_eq!((kind.as_str(), number(&seen)), ("MODIFIED", change), "who keeps up sees each change");
    }

    // What the connection held comes in order, then the reason, then the end.
    let mut seen = 0;
    let status = loop {
        match slow.event() {
            (kind, object) if kind == "MODIFIED" => assert_eq!(number(&object), seen, "nothing is left out before"),
            (kind, status) => {
                assert_eq!(kind, "ERROR");
                break status;
            }
        }
        seen += 1;
    };
    assert_eq!((&status["code"], &status["reason"]), (&json!(410), &json!("Expired")));
    assert!(slow.next().expect("an end in good order").is_none());
    let ended = "apiserver_terminated_watchers_total{group=\"\",resource=\"configmaps\"} 1\n";
    let metrics = client.get("/metrics").answer().text();
    assert!(metrics.contains(ended), "{metrics}");

    // A late watch fails at once, and so do lists at the old revision.
    let (kind, status) = follow().expect("a watch").event();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    let exact = format!("{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    let status = client.get(&exact).expect_status(410);
    assert_eq!(status["message"], "The resourceVersion for the provided list is too old.");
    let status = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).expect_status(410);
    let fresh = status["metadata"]["continue"].as_str().expect("a token that goes on with what is there now");
    let rest = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={fresh}")).expect_status(200);
    let names: Vec<&str> = rest["items"].as_array().expect("items").iter().map(crate::common::name).collect();
    assert_eq!(names, ["b"]);

    // A client that lists again can watch from there.
    let list = client.get(CONFIG_MAPS).expect_status(200);
    let anew = format!("{CONFIG_MAPS}?watch=true&resourceVersion={}", resource_version(&list));
    let mut anew = server.client().watch(&anew).expect("a watch");
    client.delete(&format!("{CONFIG_MAPS}/b")).expect_status(200);
    assert_eq!(anew.event().0, "DELETED");
}
