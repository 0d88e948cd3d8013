//! Audit: which requests are recorded, and the effect of a failing log or webhook on requests. Guarantees that a failing or
//! hanging backend affects only requests whose mode requires it.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::{Installation, Process};
use crate::common::wait_for;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ID: &str = "11111111-2222-3333-4444-555555555555";

fn start(installation: &Installation, rules: &str, flags: &[&str]) -> Process {
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}\n");
    let policy = installation.scratch.write("policy.yaml", &policy);
    let policy = format!("--audit-policy-file={}", policy.display());
    installation.start_with(&[&["--storage=memory", "--controllers=", &policy], flags].concat())
}

/// The events in a log, which has whole lines only.
fn events(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "half a line: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn stages_of(events: &[Value], id: &str) -> Vec<String> {
    let own = events.iter().filter(|event| event["auditID"] == id);
    own.map(|event| event["stage"].as_str().unwrap_or_default().to_owned()).collect()
}

fn metric(client: &mut Client, line: &str) -> Option<u64> {
    let text = client.get("/metrics").answer().text();
    let value = text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' ').map(str::to_owned));
    value.and_then(|value| value.parse().ok())
}

#[test]
fn requests_are_recorded_at_their_level() {
    let installation = Installation::own();
    let log = installation.path("logs/audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let rules = "- {level: None, nonResourceURLs: ['*']}\n- {level: RequestResponse, omitManagedFields: true, resources: \
                 [{group: '', resources: [configmaps]}]}\n- {level: Metadata}";
    let process = start(&installation, rules, &[&flag]);
    let mut client = process.endpoint().client().with_header("audit-id", ID);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let answer = client.post(CONFIG_MAPS, &object).answer();
    assert_eq!((answer.status, answer.header("audit-id")), (201, ID));
    let recorded = events(&log);
    assert_eq!(stages_of(&recorded, ID), ["RequestReceived", "ResponseComplete"]);
    let complete = recorded.iter().rfind(|event| event["auditID"] == ID).expect("an event");
    assert_eq!(complete["requestObject"]["data"], json!({"k": "v"}));
    assert_eq!(complete["responseObject"]["metadata"]["name"], "a");
    assert_eq!(complete["responseObject"]["metadata"]["managedFields"], Value::Null);
    assert_eq!(complete["annotations"]["authorization.k8s.io/decision"], "allow");
    // The body of a list comes in pieces.
    client.get(CONFIG_MAPS).expect_status(200);
    let listed = events(&log);
    let items = listed.last().map(|event| event["responseObject"]["items"].as_array().map_or(0, Vec::len));
    assert!(items.is_some_and(|items| items >= 1), "{:?}", listed.last());
    let mut other = process.endpoint().client();
    let answer = other.get("/version").answer();
    assert_eq!(answer.header("audit-id").len(), ID.len());
    assert!(events(&log).iter().all(|event| event["requestURI"] != "/version"));
}

#[test]
fn bodies_are_recorded_as_in_the_reference() {
    let installation = Installation::own();
    let log = installation.path("audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let rules = "- {level: RequestResponse, omitStages: [RequestReceived]}";
    let process = start(&installation, rules, &[&flag]);
    let mut client = process.endpoint().client().with_header("audit-id", ID);
    let mut last = |method: &str, path: &str, body: Value| {
        let body = body.to_string();
        client.send(method, path, "application/json", body.as_bytes()).answer();
        events(&log).into_iter().rfind(|event| event["auditID"] == ID).expect("an event")
    };
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    let deleted = last("DELETE", &format!("{CONFIG_MAPS}/none"), options);
    assert_eq!(deleted["requestObject"]["apiVersion"], "meta.k8s.io/__internal");
    assert_eq!(deleted["responseStatus"]["reason"], "NotFound");
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    last("POST", accounts, json!({"metadata": {"name": "a"}}));
    let issued = last("POST", &format!("{accounts}/a/token"), json!({"spec": {}}));
    assert_eq!(issued["requestObject"]["spec"]["expirationSeconds"], 3600);
    let id = issued["annotations"]["authentication.kubernetes.io/issued-credential-id"].as_str();
    assert!(id.is_some_and(|id| id.starts_with("JTI=")), "{issued}");
    // An error in a form that the client does not accept is not recorded.
    let mut other = process.endpoint().client().with_header("audit-id", ID).with_header("accept", "text/plain");
    other.get(&format!("{CONFIG_MAPS}/none")).expect_status(406);
    let refused = events(&log).into_iter().rfind(|event| event["auditID"] == ID).expect("an event");
    assert_eq!(
        (&refused["responseStatus"], &refused["responseObject"]),
        (&json!({"metadata": {}, "code": 406}), &Value::Null)
    );
}

#[test]
fn objects_of_responses_are_recorded_whatever_their_form() {
    let installation = Installation::own();
    let log = installation.path("audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let process = start(&installation, "- {level: RequestResponse, omitStages: [RequestReceived]}", &[&flag]);
    let mut admin = process.endpoint().client();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    admin.post(accounts, &json!({"metadata": {"name": "a"}})).expect_status(201);
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    admin.post(deployments, &json!({"metadata": {"name": "d"}, "spec": spec})).expect_status(201);
    admin.post(CONFIG_MAPS, &json!({"metadata": {"name": "m"}, "data": {"k": "v"}})).expect_status(201);
    let scale = format!("{deployments}/d/scale");
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "none"}});
    let replicas =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}});
    for form in ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] {
        for (method, path, body, place, expected) in [
            ("POST", format!("{accounts}/a/token"), json!({"spec": {}}), "/kind", json!("TokenRequest")),
            ("POST", format!("{accounts}/a/token"), json!({"spec": {}}), "/spec/expirationSeconds", json!(3600)),
            ("GET", scale.clone(), Value::Null, "/kind", json!("Scale")),
            ("PUT", scale.clone(), replicas.clone(), "/spec/replicas", json!(3)),
            (
                "POST",
                "/api/v1/namespaces/default/pods/none/eviction".to_owned(),
                eviction.clone(),
                "/kind",
                json!("Status"),
            ),
            ("GET", format!("{deployments}/d/status"), Value::Null, "/kind", json!("Deployment")),
            (
                "GET",
                format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3Dm"),
                Value::Null,
                "/items/0/data",
                json!({"k": "v"}),
            ),
            ("GET", CONFIG_MAPS.to_owned(), Value::Null, "/kind", json!("ConfigMapList")),
        ] {
            let mut client = process.endpoint().client().with_header("audit-id", ID).with_header("accept", form);
            let body = if body.is_null() { String::new() } else { body.to_string() };
            client.send(method, &path, "application/json", body.as_bytes()).answer();
            let event = events(&log).into_iter().rfind(|event| event["auditID"] == ID).expect("an event");
            let found = event["responseObject"].pointer(place);
            assert_eq!(found, Some(&expected), "{method} {path} in {form}: {event}");
        }
    }
}

#[test]
fn only_the_first_failure_of_policies_is_recorded() {
    let installation = Installation::own();
    let log = installation.path("logs/audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let process = start(&installation, "- {level: Metadata}", &[&flag]);
    let mut client = process.endpoint().client().with_header("audit-id", ID);
    let group = "/apis/admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let validations = json!([{"expression": "false", "message": "one"}, {"expression": "false", "message": "two"}]);
    let spec = json!({"matchConstraints": {"resourceRules": [rule]}, "validations": validations});
    let policy = json!({"metadata": {"name": "p"}, "spec": spec});
    client.post(&format!("{group}/validatingadmissionpolicies"), &policy).expect_status(201);
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Audit"]}});
    client.post(&format!("{group}/validatingadmissionpolicybindings"), &binding).expect_status(201);
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).expect_status(201);
    let recorded = events(&log);
    let failure =
        &recorded.last().expect("an event")["annotations"]["validation.policy.admission.k8s.io/validation_failure"];
    let expected = json!([{
        "message": "one", "policy": "p", "binding": "b", "expressionIndex": 0, "validationActions": ["Audit"]
    }]);
    let failure = failure.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    assert_eq!(failure, Some(expected));
}

#[test]
fn a_watch_is_recorded_when_it_begins_and_when_its_client_has_gone() {
    let installation = Installation::own();
    let log = installation.path("audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let process = start(&installation, "- {level: Metadata}", &[&flag]);
    let mut client = process.endpoint().client().with_header("audit-id", ID);
    let watch = client.watch(&format!("{CONFIG_MAPS}?watch=true")).expect("a watch");
    assert_eq!(stages_of(&events(&log), ID), ["RequestReceived", "ResponseStarted"]);
    drop(watch);
    drop(client);
    wait_for("the last event", || {
        (stages_of(&events(&log), ID) == ["RequestReceived", "ResponseStarted", "ResponseComplete"]).then_some(())
    });
}

/// `/dev/full` takes nothing, as a full disk.
#[test]
fn a_full_disk_harms_audited_requests_in_strict_mode_only() {
    for (mode, status) in [("blocking-strict", 500), ("blocking", 200), ("batch", 200)] {
        let installation = Installation::own();
        let mode = format!("--audit-log-mode={mode}");
        let rules = "- {level: Metadata, resources: [{group: '', resources: [configmaps]}]}";
        let process = start(&installation, rules, &["--audit-log-path=/dev/full", &mode]);
        let mut client = process.endpoint().client();
        let answer = client.get(CONFIG_MAPS).answer();
        assert_eq!(answer.status, status, "{mode}: {}", answer.text());
        if status == 500 {
            assert!(answer.text().contains("failed to store audit event"), "{}", answer.text());
            assert_eq!(metric(&mut client, "apiserver_audit_requests_rejected_total"), Some(1));
        }
        client.get("/api/v1/namespaces/default/secrets").expect_status(200);
        wait_for("lost events", || {
            metric(&mut client, "apiserver_audit_error_total{plugin=\"log\"}").filter(|n| *n > 0)
        });
    }
}

#[test]
fn a_webhook_that_never_answers_delays_no_request_in_batch_mode() {
    let installation = Installation::own();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", silent.local_addr().expect("an address"))}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    });
    let config = installation.scratch.write("webhook.yaml", &config.to_string());
    let config = format!("--audit-webhook-config-file={}", config.display());
    let buffer = "--audit-webhook-batch-buffer-size=10";
    let flags = [&config, buffer, "--audit-webhook-batch-max-size=1", "--audit-webhook-batch-throttle-qps=1000"];
    let mut process = start(&installation, "- {level: Metadata}", &flags);
    let mut client = process.endpoint().client();
    // More than wait in the buffer, and more than are sent at a time.
    for _ in 0..200 {
        client.get(CONFIG_MAPS).expect_status(200);
    }
    let lost = wait_for("lost events", || metric(&mut client, "apiserver_audit_error_total{plugin=\"buffered\"}"));
    assert!(lost > 0);
    process.kill();
}

#[test]
fn the_policy_is_followed() {
    let installation = Installation::own();
    let log = installation.path("audit.log");
    let flag = format!("--audit-log-path={}", log.display());
    let process = start(&installation, "- {level: None}", &[&flag]);
    let mut client = process.endpoint().client().with_header("audit-id", ID);
    client.get(CONFIG_MAPS).expect_status(200);
    assert_eq!(events(&log).len(), 0);
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata}\n";
    installation.scratch.write("policy.yaml", policy);
    wait_for("an event", || {
        client.get(CONFIG_MAPS).expect_status(200);
        (!events(&log).is_empty()).then_some(())
    });
    assert_eq!(stages_of(&events(&log), ID).last().map(String::as_str), Some("ResponseComplete"));
}
