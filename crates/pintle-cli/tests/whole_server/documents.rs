//! Documents and odd paths as clients request them: OpenAPI and discovery in each form, and what leads nowhere.
//! Guarantees that an address with a hash of old leads to the document, and that no number of seconds breaks a connection.
//! Must never compare what the documents say: that is tested where they are made.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, JSON};
use crate::common::in_process::InProcess;
use serde_json::json;

fn get(client: &mut Client, path: &str, accept: &str) -> Answer {
    client.send("GET", path, &format!("{JSON}\r\nAccept: {accept}"), b"").answer()
}

#[test]
fn openapi_comes_in_the_form_that_is_accepted() {
    let server = InProcess::start();
    let mut client = server.client();
    let protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    let rows = [
        ("*/*", 200, JSON),
        (protobuf, 200, protobuf),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", 200, protobuf),
        ("application/json;q=0.5,application/com.github.proto-openapi.spec.v3.v1.0+protobuf", 200, protobuf),
        ("text/html", 406, ""),
    ];
    for (accept, status, content_type) in rows {
        let answer = get(&mut client, "/openapi/v3/apis/apps/v1", accept);
        assert_eq!((answer.status, answer.header("content-type")), (status, content_type), "{accept}");
    }
    let address = |path: &str, answer: Answer| {
        answer.json()["paths"][path]["serverRelativeURL"].as_str().expect("an address").to_owned()
    };
    let index = get(&mut client, "/openapi/v3", "*/*");
    assert_eq!(index.header("content-type"), "text/plain; charset=utf-8");
    let address = address("apis/apps/v1", index);
    let moved = get(&mut client, "/openapi/v3/apis/apps/v1?hash=old", "*/*");
    assert_eq!((moved.status, moved.header("location")), (301, &*address));
    let found = get(&mut client, &address, "*/*");
    assert_eq!((found.status, found.header("cache-control")), (200, "public, immutable"));
    assert!(found.header("expires").ends_with(" UTC"), "{}", found.header("expires"));
    let tag = found.header("etag").to_owned();
    let conditions = [
        (format!("If-None-Match: \"a\", W/{tag}"), 304),
        ("If-None-Match: *".to_owned(), 304),
        ("If-None-Match: \"a\"".to_owned(), 200),
        ("If-Match: \"a\"".to_owned(), 412),
        (format!("If-Match: {tag}"), 200),
    ];
    for (condition, expected) in conditions {
        assert_eq!(get(&mut client, &address, &format!("*/*\r\n{condition}")).status, expected, "{condition}");
    }
    for path in ["/openapi/v3/", "/openapi/v3/apis/apps/v1/", "/openapi/v3/none", "/openapi/v3x", "/openapi/v2/"] {
        assert_eq!(get(&mut client, path, "*/*").status, 404, "{path}");
    }
}

#[test]
fn discovery_of_everything_has_every_form() {
    let server = InProcess::start();
    let mut client = server.client();
    let mut tags = Vec::new();
    for path in ["/api", "/apis"] {
        for form in [JSON, "application/yaml", "application/vnd.kubernetes.protobuf"] {
            let wish = format!("{form};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
            let answer = get(&mut client, path, &format!("{JSON}, {wish}"));
            assert_eq!((answer.status, answer.header("content-type")), (200, &*wish), "{path}");
            assert_eq!(answer.header("cache-control"), "public");
            let tag = answer.header("etag").to_owned();
            assert_eq!(get(&mut client, path, &format!("{wish}\r\nIf-None-Match: {tag}")).status, 304, "{path}");
            tags.push(tag);
        }
    }
    tags.dedup();
    assert_eq!(tags.len(), 2, "one for each path, whatever the form");
    let wish = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert_eq!(get(&mut client, "/apis/", &format!("{wish}, {JSON}")).expect(200)["kind"], "APIGroupList");
    assert_eq!(get(&mut client, "/apis/", wish).status, 406);
    assert_eq!(get(&mut client, "/api/", wish).expect(200)["kind"], "APIGroupDiscoveryList");
    let root = get(&mut client, "/", "*/*").expect(200);
    for (path, expected) in [
        ("/apis/", true),
        ("/metrics/slis", true),
        ("/openapi/v3/", true),
        ("/livez/ping", true),
        ("/readyz/shutdown", true),
        ("/livez/shutdown", false),
    ] {
        let is_listed = root["paths"].as_array().is_some_and(|paths| paths.contains(&json!(path)));
        assert_eq!(is_listed, expected, "{path}");
    }
    let refused = get(&mut client, "/apis/apps", "text/html").expect(406);
    let message = "only the following media types are accepted: application/json, application/yaml, \
                   application/vnd.kubernetes.protobuf";
    assert_eq!(refused["message"], message);
}

#[test]
fn a_deprecated_version_warns_but_of_media_types_that_its_routes_do_not_take() {
    let server = InProcess::start();
    let mut client = server.client();
    let rows = [
        ("GET", JSON, JSON, 200, true),
        ("GET", JSON, "text/html", 406, false),
        ("GET", JSON, "application/json;as=Table;g=meta.k8s.io;v=v9", 406, true),
        ("POST", "text/plain", JSON, 415, true),
        ("PATCH", "text/plain", JSON, 415, false),
    ];
    for (method, sent, accept, status, is_warned) in rows {
        let path = format!("/api/v1/namespaces/default/endpoints{}", if method == "PATCH" { "/x" } else { "" });
        let answer = client.send(method, &path, &format!("{sent}\r\nAccept: {accept}"), b"{}").answer();
        let warned = answer.header("warning").contains("v1 Endpoints is deprecated");
        assert_eq!((answer.status, warned), (status, is_warned), "{method} {sent} {accept}");
    }
}

#[test]
fn no_number_of_seconds_is_too_large_for_a_watch() {
    let server = InProcess::start();
    let mut client = server.client();
    for seconds in ["-1", "9223372036854775807"] {
        let path = format!("/api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds={seconds}");
        assert_eq!(client.get(&path).answer().status, 200, "{seconds}");
    }
}

#[test]
fn paths_that_stop_too_early_or_go_too_far() {
    let server = InProcess::start();
    let mut client = server.client();
    let rows = [
        ("/api/v1/watch", 500, "unable to determine kind and namespace from url, /api/v1/watch"),
        ("/api/v1/watch/nodes/a?fieldSelector=metadata.name%3Db", 400, "doesn't match requested name"),
        ("/api/v1/namespaces/default?export=true", 400, "the export parameter, deprecated since v1.14"),
        ("/api/v1/namespaces/default/pods/a/status/b", 404, "could not find the requested resource"),
        ("//api", 404, "404 page not found"),
        // A path is decoded before it is taken apart.
        ("/api/v1/namespaces/default/configmaps/a%2Fb", 404, "could not find the requested resource"),
        ("/api/v1/namespaces/default/configmaps/a%2Db", 404, "configmaps \\\"a-b\\\" not found"),
        ("/api/v1/namespaces/default/configmaps/%2e%2e", 400, "may not be '..'"),
        ("/api/v1/namespaces/default/configmaps/a%25b", 400, "may not contain '%'"),
        ("/api/v1/namespaces/default/configmaps/a%ff", 404, "configmaps \\\"a\u{fffd}\\\" not found"),
        ("/readyz%2Fping", 200, "ok"),
        ("/api/v1/namespaces/default/configmaps/a%zz", 400, "400 Bad Request"),
    ];
    for (path, status, text) in rows {
        let answer = client.get(path).answer();
        assert!(answer.status == status && answer.text().contains(text), "{path}: {} {}", answer.status, answer.text());
    }
}

#[test]
fn groups_that_other_servers_would_serve_are_unavailable() {
    let server = InProcess::start();
    let mut client = server.client();
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let rows = [
        ("example.com", 100, "v1", 10, true),
        ("example.com", 100, "v2", 20, false),
        ("example.net", 100, "v1", 20, false),
        ("apps", 100, "v9", 10, true),
        ("first.example.com", 20_000, "v1", 10, true),
    ];
    for (group, group_priority, version, priority, elsewhere) in rows {
        let service = if elsewhere { r#","service":{"namespace":"default","name":"none"}"# } else { "" };
        let body = format!(
            r#"{{"metadata":{{"name":"{version}.{group}"}},"spec":{{"group":"{group}","version":"{version}",
            "groupPriorityMinimum":{group_priority},"versionPriority":{priority},"insecureSkipTLSVerify":{elsewhere}{service}}}}}"#
        );
        client.send("POST", services, JSON, body.as_bytes()).expect_status(201);
    }
    let unavailable = (503, "service unavailable\n");
    let unknown = (404, "404 page not found\n");
    let rows = [
        ("GET", "/apis/example.com/v1", unavailable),
        ("GET", "/apis/example.com/v1/", unavailable),
        ("GET", "/apis/example.com/v1/namespaces/default/things/a", unavailable),
        ("POST", "/apis/example.com/v1/things", unavailable),
        ("GET", "/apis/example.com/v2/things", unknown),
        ("GET", "/apis/example.com/v3/things", unknown),
        ("GET", "/apis/com/v1.example", unknown),
        ("GET", "/apis/com", unknown),
        ("GET", "/apis/apps/v9/deployments", unavailable),
    ];
    for (method, path, (status, text)) in rows {
        let answer = client.send(method, path, JSON, b"{}").answer();
        assert_eq!((answer.status, answer.text().as_str()), (status, text), "{method} {path}");
    }
    let group = client.get("/apis/example.com").expect_status(200);
    let version = |name: &str| json!({"groupVersion": format!("example.com/{name}"), "version": name});
    assert_eq!(group["versions"], json!([version("v2"), version("v1")]));
    assert_eq!(group["preferredVersion"], version("v2"));
    let listed = client.get("/apis").expect_status(200);
    let names: Vec<_> = listed["groups"].as_array().expect("groups").iter().map(|group| &group["name"]).collect();
    assert_eq!(names[..3], ["apiregistration.k8s.io", "first.example.com", "apps"]);
    assert_eq!(names[names.len() - 2..], ["example.com", "example.net"]);
    assert_eq!(listed["groups"][2]["versions"][1]["groupVersion"], "apps/v9");
    // The aggregated form contains only the version, marked as stale.
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let groups = get(&mut client, "/apis", aggregated).expect(200);
    let last = groups["items"].as_array().and_then(|groups| groups.last()).expect("groups");
    let stale = json!([{"version": "v1", "freshness": "Stale"}]);
    assert_eq!(last, &json!({"metadata": {"name": "example.com"}, "versions": stale}));
    let root = client.get("/").expect_status(200);
    assert!(root["paths"].as_array().is_some_and(|paths| paths.contains(&json!("/apis/example.net/v1"))));
    client.send("DELETE", &format!("{services}/v1.example.com"), "", b"").expect_status(200);
    assert_eq!(client.get("/apis/example.com/v1").answer().status, 404);
}
