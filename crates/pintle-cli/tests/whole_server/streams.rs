//! Streams through the server: logs, exec, attach, port forwarding and proxies against a kubelet of the test's own, and
//! watches over WebSockets.

use crate::common::DEADLINE;
use crate::common::fixture::{Fixture, POD_ADDRESS, connector};
use crate::common::http::Answered;
use crate::common::streams::{Backend, rest_of_head, upgrade_request};
use pintle::SocketConnector;
use pintle_auth::authentication::TokenFile;
use pintle_http::ClientTlsMaterial;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc;
use tungstenite::Message;

#[test]
fn logs_flow_while_they_are_written() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let kubelet = Backend::tls(move |request, stream| {
        assert_eq!(request.target, "/containerLogs/default/p/c?follow=true&tailLines=5&timestamps=true");
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n").expect("sent");
        stream.flush().expect("sent");
        let _ = released.lock().expect("one reader").recv();
        stream.write_all(b"7\r\nsecond\n\r\n0\r\n\r\n").expect("sent");
        stream.flush().expect("sent");
    });
    let fixture = Fixture::start(kubelet.port());
    let mut stream = fixture.connect();
    let path = "/api/v1/namespaces/default/pods/p/log?timestamps=1&follow=true&tailLines=5&pretty=true";
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut stream = BufReader::new(stream);
    let head = rest_of_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-type: text/plain\r\n"), "{head}");
    let mut lines = (&mut stream).lines().map(|line| line.expect("a line"));
    assert_eq!(lines.find(|line| line == "first").as_deref(), Some("first"));
    release.send(()).expect("the kubelet waits");
    assert_eq!(lines.find(|line| line == "second").as_deref(), Some("second"));
}

#[test]
fn a_kubelets_error_has_the_reference_message() {
    let kubelet = Backend::tls(|_, stream| {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone").expect("sent");
    });
    let fixture = Fixture::start(kubelet.port());
    let answer = fixture.client().get("/api/v1/namespaces/default/pods/p/log").expect_status(404);
    assert_eq!(answer["message"], "the server could not find the requested resource ( pods/log p)");
    assert_eq!(answer["reason"], "NotFound");
    let path = "/api/v1/namespaces/default/pods/p/log?stream=Stdout";
    let refused = fixture.client().get(path).expect_status(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "stream", "logs of one stream need the feature gate");
}

#[test]
fn unreachable_backends() {
    let port =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()).expect("a port").port();
    let fixture = Fixture::start(port);
    let base = "/api/v1/namespaces/default/pods/p";
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    let log = fixture.client().get(&format!("{base}/log")).expect_status(500);
    assert_eq!(log["message"], format!("Get \"https://127.0.0.1:{port}/containerLogs/default/p/c\": {refused}"));
    let proxied = fixture.client().get(&format!("{base}/proxy/")).expect_status(503);
    assert_eq!(proxied["message"], format!("error trying to reach service: {refused}"));
    let plain = fixture.client().send("POST", &format!("{base}/exec?command=ls"), "", b"").expect_status(400);
    assert_eq!(plain["message"], "Upgrade request required");
    let mut stream = fixture.connect();
    stream.write_all(upgrade_request(&format!("{base}/exec?command=ls"), "SPDY/3.1").as_bytes()).expect("sent");
    let mut stream = BufReader::new(stream);
    assert!(rest_of_head(&mut stream).starts_with("HTTP/1.1 500"));
    let mut body = String::new();
    stream.read_line(&mut body).expect("a Status");
    assert!(body.contains(&format!("error dialing backend: {refused}")), "{body}");
}

#[test]
fn an_upgraded_connection_is_passed_through_byte_for_byte() {
    let kubelet = Backend::tls(|request, stream| {
        assert_eq!(request.target, "/exec/default/p/c?command=echo&command=a+b&error=1&output=1");
        assert_eq!(request.header("upgrade"), "SPDY/3.1");
        assert_eq!(request.header("authorization"), "", "a client's token is not for kubelets");
        stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello")
            .expect("sent");
        stream.flush().expect("sent");
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).expect("four bytes");
        bytes.reverse();
        stream.write_all(&bytes).expect("sent");
        stream.flush().expect("sent");
    });
    let fixture = Fixture::start(kubelet.port());
    let path = "/api/v1/namespaces/default/pods/p/exec?command=echo&command=a%20b&stdout=1&stderr=true&stdin=0";
    let mut stream = fixture.connect();
    stream.write_all(upgrade_request(path, "SPDY/3.1").as_bytes()).expect("sent");
    let mut stream = BufReader::new(stream);
    let head = rest_of_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("upgrade: SPDY/3.1\r\n"), "{head}");
    let mut hello = [0; 5];
    stream.read_exact(&mut hello).expect("a greeting");
    assert_eq!(&hello, b"hello");
    stream.get_mut().write_all(b"\0abc").expect("sent");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the end");
    assert_eq!(rest, b"cba\0");
}

#[test]
fn websockets_reach_the_kubelet() {
    let kubelet = Backend::tls(|request, stream| {
        assert_eq!(request.target, "/portForward/default/p?port=80%2C81");
        assert_eq!(request.header("sec-websocket-protocol"), "v5.channel.k8s.io");
        let mut socket = request.accept_websocket(stream, "v5.channel.k8s.io");
        while let Ok(message) = socket.read() {
            if message.is_binary() {
                socket.send(message).expect("sent");
            }
        }
    });
    let fixture = Fixture::start(kubelet.port());
    let path = "/api/v1/namespaces/default/pods/p/portforward?ports=80&ports=81";
    let mut socket = fixture.websocket(path, &[("sec-websocket-protocol", "v5.channel.k8s.io")]).expect("a WebSocket");
    let bytes: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    socket.send(Message::binary(bytes.clone())).expect("sent");
    assert_eq!(socket.read().expect("the echo").into_data(), bytes);
    socket.close(None).expect("closed");
    while socket.read().is_ok() {}
}

#[test]
fn a_shutdown_ends_streams() {
    let kubelet = Backend::tls(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
            .expect("sent");
        stream.flush().expect("sent");
        // Until the server goes.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut fixture = Fixture::start(kubelet.port());
    let mut stream = fixture.connect();
    stream
        .write_all(upgrade_request("/api/v1/namespaces/default/pods/p/attach?stdin=1", "SPDY/3.1").as_bytes())
        .expect("sent");
    let mut stream = BufReader::new(stream);
    assert!(rest_of_head(&mut stream).starts_with("HTTP/1.1 101"));
    fixture.stop();
    assert_eq!(stream.read_to_end(&mut Vec::new()).expect("an end"), 0);
}

/// An address of Endpoints that refers to the pod.
fn ready(address: &str) -> Value {
    json!({"ip": address, "targetRef": {"kind": "Pod", "namespace": "default", "name": "p"}})
}

#[test]
fn pods_and_services_are_proxied() {
    let backend = Backend::plain(|request, stream| {
        let (headers, body) = match request.path() {
            "/page" => ("Content-Type: text/html; charset=utf-8\r\n", "<a href=\"/next\">next</a>".to_owned()),
            "/moved" => ("Location: /there?x=1\r\nAccess-Control-Allow-Origin: *\r\n", String::new()),
            _ => {
                let length: usize = request.header("content-length").parse().unwrap_or(0);
                let mut body = vec![0; length];
                stream.read_exact(&mut body).expect("the body");
                let forwarded = request.header("x-forwarded-uri");
                let secrets = ["authorization", "x-remote-user", "x-remote-extra-a"];
                let leaked = secrets.map(|name| request.header(name)).concat();
                ("", format!("{} {} {} {length}{leaked}", request.method, request.target, forwarded))
            }
        };
        let code = if request.path() == "/moved" { "302 Found" } else { "200 OK" };
        write!(stream, "HTTP/1.1 {code}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).expect("sent");
    });
    let fixture = Fixture::start(backend.port());
    fixture.create(
        "/api/v1/namespaces/default/services",
        &json!({
            "metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 8080, "targetPort": 80}]},
        }),
    );
    let endpoints = "/api/v1/namespaces/default/endpoints";
    let service = "/api/v1/namespaces/default/services/s:web/proxy";
    let refused = |path: &str, status: u16| {
        fixture.client().get(path).expect_status(status)["message"].as_str().unwrap_or("").to_owned()
    };
    let other_port = "/api/v1/namespaces/default/services/s:81/proxy";
    assert_eq!(refused(service, 404), "services \"s\" not found");
    assert_eq!(refused("/api/v1/namespaces/default/services/none/proxy/", 404), "services \"none\" not found");
    assert_eq!(refused(other_port, 503), "no service port 81 found for service \"s\"");
    // What endpoint slices say is not asked for.
    fixture.create(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        &json!({
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "s"}}, "addressType": "IPv4",
            "ports": [{"name": "web", "port": 80}],
            "endpoints": [{
                "addresses": [POD_ADDRESS], "targetRef": {"kind": "Pod", "namespace": "default", "name": "p"},
            }],
        }),
    );
    assert_eq!(refused(service, 404), "services \"s\" not found");
    fixture.create(endpoints, &json!({"metadata": {"name": "s"}}));
    assert_eq!(refused(service, 503), "no endpoints available for service \"s\"");
    // Endpoints do without the service, unless a port's number is to be found.
    fixture.create(endpoints, &json!({"metadata": {"name": "alone"}}));
    let alone = |port: &str| format!("/api/v1/namespaces/default/services/alone{port}/proxy/");
    assert_eq!(refused(&alone(""), 503), "no endpoints available for service \"alone\"");
    assert_eq!(refused(&alone(":80"), 404), "services \"alone\" not found");
    let subset = |addresses: Value| {
        json!({
            "metadata": {"name": "s"},
            "subsets": [
                {"addresses": addresses, "ports": [{"name": "web", "port": 80}]},
                {"notReadyAddresses": [ready(POD_ADDRESS)], "ports": [{"name": "web", "port": 80}]},
                {"addresses": [ready(POD_ADDRESS)], "ports": [{"name": "other", "port": 80}]},
            ],
        })
    };
    let update = |addresses: Value| {
        let body = subset(addresses).to_string();
        let path = format!("{endpoints}/s");
        fixture.client().send("PUT", &path, "application/json", body.as_bytes()).expect_status(200);
    };
    let elsewhere = json!({"kind": "Pod", "namespace": "other", "name": "p"});
    let unusable = json!([ready("10.9.9.9"), {"ip": POD_ADDRESS}, {"ip": POD_ADDRESS, "targetRef": elsewhere}]);
    update(unusable);
    assert_eq!(refused(service, 503), "no endpoints available for service \"s:web\"");
    update(json!([ready("10.9.9.9"), ready(POD_ADDRESS)]));

    for base in ["/api/v1/namespaces/default/pods/p/proxy", service, "/api/v1/namespaces/default/services/s:8080/proxy"]
    {
        let mut client = fixture.client().with_header("X-Remote-User", "eve").with_header("X-Remote-Extra-A", "b");
        let answer = client.get(&format!("{base}/a/?q=%20")).answer();
        answer.expect_text(&format!("GET /a/?q=%20 {base}/a/ 0"));
        // Larger than objects may be: it is not held.
        let body = vec![b'x'; 5 << 20];
        let answer = fixture.client().send("POST", &format!("{base}/x%2Fy"), "text/plain", &body).answer();
        answer.expect_text(&format!("POST /x/y {base}/x/y {}", body.len()));
        let page = fixture.client().get(&format!("{base}/page")).answer();
        page.expect_text(&format!("<a href=\"{base}/next\">next</a>"));
        let moved = fixture.client().get(&format!("{base}/moved")).answer();
        let header = |name: &str| moved.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone());
        assert_eq!((moved.status, header("location")), (302, Some(format!("{base}/there?x=1"))));
        assert_eq!(header("access-control-allow-origin"), None);
        let root = fixture.client().get(&format!("{base}?x=1")).answer();
        assert_eq!(root.status, 301);
        assert!(root.headers.contains(&("location".to_owned(), format!("{base}/?x=1"))), "{:?}", root.headers);
    }
}

#[test]
fn a_kubelet_must_be_who_it_should_be() {
    let kubelet = Backend::tls(|request, stream| {
        assert!(request.target.starts_with("/containerLogs/"));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").expect("sent");
    });
    let other = Backend::tls(|_, _| {});
    let log = "/api/v1/namespaces/default/pods/p/log";
    for (authority, expected) in [(kubelet.certificate(), 200), (other.certificate(), 500)] {
        let fixture = Fixture::start_with(kubelet.port(), |builder| {
            builder.generic().set_connector(Arc::new(connector(Some(authority.into_bytes()))));
        });
        let answer = fixture.client().get(log).answer();
        assert_eq!(answer.status, expected, "{}", answer.text());
        let unverified = fixture.client().get(&format!("{log}?insecureSkipTLSVerifyBackend=true")).answer();
        unverified.expect_text("hi");
    }
}

#[test]
fn only_kubelets_are_shown_the_servers_client_certificate() {
    let made = rcgen::generate_simple_self_signed(["apiserver".to_owned()]).expect("a certificate");
    let backend = || {
        let client = Some(made.cert.der().clone());
        Backend::tls_at(Ipv4Addr::LOCALHOST.into(), client, |request, stream| {
            assert_eq!(request.target, "/metrics/cadvisor?x=1");
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("sent");
        })
    };
    let (kubelet, other) = (backend(), backend());
    let identity = Some((made.cert.pem().into_bytes(), made.signing_key.serialize_pem().into_bytes()));
    let fixture = Fixture::start_with(kubelet.port(), |builder| {
        let material = ClientTlsMaterial { ca_pem: None, identity };
        builder.generic().set_connector(Arc::new(SocketConnector::new(&material, DEADLINE).expect("a connector")));
    });
    let get = |node: &str| fixture.client().get(&format!("/api/v1/nodes/{node}/proxy/metrics/cadvisor?x=1"));
    get("n").answer().expect_text("ok");
    get(&format!("https:n:{}", kubelet.port())).answer().expect_text("ok");
    // Other ports of a node are allowed; ports of this machine are not.
    get(&format!("https:n:{}", other.port())).expect_status(400);
    get("https:n:x").expect_status(400);
}

#[test]
fn a_node_may_have_an_address_of_the_newer_kind() {
    let Ok(free) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return println!("SKIPPED: this machine has no IPv6");
    };
    drop(free);
    let kubelet = Backend::tls_at(Ipv6Addr::LOCALHOST.into(), None, |request, stream| {
        assert_eq!(request.path(), "/containerLogs/default/p/c");
        let host = request.header("host");
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{host}", host.len()).expect("sent");
    });
    let authority = kubelet.certificate();
    let fixture = Fixture::start_with(kubelet.port(), |builder| {
        builder.generic().set_connector(Arc::new(connector(Some(authority.into_bytes()))));
    });
    fixture.patch_node(&json!({"addresses": [{"type": "InternalIP", "address": "::1"}]}));
    let log = fixture.client().get("/api/v1/namespaces/default/pods/p/log").answer();
    log.expect_text(&format!("[::1]:{}", kubelet.port()));
}

#[test]
fn watches_over_websockets() {
    let fixture = Fixture::start(1);
    let path = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dw";
    let mut json = fixture.websocket(path, &[]).expect("a WebSocket");
    let protobuf = "application/vnd.kubernetes.protobuf;stream=watch";
    let headers = [("accept", protobuf), ("sec-websocket-protocol", "base64.binary.k8s.io")];
    let mut binary = fixture.websocket(path, &headers).expect("a WebSocket");
    // What clients say is ignored, pings are answered.
    json.send(Message::text("anybody there?")).expect("sent");
    json.send(Message::Ping("x".into())).expect("sent");
    assert_eq!(json.read().expect("an answer"), Message::Pong("x".into()));
    for name in ["w", "other"] {
        fixture.create("/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": name}}));
    }
    fixture.client().delete("/api/v1/namespaces/default/configmaps/w").expect_status(200);
    for kind in ["ADDED", "DELETED"] {
        let Message::Text(text) = json.read().expect("an event") else { panic!("JSON is text") };
        let event: Value = serde_json::from_str(&text).expect("an event");
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!(kind), &json!("w")));
        let Message::Binary(bytes) = binary.read().expect("an event") else { panic!("protobuf is binary") };
        assert_eq!(bytes[..2 + kind.len()], [&[0x0a, kind.len() as u8], kind.as_bytes()].concat(), "{bytes:?}");
    }
    json.close(None).expect("closed");
    while json.read().is_ok() {}
}

#[test]
fn a_websocket_may_bring_its_token_as_a_protocol() {
    let fixture = Fixture::empty(|builder| {
        builder.generic().set_anonymous(Arc::default());
        builder.generic().add_authenticator(Arc::new(TokenFile::parse("secret,admin,1").expect("a token")));
    });
    let path = "/api/v1/configmaps?watch=true";
    let offer = |protocols: &str| fixture.websocket(path, &[("sec-websocket-protocol", protocols)]).map(drop);
    assert_eq!(fixture.websocket(path, &[]).map(drop), Err(401));
    assert_eq!(offer("base64url.bearer.authorization.k8s.io.c2VjcmV0,base64.binary.k8s.io"), Ok(()));
    assert_eq!(offer("base64url.bearer.authorization.k8s.io.d3Jvbmc,base64.binary.k8s.io"), Err(401));
    assert_eq!(offer("base64url.bearer.authorization.k8s.io.c2VjcmV0"), Err(401));
}
