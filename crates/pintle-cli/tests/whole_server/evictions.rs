//! Evictions and disruption budgets. Guarantees that only a budget's status decides, that a disruption is subtracted
//! from it, and that a rejected eviction changes nothing.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, MERGE_PATCH};
use crate::common::in_process::InProcess;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

fn patch_status(client: &mut Client, path: &str, status: Value) {
    let body = json!({"status": status}).to_string();
    client.send("PATCH", &format!("{path}/status"), MERGE_PATCH, body.as_bytes()).expect_status(200);
}

fn pod(client: &mut Client, name: &str, phase: &str, ready: &str) {
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": name, "labels": {"app": "a"}}, "spec": spec});
    client.post(PODS, &pod).expect_status(201);
    let status = json!({"phase": phase, "conditions": [{"type": "Ready", "status": ready}]});
    patch_status(client, &format!("{PODS}/{name}"), status);
}

fn budget(client: &mut Client, name: &str, spec: Value, status: Value) {
    client.post(BUDGETS, &json!({"metadata": {"name": name}, "spec": spec})).expect_status(201);
    patch_status(client, &format!("{BUDGETS}/{name}"), status);
}

fn selecting(selector: Value) -> Value {
    json!({"minAvailable": 1, "selector": selector})
}

fn evict(client: &mut Client, name: &str, query: &str) -> Answer {
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    client.post(&format!("{PODS}/{name}/eviction{query}"), &eviction).answer()
}

fn get(client: &mut Client, path: &str) -> Value {
    client.get(path).expect_status(200)
}

#[test]
fn warnings_are_returned_with_errors_of_actions() {
    let (_server, mut client) = InProcess::for_pods();
    let node = json!({"kind": "Node", "name": "n"});
    for path in [&format!("{PODS}/p/eviction"), &format!("{PODS}/p/binding"), "/api/v1/namespaces/default/bindings"] {
        let body = json!({"metadata": {"name": "p"}, "target": node, "bogus": 1});
        let refused = client.post(path, &body).answer();
        refused.expect(404);
        assert!(refused.header("warning").contains("unknown field"), "{path}: {:?}", refused.headers);
    }
}

#[test]
fn options_of_an_eviction_agree_with_its_request() {
    let (_server, mut client) = InProcess::for_pods();
    pod(&mut client, "p", "Running", "True");
    let mut refused = |query: &str, options: Value| {
        let eviction = json!({"metadata": {"name": "p"}, "deleteOptions": options});
        let answer = client.post(&format!("{PODS}/p/eviction{query}"), &eviction).answer();
        (answer.status, answer.json()["message"].as_str().unwrap_or_default().to_owned())
    };
    let (code, message) = refused("", json!({"ignoreStoreReadErrorWithClusterBreakingPotential": true}));
    let field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential";
    let expected = format!(
        "Eviction.policy \"p\" is invalid: {field}: Invalid value: true: can not be set for pod eviction, try after \
         removing the option"
    );
    assert_eq!((code, message), (422, expected));
    let (code, message) = refused("?dryRun=All", json!({"dryRun": ["All", "All"]}));
    let expected = "Non-matching dry-run options in request and content: [All] and [All All]".to_owned();
    assert_eq!((code, message), (500, expected));
    assert_eq!(refused("?dryRun=All", json!({"dryRun": ["All"]})).0, 201);
}

#[test]
fn a_budget_that_allows_nothing_refuses() {
    let (_server, mut client) = InProcess::for_pods();
    pod(&mut client, "p", "Running", "True");
    let rows = [
        (json!({"observedGeneration": 0}), "The disruption budget b is still being processed by the server.", "10"),
        (
            json!({"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 2}),
            "The disruption budget b needs 2 healthy pods and has 1 currently",
            "",
        ),
        (
            json!({"observedGeneration": 1, "currentHealthy": 3, "desiredHealthy": 2}),
            "The disruption budget b does not allow evicting pods currently",
            "",
        ),
        (
            json!({"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 2, "conditions": [{
                "type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale",
                "lastTransitionTime": "2026-01-01T00:00:00Z"
            }]}),
            "The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
            "",
        ),
    ];
    budget(&mut client, "b", selecting(json!({})), json!({}));
    for (status, cause, retry_after) in rows {
        patch_status(&mut client, &format!("{BUDGETS}/b"), status);
        let before = [get(&mut client, &format!("{PODS}/p")), get(&mut client, &format!("{BUDGETS}/b"))];
        let answer = evict(&mut client, "p", "");
        let refusal = answer.expect(429);
        assert_eq!(refusal["message"], "Cannot evict pod as it would violate the pod's disruption budget.");
        assert_eq!(refusal["details"]["causes"], json!([{"reason": "DisruptionBudget", "message": cause}]));
        assert_eq!(answer.header("retry-after"), retry_after);
        assert_eq!(before, [get(&mut client, &format!("{PODS}/p")), get(&mut client, &format!("{BUDGETS}/b"))]);
    }
}

#[test]
fn a_disruption_is_subtracted_from_the_budget_and_set_in_the_pods_conditions() {
    let (_server, mut client) = InProcess::for_pods();
    for name in ["p", "q"] {
        pod(&mut client, name, "Running", "True");
    }
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1});
    budget(&mut client, "b", selecting(json!({"matchLabels": {"app": "a"}})), status);
    let path = format!("{BUDGETS}/b");
    let before = get(&mut client, &path);
    evict(&mut client, "p", "?dryRun=All").expect(201);
    assert_eq!(get(&mut client, &path), before);
    evict(&mut client, "p", "").expect(201);
    let status = &get(&mut client, &path)["status"];
    assert_eq!(status["disruptionsAllowed"], 0);
    assert!(status["disruptedPods"]["p"].is_string(), "{status}");
    assert_eq!(status["conditions"][0]["reason"], "InsufficientPods", "{status}");
    let pod = get(&mut client, &format!("{PODS}/p"));
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    assert_eq!(pod["status"]["conditions"][1]["reason"], "EvictionByEvictionAPI", "{pod}");
    // None is left for the next, but who goes already may be asked to again.
    evict(&mut client, "q", "").expect(429);
    evict(&mut client, "p", "").expect(201);
}

#[test]
fn some_pods_need_no_budget_s_leave() {
    let (_server, mut client) = InProcess::for_pods();
    let none_left = json!({"observedGeneration": 1, "currentHealthy": 0, "desiredHealthy": 1});
    budget(&mut client, "b", selecting(json!({})), none_left);
    for (name, phase, ready, expected) in [
        ("pending", "Pending", "False", 201),
        ("over", "Succeeded", "False", 201),
        ("ready", "Running", "True", 429),
        ("unready", "Running", "False", 429),
    ] {
        pod(&mut client, name, phase, ready);
        evict(&mut client, name, "").expect(expected);
    }
    let enough = json!({"currentHealthy": 1, "desiredHealthy": 1});
    patch_status(&mut client, &format!("{BUDGETS}/b"), enough);
    evict(&mut client, "unready", "").expect(201);
    assert!(get(&mut client, &format!("{BUDGETS}/b"))["status"].get("disruptedPods").is_none());
    evict(&mut client, "ready", "").expect(429);
    budget(&mut client, "c", selecting(json!({})), json!({"observedGeneration": 1, "disruptionsAllowed": 5}));
    let mut with_options = |query: &str, options: Value| {
        let metadata = json!({"name": "ready"});
        let eviction =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options});
        client.post(&format!("{PODS}/ready/eviction{query}"), &eviction).answer()
    };
    with_options("", json!({"ignoreStoreReadErrorWithClusterBreakingPotential": true})).expect(422);
    let differs = with_options("?dryRun=All", json!({"dryRun": ["x"]})).expect(500);
    assert_eq!(differs["message"], "Non-matching dry-run options in request and content: [All] and [x]");
    let failure = evict(&mut client, "ready", "").expect(500);
    let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!((&failure["message"], &failure["code"]), (&json!(why), &json!(500)));
    assert!(get(&mut client, &format!("{PODS}/ready"))["metadata"].get("deletionTimestamp").is_none());
}
