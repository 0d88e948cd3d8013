//! Limits on requests, and reports of the server: requests in flight, timeouts, health, metrics, a slow shutdown.
//! Guarantees that a rejected client gets `Retry-After`, and that the counters include it. Must never depend on timing:
//! waits are for a condition.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, JSON, Watch};
use crate::common::raw::Http2;
use crate::common::wait_for;
use pintle::{Builder, Serving};
use pintle_storage::MemoryStore;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Limited {
    server: Option<Serving>,
    runtime: Runtime,
    endpoint: Endpoint,
}

impl Limited {
    fn start(change: impl FnOnce(&mut Builder)) -> Limited {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut builder = Builder::new(Arc::new(MemoryStore::new()));
        change(&mut builder);
        let server = runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
            builder.start(listener).await.expect("a server")
        });
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        Limited { server: Some(server), runtime, endpoint }
    }

    fn client(&self) -> Client {
        self.endpoint.client()
    }

    /// A create whose response is not read: it is in flight as long as this lives.
    fn hold(&self) -> Http2 {
        let mut client = Http2::connect(&self.endpoint, "", 0);
        let id = client.request("POST", CONFIG_MAPS, true);
        client.data(id, json!({"metadata": {"name": "held"}}).to_string().as_bytes(), true);
        client
    }

    /// A create whose body does not arrive.
    fn begin(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.endpoint.address).expect("a connection");
        let head =
            format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: 100\r\n\r\n{{");
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    }

    fn metrics(&self) -> String {
        self.client().get("/metrics").answer().text()
    }

    fn wait_for_metric(&self, line: &str) {
        wait_for(line, || self.metrics().lines().any(|found| found == line).then_some(()));
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // A test that failed has said why already.
            let _ = self.runtime.block_on(server.stop());
        }
    }
}

#[test]
fn too_many_requests_are_turned_away_and_may_come_again() {
    let server = Limited::start(|builder| {
        builder.generic().settings().max_mutating_in_flight = 1;
        builder.generic().settings().max_read_only_in_flight = 1;
        builder.generic().settings().priority_and_fairness = false;
    });
    let held = server.hold();
    server.wait_for_metric("apiserver_current_inflight_requests{request_kind=\"mutating\"} 1");
    let mut client = server.client();
    let refused = client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).answer();
    assert_eq!((refused.status, refused.text().as_str()), (429, "Too many requests, please try again later.\n"));
    let header = |name: &str| refused.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
    assert_eq!(header("retry-after"), Some("1"));
    // Reads have a limit of their own, and what has no end of its own has none.
    client.get(CONFIG_MAPS).expect_status(200);
    let open: Vec<Watch> =
        (0..3).map(|_| server.client().watch(&format!("{CONFIG_MAPS}?watch=true")).expect("a watch")).collect();
    client.get(CONFIG_MAPS).expect_status(200);
    let labels = "component=\"apiserver\",group=\"\",resource=\"configmaps\",scope";
    server.wait_for_metric(&format!(
        "apiserver_longrunning_requests{{{labels}=\"namespace\",subresource=\"\",verb=\"WATCH\",version=\"v1\"}} 3"
    ));
    server.wait_for_metric(&format!(
        "apiserver_request_terminations_total{{code=\"429\",{labels}=\"resource\",subresource=\"\",verb=\"POST\",version=\"v1\"}} 1"
    ));
    drop(open);
    drop(held);
    // Who gave up is no longer in the way, and was not answered.
    server.wait_for_metric("apiserver_current_inflight_requests{request_kind=\"mutating\"} 0");
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).expect_status(201);
}

#[test]
fn flow_schemas_decide_from_when_they_are_written() {
    const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let server = Limited::start(|_| {});
    let mut client = server.client();
    let uid = |client: &mut Client, path: &str| -> String {
        let object = client.get(&format!("{GROUP}/{path}")).expect_status(200);
        object["metadata"]["uid"].as_str().expect("a UID").to_owned()
    };
    // What a request was classified as; errors say so, too.
    let class = |client: &mut Client| {
        let answer = client.get(&format!("{CONFIG_MAPS}/missing")).answer();
        assert_eq!(answer.status, 404);
        let header = |name: &str| answer.header(name).to_owned();
        (header("x-kubernetes-pf-flowschema-uid"), header("x-kubernetes-pf-prioritylevel-uid"))
    };
    let expected = |client: &mut Client, schema: &str, level: &str| {
        let schema = uid(client, &format!("flowschemas/{schema}"));
        (schema, uid(client, &format!("prioritylevelconfigurations/{level}")))
    };
    let built_in = client.get(&format!("{GROUP}/flowschemas/global-default")).expect_status(200);
    let managers: Vec<_> = built_in["metadata"]["managedFields"].as_array().into_iter().flatten().collect();
    assert_eq!(managers.len(), 2, "{managers:?}");
    assert_eq!(
        (&managers[0]["manager"], &managers[0]["operation"], &managers[0]["subresource"]),
        (&json!("api-priority-and-fairness-config-consumer-v1"), &json!("Apply"), &json!("status"))
    );
    assert_eq!(managers[1]["manager"], "api-priority-and-fairness-config-producer-v1");
    let default = expected(&mut client, "global-default", "global-default");
    assert_eq!(class(&mut client), default);
    let schema = json!({
        "metadata": {"name": "mine"},
        "spec": {
            "priorityLevelConfiguration": {"name": "mine"},
            "matchingPrecedence": 50,
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "system:anonymous"}}],
                "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "namespaces": ["*"]}],
            }],
        },
    });
    let dangles = |client: &mut Client, status: &str| {
        wait_for(&format!("Dangling to be {status}"), || {
            let schema = client.get(&format!("{GROUP}/flowschemas/mine")).expect_status(200);
            (schema["status"]["conditions"][0]["status"] == status).then_some(())
        });
    };
    client.post(&format!("{GROUP}/flowschemas"), &schema).expect_status(201);
    dangles(&mut client, "True");
    assert_eq!(class(&mut client), default, "a schema without a level decides nothing");
    let level = json!({
        "metadata": {"name": "mine"},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 10, "limitResponse": {"type": "Reject"}}},
    });
    let levels = format!("{GROUP}/prioritylevelconfigurations");
    client.post(&levels, &level).expect_status(201);
    let mine = expected(&mut client, "mine", "mine");
    wait_for("the schema to decide", || (class(&mut client) == mine).then_some(()));
    dangles(&mut client, "False");
    let text = server.metrics();
    let labels = "flow_schema=\"mine\",priority_level=\"mine\"";
    for line in [
        format!("apiserver_flowcontrol_dispatched_requests_total{{{labels}}} "),
        format!("apiserver_flowcontrol_current_executing_requests{{{labels}}} 0"),
        format!("apiserver_flowcontrol_work_estimated_seats_bucket{{{labels},le=\"1\"}} "),
        "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"mine\"} 24".to_owned(),
        "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"exempt\"} 0".to_owned(),
        "apiserver_flowcontrol_demand_seats_bucket{priority_level=\"mine\",le=\"+Inf\"} ".to_owned(),
        "apiserver_flowcontrol_priority_level_seat_utilization_count{phase=\"executing\",priority_level=\"mine\"} "
            .to_owned(),
        "apiserver_flowcontrol_read_vs_write_current_requests_count{phase=\"waiting\",request_kind=\"mutating\"} "
            .to_owned(),
        "apiserver_current_inqueue_requests{request_kind=\"readOnly\"} 0".to_owned(),
    ] {
        assert!(text.lines().any(|found| found.starts_with(&line)), "{line} in {text}");
    }
    let mut dump = |what: &str| client.get(&format!("/debug/api_priority_and_fairness/{what}")).answer().text();
    let row = dump("dump_priority_levels").lines().find(|row| row.starts_with("mine,")).map(str::to_owned);
    assert!(row.is_some_and(|row| row.contains("true,   false,")), "{}", dump("dump_priority_levels"));
    assert!(dump("dump_queues").lines().any(|row| row.starts_with("global-default,    127,")));
    // The request itself is one of those that execute.
    let requests = dump("dump_requests?includeRequestDetails=1");
    let own = requests.lines().find(|row| row.contains("/debug/api_priority_and_fairness/dump_requests"));
    assert!(own.is_some_and(|row| row.contains("system:anonymous,") && row.contains(" get,")), "{requests}");
    let mut client = server.client();
    client.delete(&format!("{levels}/mine")).expect_status(200);
    wait_for("the default to decide", || (class(&mut client) == default).then_some(()));
    dangles(&mut client, "True");
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    // The requests below must end earlier.
    let server = Limited::start(|builder| builder.generic().settings().request_timeout = Duration::from_secs(5));
    let mut held = server.begin();
    let mut answer = [0; 512];
    let read = held.read(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("\"reason\":\"Timeout\""), "{answer}");
    server.wait_for_metric(
        "apiserver_request_terminations_total{code=\"504\",component=\"apiserver\",group=\"\",resource=\"configmaps\",\
         scope=\"resource\",subresource=\"\",verb=\"POST\",version=\"v1\"} 1",
    );
    let mut client = server.client();
    for (timeout, status) in [("soon", 400), ("1", 400), ("10s", 200), ("-1s", 200), ("0", 200)] {
        let answer = client.get(&format!("{CONFIG_MAPS}?timeout={timeout}")).answer();
        assert_eq!(answer.status, status, "{timeout}: {}", answer.text());
    }
}

#[test]
fn metrics_count_what_was_asked_and_are_well_formed() {
    let server = Limited::start(|_| {});
    let mut client = server.client();
    let started = client.get("/metrics").answer().header("process-start-time-unix").to_owned();
    assert!(started.parse::<i64>().is_ok_and(|seconds| seconds > 0), "{started}");
    let object = json!({"metadata": {"name": "a"}});
    client.post(&format!("{CONFIG_MAPS}?dryRun=All"), &object).expect_status(201);
    client.post(CONFIG_MAPS, &object).expect_status(201);
    client.get(CONFIG_MAPS).expect_status(200);
    client.get(&format!("{CONFIG_MAPS}/b")).expect_status(404);
    let whole = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{whole}&timeoutSeconds=1")).expect("a watch");
    let (mut events, mut bookmarks) = (0, 0);
    while let Some(event) = watch.next().expect("an end in good order") {
        events += 1;
        bookmarks += i32::from(event["type"] == "BOOKMARK");
    }
    assert!(bookmarks > 0, "the initial events end");
    client.get("/api/v1/pods?fieldSelector=spec.nodeName%3Da").expect_status(200);
    client.post("/api/v1/namespaces/default/services", &json!({"kind": "Pod"})).expect_status(400);
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    client.post("/api/v1/namespaces/default/pods", &pod).expect_status(403);
    // What no path takes is not counted.
    client.delete("/api/v1/pods").expect_status(405);
    for path in ["/openapi/v3", "/openapi/v3/version", "/apis"] {
        client.get(path).expect_status(200);
    }
    let everything = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    server.client().with_header("Accept", everything).get("/apis").expect_status(200);
    let body = serde_json::to_vec(&object).expect("JSON").len();
    let mut client = server.client();
    client.get("/readyz").answer().expect_text("ok");
    let labels = |scope: &str, verb: &str| {
        format!(
            "group=\"\",resource=\"configmaps\",scope=\"{scope}\",subresource=\"\",system_client=\"\",verb=\"{verb}\",version=\"v1\""
        )
    };
    for (code, dry_run, scope, verb) in [
        (201, "All", "resource", "POST"),
        (201, "", "resource", "POST"),
        (200, "", "namespace", "LIST"),
        (404, "", "resource", "GET"),
        (200, "", "namespace", "WATCH"),
    ] {
        server.wait_for_metric(&format!(
            "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"{dry_run}\",{}}} 1",
            labels(scope, verb)
        ));
    }
    let text = server.metrics();
    for line in [
        format!("apiserver_watch_events_total{{group=\"\",resource=\"configmaps\",version=\"v1\"}} {events}"),
        format!("apiserver_watch_events_sizes_count{{group=\"\",resource=\"configmaps\",version=\"v1\"}} {events}"),
        "apiserver_resource_objects{group=\"\",resource=\"services\"} 1".to_owned(),
        format!(
            "apiserver_request_body_size_bytes_sum{{group=\"\",resource=\"configmaps\",verb=\"create\"}} {}",
            2 * body
        ),
        "etcd_requests_total{group=\"\",operation=\"create\",resource=\"configmaps\"} 1".to_owned(),
        "apiserver_storage_events_received_total{group=\"\",resource=\"services\"} 1".to_owned(),
        "apiserver_watch_cache_events_received_total{group=\"\",resource=\"services\"} 1".to_owned(),
        "apiserver_cache_list_total{group=\"\",index=\"\",resource=\"configmaps\"} 1".to_owned(),
        "apiserver_cache_list_returned_objects_total{group=\"\",resource=\"configmaps\"} 1".to_owned(),
        "apiserver_cache_list_total{group=\"\",index=\"f:spec.nodeName\",resource=\"pods\"} 1".to_owned(),
        "apiserver_cache_list_fetched_objects_total{group=\"\",index=\"f:spec.nodeName\",resource=\"pods\"} 0"
            .to_owned(),
        "apiserver_admission_controller_admission_duration_seconds_count{name=\"ServiceAccount\",operation=\"CREATE\",\
         rejected=\"true\",type=\"admit\"} 1"
            .to_owned(),
        "apiserver_storage_objects{resource=\"services\"} 1".to_owned(),
    ] {
        assert!(text.lines().any(|found| *found == line), "{line} in {text}");
    }
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).expect("a sample");
    let allowed = value("authorization_attempts_total{result=\"allowed\"} ");
    let labels = "decision=\"allowed\",name=\"alwaysallow\",type=\"AlwaysAllow\"";
    assert_eq!(value(&format!("apiserver_authorization_decisions_total{{{labels}}} ")), allowed);
    assert!(!text.contains("code=\"405\""), "{text}");
    for (part, component) in [("openapi/v3", ""), ("openapi/v3/", ""), ("apis", "apiserver")] {
        let labels =
            format!("resource=\"\",scope=\"\",subresource=\"{part}\",system_client=\"\",verb=\"GET\",version=\"\"");
        let line = format!(
            "apiserver_request_total{{code=\"200\",component=\"{component}\",dry_run=\"\",group=\"\",{labels}}} 1"
        );
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let mut families = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            assert!(families.insert(family.to_owned()), "{family} is there once");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = name.split('{').next().unwrap_or_default();
            let known = |family: &String| {
                let (family, kind) = family.split_once(' ').expect("a name and a kind");
                let rest = name.strip_prefix(family);
                rest.is_some_and(|rest| {
                    rest.is_empty() || kind == "histogram" && ["_bucket", "_sum", "_count"].contains(&rest)
                })
            };
            assert!(families.iter().any(known), "{line} belongs to a family");
        }
    }
    let slis = server.client().get("/metrics/slis").answer().text();
    assert!(slis.contains("kubernetes_healthcheck{name=\"ping\",type=\"readyz\"} 1\n"), "{slis}");
}

#[test]
fn metrics_tell_what_services_were_given_and_what_controllers_did() {
    let server = Limited::start(|_| {});
    let mut client = server.client();
    let mut create = |query: &str, name: &str, spec: serde_json::Value, status: u16| {
        let mut service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
        spec.as_object().expect("fields").iter().for_each(|(key, value)| service["spec"][key] = value.clone());
        let path = format!("/api/v1/namespaces/default/services{query}");
        client.post(&path, &service).expect_status(status);
    };
    create("?fieldValidation=Strict", "a", json!({}), 201);
    create("", "b", json!({"clusterIP": "10.0.0.200"}), 201);
    create("", "c", json!({"clusterIP": "10.0.0.200"}), 422);
    create("", "d", json!({"type": "NodePort"}), 201);
    create("?dryRun=All", "e", json!({"type": "NodePort"}), 201);
    client.get("/api/v1/services").expect_status(200);
    client.get("/api/v1/services?resourceVersion=0").expect_status(200);
    let text = server.metrics();
    let range = "cidr=\"10.0.0.0/24\"";
    for line in [
        // That of the API itself is one of them.
        format!("kube_apiserver_clusterip_allocator_allocated_ips{{{range}}} 4"),
        format!("kube_apiserver_clusterip_allocator_available_ips{{{range}}} 250"),
        format!("kube_apiserver_clusterip_allocator_allocation_total{{{range},scope=\"dynamic\"}} 2"),
        format!("kube_apiserver_clusterip_allocator_allocation_total{{{range},scope=\"static\"}} 1"),
        format!("kube_apiserver_clusterip_allocator_allocation_errors_total{{{range},scope=\"static\"}} 1"),
        format!("kube_apiserver_clusterip_allocator_allocation_duration_seconds_count{{{range}}} 3"),
        "kube_apiserver_nodeport_allocator_allocated_ports 1".to_owned(),
        "kube_apiserver_nodeport_allocator_available_ports 2767".to_owned(),
        "kube_apiserver_nodeport_allocator_allocation_total{scope=\"dynamic\"} 1".to_owned(),
        "field_validation_request_duration_seconds_count{field_validation=\"Strict\"} 1".to_owned(),
        "apiserver_watch_cache_consistent_read_total{fallback=\"false\",group=\"\",resource=\"services\",\
         success=\"true\"} 1"
            .to_owned(),
        "version_info{binary=\"1.36\",component=\"kube\",emulation=\"1.36\",min_compat=\"1.35\"} 1".to_owned(),
        "workqueue_depth{name=\"garbage_collector_attempt_to_delete\"} 0".to_owned(),
    ] {
        assert!(text.lines().any(|found| *found == line), "{line} in {text}");
    }
    let path = "/api/v1/namespaces";
    client.post(path, &json!({"metadata": {"name": "gone"}})).expect_status(201);
    client.delete(&format!("{path}/gone")).expect_status(200);
    wait_for("the end of a namespace to be counted", || {
        let text = server.metrics();
        let counts = text.lines().filter(|line| line.contains("_count{name=\"namespace\"}"));
        let worked = counts.filter(|line| line.starts_with("workqueue_work_duration_seconds") && !line.ends_with(" 0"));
        worked.count().checked_sub(1)
    });
}

#[test]
fn a_server_that_is_to_stop_is_not_ready_but_answers_for_a_while() {
    // All requests but the last one are made within it.
    let mut limited = Limited::start(|builder| builder.generic().shutdown().delay = Duration::from_secs(10));
    let mut client = limited.client();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true")).expect("a watch");
    let server = limited.server.take().expect("it runs");
    let stopping = limited.runtime.spawn(server.stop());
    let mut client = limited.client();
    wait_for("readyz to fail", || (client.get("/readyz").answer().status == 500).then_some(()));
    client.get("/livez").answer().expect_text("ok");
    let readyz = client.get("/readyz").answer().text();
    assert!(
        readyz.contains("[-]shutdown failed: reason withheld\n") && readyz.ends_with("readyz check failed\n"),
        "{readyz}"
    );
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "late"}})).expect_status(201);
    while watch.next().expect("an end in good order").is_some() {}
    limited.runtime.block_on(stopping).expect("no panic").expect("an end in good order");
    assert!(TcpStream::connect(limited.endpoint.address).is_err(), "nobody listens");
}

#[test]
fn a_server_that_stops_may_tell_late_clients_when_to_come_again() {
    let mut limited = Limited::start(|builder| builder.generic().shutdown().send_retry_after = true);
    let held = limited.hold();
    limited.wait_for_metric("apiserver_current_inflight_requests{request_kind=\"mutating\"} 1");
    let server = limited.server.take().expect("it runs");
    let stopping = limited.runtime.spawn(server.stop());
    let late = wait_for("a late request to be turned away", || {
        let answer = limited.client().get(CONFIG_MAPS).answer();
        (answer.status == 429).then_some(answer)
    });
    assert_eq!(late.header("retry-after"), "5");
    assert_eq!(late.header("connection"), "close");
    assert_eq!(late.text(), "The apiserver is shutting down, please try again later.\n");
    limited.client().get("/livez").answer().expect_text("ok");
    assert!(limited.metrics().contains("apiserver_request_total"), "metrics are served to the end");
    drop(held);
    limited.runtime.block_on(stopping).expect("no panic").expect("an end in good order");
    assert!(TcpStream::connect(limited.endpoint.address).is_err(), "nobody listens");
}
