//! Aggregated versions, served by a server that a test simulates, and by another instance of this program. Guarantees that
//! requests reach them with the identity of their user, and that their faults are contained. Must never depend on timing: every
//! state is polled.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::streams::{Backend, Head, Stream};
use crate::common::wait_for;
use pintle::extension_servers::ExtensionSockets;
use pintle_auth::authentication::{ClientCa, FrontProxy, FrontProxyHeaders, TokenFile};
use pintle_http::{TlsConfig, TlsMaterial};
use pintle_resource::{Resource, Storage};
use pintle_schema::ResourceNames;
use pintle_types::core::v1::ConfigMap;
use pintle_webhook::Identity;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tungstenite::Message;

const GROUP: &str = "fun.example.com";
const THINGS: &str = "/apis/fun.example.com/v1/namespaces/default/things";
const API_SERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1.fun.example.com";

/// A certificate and its key.
struct Pair {
    certificate: String,
    key: String,
}

impl Pair {
    fn new(name: &str) -> Pair {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        Pair { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
    }

    fn identity(&self) -> Identity {
        Identity { cert_pem: self.certificate.clone().into_bytes(), key_pem: self.key.clone().into_bytes() }
    }
}

/// A server with bearer tokens, and a client certificate for extension servers.
fn aggregator(identity: Option<Identity>) -> Fixture {
    Fixture::empty(|builder| {
        builder.aggregation().servers = Arc::new(ExtensionSockets::new(identity).expect("a certificate"));
        builder.generic().add_authenticator(Arc::new(TokenFile::parse("secret,jane,u7,\"a,b\"").expect("a token")));
    })
}

/// Registers the process on a local port as the server of the version.
fn register(fixture: &Fixture, port: u16, authority: &str) {
    let service = json!({"metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}});
    fixture.create("/api/v1/namespaces/default/services", &service);
    fixture.create(
        "/apis/apiregistration.k8s.io/v1/apiservices",
        &json!({"metadata": {"name": format!("v1.{GROUP}")}, "spec": {
            "group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": {"namespace": "default", "name": "api", "port": port},
            "caBundle": data_encoding::BASE64.encode(authority.as_bytes()),
        }}),
    );
}

fn condition(fixture: &Fixture) -> Value {
    let service = fixture.client().get(API_SERVICE).expect_status(200);
    service["status"]["conditions"][0].clone()
}

fn wait_for_condition(fixture: &Fixture, reason: &str) -> Value {
    wait_for(reason, || Some(condition(fixture)).filter(|condition| condition["reason"] == reason))
}

fn reply(stream: &mut dyn Stream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
}

/// Simulates a partly faulty extension server.
fn play(head: &Head, stream: &mut dyn Stream) {
    let json = "Content-Type: application/json\r\n";
    match head.path() {
        "/apis/fun.example.com/v1" => {
            let things = r#"{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get"]}"#;
            let list = format!(
                r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{GROUP}/v1","resources":[{things}]}}"#
            );
            reply(stream, "200 OK", json, &list);
        }
        path if path.ends_with("/redirect") => reply(stream, "302 Found", "Location: /elsewhere\r\n", ""),
        path if path.ends_with("/closed") => {}
        path if path.ends_with("/teapot") => {
            reply(stream, "418 I'm a teapot", "X-From: backend\r\n", "short and stout")
        }
        path if path.ends_with("/hangs") => {
            let _ = stream.read(&mut [0]);
        }
        path if path.ends_with("/connect") => {
            let mut socket = head.accept_websocket(stream, "v1.example.com");
            let user = head.header("x-remote-user").to_owned();
            while let Ok(Message::Text(text)) = socket.read() {
                socket.send(Message::text(format!("{user}: {text}"))).expect("sent");
            }
        }
        path if path.starts_with(THINGS) => {
            let length = head.header("content-length").parse().unwrap_or(0);
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            let names = ["user", "uid", "group", "extra-scopes"].map(|name| format!("x-remote-{name}"));
            let mut seen: serde_json::Map<String, Value> =
                names.iter().map(|name| (name.clone(), json!(head.headers(name)))).collect();
            for name in ["authorization", "x-test", "x-forwarded-uri", "x-forwarded-proto"] {
                seen.insert(name.to_owned(), json!(head.header(name)));
            }
            let seen = json!({"method": head.method, "target": head.target, "headers": seen,
                "body": String::from_utf8_lossy(&body)});
            reply(stream, "200 OK", &format!("{json}Access-Control-Allow-Origin: *\r\n"), &seen.to_string());
        }
        _ => reply(stream, "404 Not Found", "", ""),
    }
}

/// The same with an OpenAPI document of version 2, and none of version 3.
fn play_with_openapi(head: &Head, stream: &mut dyn Stream) {
    if head.path() != "/openapi/v2" {
        return play(head, stream);
    }
    let document = json!({"swagger": "2.0", "info": {"title": "things", "version": "v1"},
        "paths": {"/apis/fun.example.com/v1/things": {"get": {"operationId": "list", "produces": ["application/json"],
            "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Thing"}}}}}},
        "definitions": {"Thing": {"type": "object"}}});
    reply(stream, "200 OK", "Content-Type: application/json\r\n", &document.to_string());
}

fn played() -> (Fixture, Backend) {
    played_by(play)
}

fn played_by(play: fn(&Head, &mut dyn Stream)) -> (Fixture, Backend) {
    let backend = Backend::tls_named(Ipv4Addr::LOCALHOST.into(), "api.default.svc", None, play);
    let fixture = aggregator(None);
    register(&fixture, backend.port(), &backend.certificate());
    wait_for_condition(&fixture, "Passed");
    (fixture, backend)
}

fn jane(fixture: &Fixture) -> Client {
    fixture.client().with_header("Authorization", "Bearer secret")
}

#[test]
fn requests_are_passed_on_in_the_name_of_their_user() {
    let (fixture, _backend) = played();
    let mut client = jane(&fixture)
        .with_header("X-Remote-User", "root")
        .with_header("X-Remote-Group", "system:masters")
        .with_header("X-Remote-Extra-Scopes", "all")
        .with_header("X-Test", "passes");
    let path = format!("{THINGS}/a%2Fb?z=1&a=x%20y&a=%26");
    let answer = client.send("PUT", &path, "application/json", b"{\"a\": 1}").answer();
    assert_eq!(answer.header("access-control-allow-origin"), "");
    let seen = answer.expect(200);
    assert_eq!(seen["method"], "PUT");
    assert_eq!(seen["target"], format!("{THINGS}/a/b?a=x+y&a=%26&z=1"));
    assert_eq!(seen["body"], "{\"a\": 1}");
    let headers = json!({
        "x-remote-user": ["jane"], "x-remote-uid": ["u7"], "x-remote-group": ["a", "b", "system:authenticated"],
        "x-remote-extra-scopes": [], "authorization": "", "x-test": "passes",
        "x-forwarded-uri": format!("{THINGS}/a/b"), "x-forwarded-proto": "https",
    });
    assert_eq!(seen["headers"], headers);
    // A request without a body has none there either.
    assert_eq!(client.delete(&format!("{THINGS}/a")).expect_status(200)["body"], "");
}

#[test]
fn faults_of_an_extension_server_are_contained() {
    let (fixture, _backend) = played();
    let mut client = jane(&fixture);
    let mut get = |name: &str| client.get(&format!("{THINGS}/{name}")).answer();
    let redirected = get("redirect");
    assert_eq!((redirected.status, redirected.header("location")), (502, ""));
    assert_eq!(redirected.text(), "the backend attempted to redirect this request, which is not permitted");
    let closed = get("closed");
    assert_eq!((closed.status, closed.text().as_str()), (503, "error trying to reach service: EOF\n"));
    let teapot = get("teapot");
    assert_eq!((teapot.status, teapot.header("x-from"), teapot.text().as_str()), (418, "backend", "short and stout"));
    let late = get("hangs?timeout=1s");
    assert_eq!(late.expect(504)["reason"], "Timeout");
    // The version is gone with its API service, and its server with its service.
    fixture.client().delete("/api/v1/namespaces/default/services/api").expect_status(200);
    let condition = wait_for_condition(&fixture, "ServiceNotFound");
    assert_eq!(condition["message"], "service/api in \"default\" is not present");
    let metrics = fixture.client().get("/metrics").answer().text();
    for line in [
        "aggregator_unavailable_apiservice{name=\"v1.fun.example.com\"} 1",
        "aggregator_unavailable_apiservice_total{name=\"v1.fun.example.com\",reason=\"ServiceNotFound\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}");
    }
    for path in [THINGS, "/apis/fun.example.com/v1", "/apis/fun.example.com/v1/"] {
        let answer = fixture.client().get(path).answer();
        assert_eq!((answer.status, answer.text().as_str()), (503, "service unavailable\n"), "{path}");
    }
    // The server never had a document of OpenAPI.
    let answer = fixture.client().get("/openapi/v3/apis/fun.example.com/v1").answer();
    assert_eq!((answer.status, answer.text().as_str()), (404, ""));
    fixture.client().delete(API_SERVICE).expect_status(200);
    let answer = fixture.client().get(THINGS).answer();
    assert_eq!((answer.status, answer.text().as_str()), (404, "404 page not found\n"));
}

#[test]
fn an_extension_server_is_believed_for_its_authority_and_its_name_only() {
    for (name, authority, expected) in [
        ("api.default.svc", None, "certificate signed by unknown authority"),
        ("other.default.svc", Some(()), "not api.default.svc"),
    ] {
        let backend = Backend::tls_named(Ipv4Addr::LOCALHOST.into(), name, None, play);
        let fixture = aggregator(None);
        let authority = authority.map_or_else(|| Pair::new("ca").certificate, |()| backend.certificate());
        register(&fixture, backend.port(), &authority);
        let condition = wait_for_condition(&fixture, "FailedDiscoveryCheck");
        let message = condition["message"].as_str().unwrap_or_default();
        assert!(message.contains("tls: failed to verify certificate: x509: "), "{message}");
        assert!(message.contains(expected), "{message}");
        let answer = jane(&fixture).get(THINGS).answer();
        assert_eq!((answer.status, answer.text().as_str()), (503, "service unavailable\n"));
        let insecure = json!({"spec": {"insecureSkipTLSVerify": true, "caBundle": null}}).to_string();
        let patched = fixture.client().send("PATCH", API_SERVICE, MERGE_PATCH, insecure.as_bytes());
        patched.expect_status(200);
        wait_for_condition(&fixture, "Passed");
        jane(&fixture).get(THINGS).expect_status(200);
        // A connection that was accepted before does not hide that the certificate is verified again.
        let bundle = data_encoding::BASE64.encode(authority.as_bytes());
        let verified = json!({"spec": {"insecureSkipTLSVerify": null, "caBundle": bundle}}).to_string();
        let patched = fixture.client().send("PATCH", API_SERVICE, MERGE_PATCH, verified.as_bytes());
        patched.expect_status(200);
        wait_for_condition(&fixture, "FailedDiscoveryCheck");
    }
}

#[test]
fn a_version_whose_server_is_gone_is_unavailable() {
    let fixture = aggregator(None);
    // No process listens on the discard port.
    register(&fixture, 9, &Pair::new("ca").certificate);
    let condition = wait_for_condition(&fixture, "FailedDiscoveryCheck");
    let url = "https://127.0.0.1:9/apis/fun.example.com/v1";
    let expected = format!(
        "failing or missing response from {url}: Get \"{url}\": dial tcp 127.0.0.1:9: connect: connection refused"
    );
    assert_eq!((condition["status"].as_str(), condition["message"].as_str()), (Some("False"), Some(expected.as_str())));
}

#[test]
fn connections_are_handed_over() {
    let (fixture, _backend) = played();
    let headers = [("authorization", "Bearer secret"), ("sec-websocket-protocol", "v1.example.com")];
    let mut socket = fixture.websocket(&format!("{THINGS}/a/connect"), &headers).expect("a WebSocket");
    socket.send(Message::text("hello")).expect("sent");
    assert_eq!(socket.read().expect("an answer"), Message::text("jane: hello"));
    assert_eq!(fixture.websocket(&format!("{THINGS}/a/teapot"), &headers).map(drop), Err(418));
}

#[test]
fn openapi_of_version_2_is_shown_in_version_3() {
    let (fixture, _backend) = played_by(play_with_openapi);
    let mut client = jane(&fixture);
    let url = wait_for("the version in OpenAPI v3", || {
        let index = client.get("/openapi/v3").answer().json();
        index["paths"]["apis/fun.example.com/v1"]["serverRelativeURL"].as_str().map(str::to_owned)
    });
    let answer = client.get(&url).answer();
    assert_eq!(answer.header("cache-control"), "public, immutable");
    let document = answer.expect(200);
    assert_eq!(document["openapi"], "3.0.0");
    let schema = &document["paths"]["/apis/fun.example.com/v1/things"]["get"]["responses"]["200"]["content"];
    assert_eq!(schema["application/json"]["schema"]["$ref"], "#/components/schemas/Thing");
    let stale = client.get("/openapi/v3/apis/fun.example.com/v1?hash=0").answer();
    assert_eq!((stale.status, stale.header("location")), (301, url.as_str()));
}

/// Another server of this program, with a group of its own, that accepts only the front proxy's credentials.
fn extension(proxy: &Pair, own: &Pair) -> Fixture {
    let fixture = Fixture::empty(|builder| {
        let client_ca_pem = Some(proxy.certificate.clone().into_bytes());
        let (cert_chain_pem, key_pem) = (own.certificate.clone().into_bytes(), own.key.clone().into_bytes());
        let material = TlsMaterial { cert_chain_pem, key_pem, client_ca_pem, ..TlsMaterial::default() };
        builder.set_tls(Arc::new(TlsConfig::new(&material).expect("a pair")));
        let headers = FrontProxyHeaders {
            username: vec!["X-Remote-User".to_owned()],
            group: vec!["X-Remote-Group".to_owned()],
            ..FrontProxyHeaders::default()
        };
        let ca = Arc::new(ClientCa::from_pem(proxy.certificate.as_bytes()).expect("an authority"));
        builder.generic().add_authenticator(Arc::new(FrontProxy { ca, allowed_names: Vec::new(), headers }));
        builder.generic().set_anonymous(Arc::default());
    });
    let storage = Storage::named::<ConfigMap>("fun.example.com/v1", "Thing", "/registry/fun.example.com/things/");
    let things = Resource {
        storage: Some(storage.as_json()),
        ..Resource::named::<ConfigMap>(ResourceNames::namespaced(GROUP, "v1", "things", "thing", "Thing"))
    };
    fixture.api().registry.install(Arc::new(things));
    fixture
}

#[test]
fn another_server_of_this_program_extends_it() {
    let (proxy, own) = (Pair::new("front-proxy"), Pair::new("api.default.svc"));
    let extension = extension(&proxy, &own);
    let fixture = aggregator(Some(proxy.identity()));
    register(&fixture, extension.endpoint.address.port(), &own.certificate);
    wait_for_condition(&fixture, "Passed");
    let mut client = jane(&fixture);
    let mut watch = client.watch(&format!("{THINGS}?watch=true")).expect("a watch");
    let thing =
        json!({"kind": "Thing", "apiVersion": "fun.example.com/v1", "metadata": {"name": "a"}, "data": {"x": "y"}});
    let mut client = jane(&fixture);
    client.post(THINGS, &thing).expect_status(201);
    let (kind, seen) = watch.event();
    assert_eq!((kind.as_str(), &seen["data"]["x"]), ("ADDED", &json!("y")));
    let list = client.get(THINGS).expect_status(200);
    assert_eq!(list["items"][0]["metadata"]["name"], "a");

    let group = client.get("/apis/fun.example.com").expect_status(200);
    assert_eq!(group["preferredVersion"]["groupVersion"], "fun.example.com/v1");
    let resources = client.get("/apis/fun.example.com/v1").expect_status(200);
    assert_eq!(resources["resources"][0]["name"], "things");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let mut aggregated = jane(&fixture).with_header("Accept", accept);
    wait_for("the resources in aggregated discovery", || {
        let all = aggregated.get("/apis").expect_status(200);
        let found = all["items"].as_array()?.iter().find(|group| group["metadata"]["name"] == GROUP)?.clone();
        let version = &found["versions"][0];
        (version["freshness"] == "Current" && version["resources"][0]["resource"] == "things").then_some(())
    });
    wait_for("the version in OpenAPI v3", || {
        let index = client.get("/openapi/v3").answer().json();
        let url = index["paths"]["apis/fun.example.com/v1"]["serverRelativeURL"].as_str()?.to_owned();
        assert!(index["paths"]["apis/apps/v1"].is_object(), "the server's own are still there");
        let document = client.get(&url).expect_status(200);
        document["paths"].as_object()?.keys().any(|path| path.ends_with("/things")).then_some(())
    });
    wait_for("the version in OpenAPI v2", || {
        let document = client.get("/openapi/v2").expect_status(200);
        let paths = document["paths"].as_object()?;
        assert!(paths.contains_key("/api/v1/pods"));
        paths.contains_key("/apis/fun.example.com/v1/things").then_some(())
    });
    client.delete(API_SERVICE).expect_status(200);
    assert_eq!(client.get("/apis/fun.example.com").answer().status, 404);
    let document = client.get("/openapi/v2").expect_status(200);
    assert!(document["paths"]["/apis/fun.example.com/v1/things"].is_null());
}

#[test]
fn versions_of_this_server_are_never_proxied() {
    let (fixture, backend) = played();
    let taken = json!({"metadata": {"name": "v1.apps"}, "spec": {"insecureSkipTLSVerify": true,
        "service": {"namespace": "default", "name": "api", "port": backend.port()}}});
    let patch = taken.to_string();
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps";
    fixture.client().send("PATCH", path, MERGE_PATCH, patch.as_bytes()).expect_status(200);
    let list = fixture.client().get("/apis/apps/v1/deployments").expect_status(200);
    assert_eq!(list["kind"], "DeploymentList");
}
