//! Calls of webhooks that a test serves over TLS, and their errors. Guarantees that a webhook that hangs, closes, or sends
//! without end is abandoned in time and within the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::Request;
use pintle_webhook::{
    Address, Call, CallError, Clients, Credentials, InProcess, Pieces, ResolveError, ServiceReference, ServiceResolver,
    Settings, StreamingClient, TlsSettings,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio_rustls::TlsAcceptor;

/// The behaviour of a server after it has read a request.
#[derive(Clone)]
enum Behaviour {
    Answer(String),
    /// The answer, when as many requests are there as the barrier is for.
    Together(String, Arc<Barrier>),
    Hang,
    Close,
    Endless,
    Truncated,
    /// A response that ends with the connection, which ends without the end of TLS.
    Abrupt,
}

struct Backend {
    port: u16,
    ca_pem: Vec<u8>,
    connections: Arc<AtomicUsize>,
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A certificate for these names, and a server's configuration with it.
fn certified(names: &[&str], is_ca: bool) -> (ServerConfig, Vec<u8>) {
    let key = KeyPair::generate().expect("a key");
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("names");
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let cert = params.self_signed(&key).expect("a certificate");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))
        .expect("a configuration");
    (config, cert.pem().into_bytes())
}

async fn serve(names: &[&str], is_ca: bool, behaviour: Behaviour) -> Backend {
    let (config, ca_pem) = certified(names, is_ca);
    serve_with(config, ca_pem, behaviour).await
}

async fn serve_with(config: ServerConfig, ca_pem: Vec<u8>, behaviour: Behaviour) -> Backend {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, behaviour) = (acceptor.clone(), behaviour.clone());
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(tcp).await else { return };
                let mut buffer = vec![0; 65536];
                loop {
                    let mut read = Vec::new();
                    while !read.ends_with(b"}") && !read.starts_with(b"GET") {
                        match stream.read(&mut buffer).await {
                            Ok(0) | Err(_) => return,
                            Ok(count) => read.extend_from_slice(&buffer[..count]),
                        }
                    }
                    match &behaviour {
                        Behaviour::Answer(text) => stream.write_all(text.as_bytes()).await.expect("written"),
                        Behaviour::Together(text, all) => {
                            all.wait().await;
                            stream.write_all(text.as_bytes()).await.expect("written");
                        }
                        Behaviour::Hang => std::future::pending().await,
                        Behaviour::Close => {
                            let _ = stream.shutdown().await;
                            return;
                        }
                        Behaviour::Abrupt => {
                            let text = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":1}";
                            stream.write_all(text).await.expect("written");
                            stream.flush().await.expect("flushed");
                            return;
                        }
                        Behaviour::Truncated => {
                            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
                            stream.write_all(head).await.expect("written");
                            let _ = stream.shutdown().await;
                            return;
                        }
                        Behaviour::Endless => {
                            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                            stream.write_all(head).await.expect("written");
                            let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
                            while stream.write_all(chunk.as_bytes()).await.is_ok() {}
                            return;
                        }
                    }
                }
            });
        }
    });
    Backend { port, ca_pem, connections }
}

fn settings(url: String, ca_pem: &[u8]) -> Settings {
    Settings {
        address: Address::Url(url),
        tls: TlsSettings { ca_pem: ca_pem.to_vec(), ..TlsSettings::default() },
        credentials: Credentials::default(),
        user_agent: "test".to_owned(),
    }
}

fn call(timeout: Duration) -> Call {
    Call { body: Bytes::from_static(b"{}"), timeout, shown_timeout: timeout, max_answer_bytes: 1 << 20 }
}

const TIME: Duration = Duration::from_secs(20);

#[tokio::test]
async fn connections_are_kept_and_shared() {
    // A self-signed certificate that may sign others is its own authority, too.
    for is_ca in [false, true] {
        let backend = serve(&["127.0.0.1"], is_ca, Behaviour::Answer(ok("{\"a\":1}"))).await;
        let clients = Clients::default();
        for path in ["a", "b", "c"] {
            let url = format!("https://127.0.0.1:{}/{path}", backend.port);
            let client = clients.client(settings(url, &backend.ca_pem)).expect("a client");
            let _kept = client.clone();
            assert_eq!(client.post(call(TIME)).await.expect("an answer").body, "{\"a\":1}");
            std::mem::forget(client);
        }
        assert_eq!(backend.connections.load(Ordering::SeqCst), 1);
    }
}

fn nothing() -> Pieces {
    stream::empty().boxed()
}

fn something() -> Pieces {
    stream::iter([Ok(Bytes::from_static(b"{}"))]).boxed()
}

/// A server without TLS whose connections break at their second request; counts connections.
async fn breaks_at_second_request() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut buffer = vec![0; 65536];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                let _ = stream.read(&mut buffer).await;
            });
        }
    });
    (port, connections)
}

#[tokio::test]
async fn a_connection_may_end_without_the_end_of_tls() {
    let backend = serve(&["127.0.0.1"], false, Behaviour::Abrupt).await;
    let clients = Clients::default();
    let url = format!("https://127.0.0.1:{}/x", backend.port);
    let client = clients.client(settings(url, &backend.ca_pem)).expect("a client");
    assert_eq!(client.post(call(TIME)).await.expect("an answer").body, "{\"a\":1}");
}

/// A server without TLS that gives one connection this response.
async fn answers(response: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.read(&mut vec![0; 65536]).await;
        let _ = stream.write_all(response.as_bytes()).await;
    });
    port
}

#[tokio::test]
async fn heads_may_be_long_and_folded() {
    let many = |count: usize| (0..count).map(|at| format!("X-{at}: a\r\n")).collect::<String>();
    for (headers, name, expected) in [
        (many(300), "x-299", Some("a")),
        ("X-F: a\r\n b\r\n".to_owned(), "x-f", Some("a b")),
        (many(5000), "x-0", None),
    ] {
        for pooled in [true, false] {
            let port = answers(format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n")).await;
            let client =
                StreamingClient::new(&TlsSettings { insecure: true, ..TlsSettings::default() }).expect("a client");
            let request =
                Request::builder().uri(format!("http://127.0.0.1:{port}/")).body(nothing()).expect("a request");
            let answer = if pooled { client.send(request).await } else { client.upgrade(request).await };
            let found = answer.ok().and_then(|answer| answer.headers().get(name).cloned());
            assert_eq!(found.as_ref().map(|value| value.as_bytes()), expected.map(str::as_bytes), "{name} {pooled}");
        }
    }
}

/// The method, a header, the body, and whether the request is repeated.
type Repeated = (&'static str, Option<&'static str>, fn() -> Pieces, bool);

#[tokio::test]
async fn reads_are_repeated_when_a_used_connection_breaks() {
    let rows: [Repeated; 6] = [
        ("GET", None, nothing, true),
        ("HEAD", None, nothing, true),
        ("OPTIONS", None, nothing, true),
        ("DELETE", None, nothing, false),
        ("DELETE", Some("x-idempotency-key"), nothing, true),
        ("GET", None, something, false),
    ];
    for (method, header, body, is_repeated) in rows {
        // The connection is kept once its response has ended. A request that comes earlier has one of its own, and shows nothing.
        let mut outcome = (true, 2);
        for pause in [10, 100, 1_000, 10_000] {
            let (port, connections) = breaks_at_second_request().await;
            let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
            let client = StreamingClient::new(&tls).expect("a client");
            let request = |method: &str, body: Pieces| {
                let request = Request::builder().method(method).uri(format!("http://127.0.0.1:{port}/"));
                let request = header.into_iter().fold(request, |request, name| request.header(name, "1"));
                request.body(body).expect("a request")
            };
            client.send(request("GET", nothing())).await.expect("the first answer");
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let second = client.send(request(method, body())).await;
            outcome = (second.is_ok(), connections.load(Ordering::SeqCst));
            if is_repeated || outcome != (true, 2) {
                break;
            }
        }
        assert_eq!(outcome, (is_repeated, if is_repeated { 2 } else { 1 }), "{method} {header:?}");
    }
}

#[tokio::test]
async fn failures() {
    let rows = [
        (Behaviour::Close, TIME, "Post \"https://127.0.0.1:PORT/x?timeout=20s\": EOF"),
        (
            Behaviour::Hang,
            Duration::from_millis(100),
            "Post \"https://127.0.0.1:PORT/x?timeout=100ms\": context deadline exceeded",
        ),
        // It would wait longer than the call may take.
        (
            Behaviour::Answer("HTTP/1.1 429 x\r\nContent-Length: 0\r\nRetry-After: 9\r\n\r\n".to_owned()),
            Duration::from_millis(300),
            "Post \"https://127.0.0.1:PORT/x?timeout=300ms\": context deadline exceeded",
        ),
        (
            Behaviour::Endless,
            TIME,
            "unexpected error when reading response body. Please retry. Original error: the response is larger than \
             1048576 bytes",
        ),
        (
            Behaviour::Truncated,
            TIME,
            "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
        ),
        (
            Behaviour::Answer("HTTP/1.1 500 x\r\nContent-Length: 4\r\n\r\noops".to_owned()),
            TIME,
            "an error on the server (\"oops\") has prevented the request from succeeding",
        ),
        (
            Behaviour::Answer("HTTP/1.1 307 x\r\nContent-Length: 0\r\nLocation: /y\r\n\r\n".to_owned()),
            TIME,
            "Post \"https://127.0.0.1:PORT/y\": stopped after 10 redirects",
        ),
    ];
    for (behaviour, timeout, expected) in rows {
        let backend = serve(&["127.0.0.1"], false, behaviour).await;
        let url = format!("https://127.0.0.1:{}/x", backend.port);
        let client = Clients::default().client(settings(url, &backend.ca_pem)).expect("a client");
        let error = client.post(call(timeout)).await.expect_err("a failure");
        assert_eq!(error.to_string(), expected.replace("PORT", &backend.port.to_string()));
    }
}

#[tokio::test]
async fn connection_refused() {
    let client = Clients::default().client(settings("https://127.0.0.1:1".to_owned(), b"")).expect("a client");
    let error = client.post(call(TIME)).await.expect_err("a failure").to_string();
    assert_eq!(error, "Post \"https://127.0.0.1:1/?timeout=20s\": dial tcp 127.0.0.1:1: connect: connection refused");
    let client = Clients::default().client(settings("https://127.0.0.1:99999/a b".to_owned(), b"")).expect("a client");
    let error = client.post(call(TIME)).await.expect_err("a failure").to_string();
    assert_eq!(error, "Post \"https://127.0.0.1:99999/a%20b?timeout=20s\": dial tcp: address 99999: invalid port");
}

#[tokio::test]
async fn certificates() {
    let good = serve(&["127.0.0.1"], false, Behaviour::Answer(ok("{}"))).await;
    let named = serve(&["a.example", "*.b.example"], false, Behaviour::Answer(ok("{}"))).await;
    let rows = [
        (good.port, &named.ca_pem, "certificate signed by unknown authority"),
        (named.port, &named.ca_pem, "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
    ];
    for (port, ca_pem, why) in rows {
        let client =
            Clients::default().client(settings(format!("https://127.0.0.1:{port}"), ca_pem)).expect("a client");
        let error = client.post(call(TIME)).await.expect_err("a failure").to_string();
        let expected =
            format!("Post \"https://127.0.0.1:{port}/?timeout=20s\": tls: failed to verify certificate: x509: {why}");
        assert_eq!(error, expected);
    }
    let mut insecure = settings(format!("https://127.0.0.1:{}", named.port), &good.ca_pem);
    insecure.tls.insecure = true;
    let client = Clients::default().client(insecure).expect("a client");
    assert!(client.post(call(TIME)).await.is_ok());
    let error = Clients::default().client(settings("https://h".to_owned(), b"nothing")).expect_err("refused");
    assert_eq!(error.to_string(), "unable to load root certificates: unable to parse bytes as PEM block");
}

struct OneService(u16);

impl ServiceResolver for OneService {
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), ResolveError> {
        match (namespace, name, port) {
            ("ns", "s", 8443) => Ok(("127.0.0.1".to_owned(), self.0)),
            _ => Err(ResolveError(format!("service {name:?} not found"))),
        }
    }
}

#[tokio::test]
async fn services() {
    let backend = serve(&["s.ns.svc"], false, Behaviour::Answer(ok("{}"))).await;
    let clients = Clients::new(Arc::new(OneService(backend.port)));
    for (name, expected) in
        [("s", Ok(())), ("t", Err("Post \"https://t.ns.svc:8443/a?timeout=20s\": service \"t\" not found".to_owned()))]
    {
        let service =
            ServiceReference { namespace: "ns".to_owned(), name: name.to_owned(), port: 8443, path: "a/".to_owned() };
        let settings = Settings { address: Address::Service(service), ..settings(String::new(), &backend.ca_pem) };
        let outcome = clients.client(settings).expect("a client").post(call(TIME)).await;
        assert_eq!(outcome.map(|_| ()).map_err(|error| error.to_string()), expected);
    }
}

/// Names one port after the other.
struct Alternating(Vec<u16>, AtomicUsize);

impl ServiceResolver for Alternating {
    fn resolve(&self, _: &str, _: &str, _: u16) -> Result<(String, u16), ResolveError> {
        let at = self.1.fetch_add(1, Ordering::SeqCst) % self.0.len();
        Ok(("127.0.0.1".to_owned(), self.0[at]))
    }
}

fn service() -> Address {
    let [namespace, name, path] = ["ns", "s", ""].map(str::to_owned);
    Address::Service(ServiceReference { namespace, name, port: 443, path })
}

#[tokio::test]
async fn calls_of_a_service_spread_over_its_endpoints() {
    let (config, ca_pem) = certified(&["s.ns.svc"], false);
    let mut backends = Vec::new();
    for body in ["{\"at\":1}", "{\"at\":2}"] {
        backends.push(serve_with(config.clone(), ca_pem.clone(), Behaviour::Answer(ok(body))).await);
    }
    let ports = backends.iter().map(|backend| backend.port).collect();
    let clients = Clients::new(Arc::new(Alternating(ports, AtomicUsize::new(0))));
    let settings = Settings { address: service(), ..settings(String::new(), &ca_pem) };
    let client = clients.client(settings).expect("a client");
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(client.post(call(TIME)).await.expect("an answer").body);
    }
    assert_eq!(answers, ["{\"at\":1}", "{\"at\":2}"].repeat(3));
    // Each endpoint keeps its connection.
    let connections = backends.iter().map(|backend| backend.connections.load(Ordering::SeqCst));
    assert_eq!(connections.collect::<Vec<_>>(), [1, 1]);
}

/// Calls that are under way at a time.
const CONCURRENT: usize = 10;

#[tokio::test]
async fn concurrent_calls_by_http1_have_connections_of_their_own() {
    let together = Behaviour::Together(ok("{}"), Arc::new(Barrier::new(CONCURRENT)));
    let backend = serve(&["s.ns.svc"], false, together).await;
    let clients = Clients::new(Arc::new(Alternating(vec![backend.port], AtomicUsize::new(0))));
    let settings = Settings { address: service(), ..settings(String::new(), &backend.ca_pem) };
    let client = clients.client(settings).expect("a client");
    // Later calls find the connections of the first ones.
    for _ in 0..2 {
        let calls = (0..CONCURRENT).map(|_| client.post(call(TIME)));
        for answer in futures_util::future::join_all(calls).await {
            assert_eq!(answer.expect("an answer").body, "{}");
        }
        assert_eq!(backend.connections.load(Ordering::SeqCst), CONCURRENT);
    }
}

/// A server that speaks HTTP/2 and answers the requests of a connection together; counts connections.
async fn serve_http2() -> Backend {
    let (mut config, ca_pem) = certified(&["127.0.0.1"], false);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(tcp).await.expect("a handshake");
                let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
                let (mut waiting, mut count) = (Vec::new(), 1);
                while let Some(Ok((_, respond))) = connection.accept().await {
                    waiting.push(respond);
                    if waiting.len() < count {
                        continue;
                    }
                    // The first request comes alone.
                    count = CONCURRENT;
                    for mut respond in waiting.drain(..) {
                        let head = http::Response::builder().header("content-type", "application/json");
                        let mut body = respond.send_response(head.body(()).expect("a head"), false).expect("sent");
                        body.send_data(Bytes::from_static(b"{}"), true).expect("sent");
                    }
                }
            });
        }
    });
    Backend { port, ca_pem, connections }
}

#[tokio::test]
async fn concurrent_calls_by_http2_share_a_connection() {
    let backend = serve_http2().await;
    let mut settings = settings(format!("https://127.0.0.1:{}/x", backend.port), &backend.ca_pem);
    assert!(settings.address.allows_http2());
    settings.tls.http2 = true;
    let client = Clients::default().client(settings).expect("a client");
    client.post(call(TIME)).await.expect("the first answer");
    let calls = (0..CONCURRENT).map(|_| client.post(call(TIME)));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.expect("an answer").body, "{}");
    }
    assert_eq!(backend.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn closures_of_the_process() {
    let clients = Clients::default();
    let url =
        clients.register("my-hook", InProcess::new(|request| async move { http::Response::new(request.into_body()) }));
    let client = clients.client(settings(format!("{url}x"), b"")).expect("a client");
    assert_eq!(client.post(call(TIME)).await.expect("an answer").body, "{}");
    let error = clients.client(settings(url.replace("my", "your"), b"")).expect_err("refused");
    assert_eq!(error.to_string(), "no webhook \"your-hook\" is registered in this process");
    clients.register("my-hook", InProcess::new(|_| std::future::pending()));
    let client = clients.client(settings(url, b"")).expect("a client");
    let error = client.post(call(Duration::from_millis(10))).await.expect_err("a failure");
    assert!(error.is_timeout() && matches!(error, CallError::Unanswered { .. }), "{error}");
}
