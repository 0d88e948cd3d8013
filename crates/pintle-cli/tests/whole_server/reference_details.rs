//! Details of kube-apiserver's behaviour, seen from outside: forms of documents, watches of single objects, protected objects,
//! the order of checks, component statuses and health checks. The expectations are kube-apiserver's recorded responses, or its
//! source. Must never use a default store: all stores behave alike here.

use crate::common::http::Answered;
use crate::common::http::{Client, JSON};
use crate::common::process::Installation;
use crate::common::resource_version;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpStream};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const COMPONENTS: &str = "/api/v1/componentstatuses";

fn accepting(client: &mut Client, method: &str, path: &str, accept: &str) -> crate::common::http::Answer {
    client.send(method, path, &format!("{JSON}\r\nAccept: {accept}"), b"").answer()
}

#[test]
fn documents_of_the_issuer_are_found_by_what_is_accepted() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    const KEYS: &str = "application/jwk-set+json";
    let rows = [
        ("GET", "/openid/v1/jwks", "*/*", 200, KEYS),
        ("GET", "/openid/v1/jwks", KEYS, 200, KEYS),
        ("GET", "/openid/v1/jwks", "text/html, application/jwk-set+json;q=0.1", 200, KEYS),
        ("GET", "/openid/v1/jwks", JSON, 406, JSON),
        ("GET", "/openid/v1/jwks", "application/*", 406, JSON),
        ("GET", "/openid/v1/jwks", "text/html", 406, JSON),
        ("POST", "/openid/v1/jwks", "text/html", 405, JSON),
        ("GET", "/.well-known/openid-configuration", JSON, 200, JSON),
        ("GET", "/.well-known/openid-configuration", "text/html", 406, JSON),
        ("GET", "/.well-known/openid-configuration", KEYS, 406, JSON),
        ("GET", "/version", "text/html", 406, JSON),
        ("GET", "/healthz", "application/yaml", 200, "text/plain; charset=utf-8"),
        ("GET", "/openapi/v3", "application/yaml", 200, "text/plain; charset=utf-8"),
        ("GET", "/", "application/yaml", 200, JSON),
    ];
    for (method, path, accept, status, content_type) in rows {
        let answer = accepting(&mut client, method, path, accept);
        assert_eq!((answer.status, answer.header("content-type")), (status, content_type), "{method} {path} {accept}");
        if status == 406 {
            let form = match path {
                "/openid/v1/jwks" => KEYS,
                _ => JSON,
            };
            let refused = answer.expect(406);
            assert_eq!(refused["message"], format!("406: Not Acceptable\n\nAvailable representations: {form}"));
            assert_eq!(refused["reason"], "NotAcceptable");
        }
    }
}

#[test]
fn a_watch_in_the_form_of_a_list_ends_with_the_first_thing_to_show() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    let list = client.get(CONFIG_MAPS).expect_status(200);
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).expect_status(201);
    let version = resource_version(&list);
    for (form, beginning, shown) in [
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            format!("resourceVersion={version}"),
            None,
        ),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", String::new(), None),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned(),
            None,
        ),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            format!("resourceVersion={version}"),
            Some("PartialObjectMetadata"),
        ),
        ("application/json;as=Table;g=meta.k8s.io;v=v1", format!("resourceVersion={version}"), Some("Table")),
        (JSON, format!("resourceVersion={version}"), Some("ConfigMap")),
    ] {
        let mut watching = process.endpoint().client().with_header("Accept", form);
        let mut watch = watching.watch(&format!("{CONFIG_MAPS}?watch=true&{beginning}")).expect("a watch");
        let first = watch.next().expect("an event, or an end in good order");
        assert_eq!(first.as_ref().map(|event| event["object"]["kind"].as_str().expect("a kind")), shown, "{form}");
    }
    // Until there is something to show it goes on, and where nothing is ever to be shown but errors these are.
    let mut watching = process
        .endpoint()
        .client()
        .with_header("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let path = format!(
        "{CONFIG_MAPS}?watch=true&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    );
    let (kind, status) = watching.watch(&path).expect("a watch").event();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(504)));
}

#[test]
fn classes_of_the_system_are_not_deleted_by_name() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
    for name in ["system-node-critical", "system-cluster-critical"] {
        let wrong = json!({"preconditions": {"uid": "another"}});
        for (query, body) in
            [("", json!({})), ("?dryRun=All", Value::Null), ("", wrong), ("", json!({"dryRun": ["All"]}))]
        {
            let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
            let refused = client.send("DELETE", &format!("{CLASSES}/{name}{query}"), JSON, &body).expect_status(403);
            let message = format!(
                "priorityclasses.scheduling.k8s.io {name:?} is forbidden: this is a system priority class and cannot be deleted"
            );
            assert_eq!(refused["message"], message, "{query}");
            assert_eq!(refused["reason"], "Forbidden");
        }
    }
    client.delete(&format!("{CLASSES}/system-other")).expect_status(404);
    client.post(CLASSES, &json!({"metadata": {"name": "mine"}, "value": 1})).expect_status(201);
    client.delete(&format!("{CLASSES}/mine?dryRun=All")).expect_status(200);
    client.delete(&format!("{CLASSES}/mine")).expect_status(200);
    // Other refusals of deletions count for dry runs, too.
    for query in ["", "?dryRun=All"] {
        client.delete(&format!("/api/v1/namespaces/kube-system{query}")).expect_status(403);
    }
}

#[test]
fn admission_and_allocation_come_before_a_name_that_is_taken() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--enable-admission-plugins=DenyServiceExternalIPs"]);
    let mut client = process.endpoint().client();
    let service = |name: &str, spec: Value| {
        let mut spec = spec;
        spec["ports"] = json!([{"port": 80}]);
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    };
    client.post(SERVICES, &service("a", json!({"clusterIP": "10.0.0.77"}))).expect_status(201);
    let taken = (409, "services \"a\" already exists");
    let rows = [
        (json!({}), taken.0, taken.1),
        (
            json!({"externalIPs": ["192.0.2.1"]}),
            403,
            "services \"a\" is forbidden: Use of external IPs is denied by admission control",
        ),
        (json!({"type": "Strange"}), 422, "Service \"a\" is invalid: spec.type: Unsupported value"),
        (
            json!({"clusterIP": "10.0.0.77"}),
            422,
            "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.77\"]: failed to allocate IP 10.0.0.77: provided \
             IP is already allocated",
        ),
    ];
    for (spec, status, message) in rows {
        for query in ["", "?dryRun=All"] {
            let answer = client.post(&format!("{SERVICES}{query}"), &service("a", spec.clone())).answer();
            // A dry run allocates nothing, and so does not report used addresses.
            let is_allocated = message.contains("already allocated") && !query.is_empty();
            let (status, message) = if is_allocated { taken } else { (status, message) };
            let refused = answer.expect(status);
            let reported = refused["message"].as_str().expect("a message");
            assert!(reported.starts_with(message), "{spec}{query}: {reported}");
        }
    }
}

#[test]
fn every_store_refuses_what_etcd_would_not_take() {
    let installation = Installation::own();
    for storage in ["memory", "embedded"] {
        let process = installation.start_with(&[format!("--storage={storage}")]);
        let mut client = process.endpoint().client();
        let object = |name: &str, keys: usize, values: usize| {
            let value = "v".repeat(values / keys);
            let data = (0..keys).map(|at| (format!("{at:0240}"), json!(value))).collect::<serde_json::Map<_, _>>();
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
        };
        let mut post = |name: &str, keys, values| client.post(CONFIG_MAPS, &object(name, keys, values)).answer();
        // What owners add is given up first.
        let stored = post("a", 3_000, 500_000).expect(201);
        assert!(stored["metadata"].get("managedFields").is_none(), "{storage}");
        let refused = post("b", 4_000, 900_000).expect(500);
        let expected = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "etcdserver: request is too large", "code": 500
        });
        assert_eq!(refused, expected, "{storage}");
        let refused = post("c", 5_500, 1_000_000).expect(500);
        let reported = refused["message"].as_str().expect("a message");
        let sent = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";
        assert!(reported.starts_with(sent) && reported.ends_with(" vs. 2097152)"), "{storage}: {reported}");
        let stored = post("d", 1_000, 200_000).expect(201);
        assert!(stored["metadata"].get("managedFields").is_some(), "{storage}");
        let mut apply = |name: &str, keys, values| {
            let path = format!("{CONFIG_MAPS}/{name}?fieldManager=team&force=true");
            let body = object(name, keys, values).to_string();
            client.send("PATCH", &path, "application/apply-patch+yaml", body.as_bytes()).answer()
        };
        apply("e", 1_000, 200_000).expect(201);
        for name in ["d", "e", "f"] {
            assert_eq!(apply(name, 2_600, 500_000).expect(500), expected, "{storage}: {name}");
        }
    }
}

#[test]
fn component_statuses_are_looked_for_and_selected() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    let mut names = |query: &str| -> Vec<String> {
        let list = client.get(&format!("{COMPONENTS}{query}")).expect_status(200);
        let items = list["items"].as_array().unwrap_or_else(|| panic!("no list in {list}"));
        items.iter().map(|item| crate::common::name(item).to_owned()).collect()
    };
    assert_eq!(names(""), ["controller-manager", "scheduler", "etcd-0"]);
    for (query, expected) in [
        ("?fieldSelector=metadata.name=scheduler", &["scheduler"][..]),
        ("?fieldSelector=metadata.name!=scheduler", &["controller-manager", "etcd-0"]),
        ("?fieldSelector=metadata.name=none", &[]),
        ("?labelSelector=a=b", &[]),
        ("?labelSelector=!a", &["controller-manager", "scheduler", "etcd-0"]),
        ("?labelSelector=a%20notin%20(b),a!=c", &["controller-manager", "scheduler", "etcd-0"]),
        ("?labelSelector=a&fieldSelector=metadata.name=scheduler", &[]),
        ("?labelSelector=!a&fieldSelector=metadata.name=scheduler", &["scheduler"]),
    ] {
        assert_eq!(names(query), expected, "{query}");
    }
    let unreadable = client.get(&format!("{COMPONENTS}?labelSelector=a%20in%20b")).expect_status(400);
    assert_eq!(unreadable["reason"], "BadRequest");
    let condition = |object: &Value| object["conditions"][0].clone();
    let store = client.get(&format!("{COMPONENTS}/etcd-0")).expect_status(200);
    assert_eq!(condition(&store), json!({"type": "Healthy", "status": "True", "message": "ok"}));
    for (name, port) in [("controller-manager", 10257), ("scheduler", 10259)] {
        let object = client.get(&format!("{COMPONENTS}/{name}")).expect_status(200);
        // One may run on this machine.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let message = format!(
                "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused"
            );
            assert_eq!(condition(&object), json!({"type": "Healthy", "status": "False", "message": message}));
        }
    }
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let shown = accepting(&mut client, "GET", COMPONENTS, table).expect(200);
    let cells = |at: usize| shown["rows"][at]["cells"].clone();
    assert_eq!((cells(1)[0].clone(), cells(2)), (json!("scheduler"), json!(["etcd-0", "Healthy", "ok", ""])));
    let none = format!("{COMPONENTS}?labelSelector=a=b");
    assert_eq!(accepting(&mut client, "GET", &none, table).expect(200)["rows"], json!([]));
}

#[test]
fn health_is_reported_check_by_check_as_in_the_reference() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    let hooks = "[+]poststarthook/start-apiserver-admission-initializer ok
[+]poststarthook/generic-apiserver-start-informers ok
[+]poststarthook/priority-and-fairness-config-consumer ok
[+]poststarthook/priority-and-fairness-filter ok
[+]poststarthook/storage-object-count-tracker-hook ok
[+]poststarthook/start-apiextensions-informers ok
[+]poststarthook/start-apiextensions-controllers ok
[+]poststarthook/crd-informer-synced ok
[+]poststarthook/start-system-namespaces-controller ok
[+]poststarthook/peer-endpoint-reconciler-controller ok
[+]poststarthook/start-cluster-authentication-info-controller ok
[+]poststarthook/start-kube-apiserver-identity-lease-controller ok
[+]poststarthook/start-kube-apiserver-identity-lease-garbage-collector ok
[+]poststarthook/storage-readiness ok
[+]poststarthook/start-legacy-token-tracking-controller ok
[+]poststarthook/start-service-ip-repair-controllers ok
[+]poststarthook/rbac/bootstrap-roles ok
[+]poststarthook/scheduling/bootstrap-system-priority-classes ok
[+]poststarthook/priority-and-fairness-config-producer ok
[+]poststarthook/bootstrap-controller ok
[+]poststarthook/start-kubernetes-service-cidr-controller ok
[+]poststarthook/start-kube-aggregator-informers ok
[+]poststarthook/apiservice-status-local-available-controller ok
[+]poststarthook/apiservice-status-remote-available-controller ok
[+]poststarthook/apiservice-registration-controller ok
[+]poststarthook/apiservice-discovery-controller ok
[+]poststarthook/kube-apiserver-autoregistration ok
[+]autoregister-completion ok
[+]poststarthook/apiservice-openapi-controller ok
[+]poststarthook/apiservice-openapiv3-controller ok
";
    let alive = format!("[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd ok\n{hooks}");
    let ready = format!("[+]ping ok\n[+]log ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n{hooks}[+]shutdown ok\n");
    for (endpoint, checks) in [("healthz", &alive), ("livez", &alive), ("readyz", &ready)] {
        let reported = client.get(&format!("/{endpoint}?verbose")).answer();
        assert_eq!((reported.status, reported.text()), (200, format!("{checks}{endpoint} check passed\n")));
        for check in checks.lines().filter_map(|line| line.strip_prefix("[+]")?.strip_suffix(" ok")) {
            client.get(&format!("/{endpoint}/{check}")).answer().expect_text("ok");
        }
    }
    let path = "/livez?verbose&exclude=loopback-serving-certificate&exclude=etcd-readiness";
    let reported = client.get(path).answer().text();
    let expected = alive.replace("loopback-serving-certificate ok", "loopback-serving-certificate excluded: ok");
    let unknown = "warn: some health checks cannot be excluded: no matches for \"etcd-readiness\"\n";
    assert_eq!(reported, format!("{expected}{unknown}livez check passed\n"));
    for path in ["/readyz/loopback-serving-certificate", "/readyz/etcd", "/livez/etcd-readiness", "/livez/shutdown"] {
        assert_eq!(client.get(path).answer().status, 404, "{path}");
    }
}
