//! The server on real sockets: both HTTP versions, with and without TLS, client certificates, shutdown, limits. Guarantees that
//! a connection behaves as `pintle_http` promises. Must never depend on fixed ports or on sleeping long enough.

mod client;
mod hostile;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pintle_http::{
    BodyError, BodyLimits, Incoming, LongRunning, ServerConfig, Service, Shutdown, TlsConfig, TlsMaterial, TlsVersion,
    read_body, serve,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use client::{Client, Identity, Pki};

const LIMIT: usize = 64 * 1024;
const SOON: Duration = Duration::from_secs(120);
/// More than a connection gathers before it writes.
const LARGE: usize = 256 * 1024;

/// Responds with what it saw; `/watch` never ends by itself, `/slow` waits for `release`, `/busy` works until `/relieve`.
#[derive(Clone, Default)]
struct Probe {
    release: Arc<tokio::sync::Notify>,
    slow_started: Arc<tokio::sync::Notify>,
    relieved: Arc<AtomicBool>,
}

#[derive(Default)]
struct Requests(AtomicUsize);

enum Answer {
    Full(Full<Bytes>),
    Endless {
        first: bool,
    },
    /// More than anybody reads.
    Flood,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Answer::Full(full) => Pin::new(full).poll_frame(cx),
            Answer::Flood => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'.'; 64 * 1024]))))),
            Answer::Endless { first } => match std::mem::take(first) {
                true => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"event\n"))))),
                false => Poll::Pending,
            },
        }
    }
}

impl Service for Probe {
    type Body = Answer;
    type State = Requests;
    async fn call(&self, request: Incoming<Requests>) -> Response<Answer> {
        let text = |text: String| Response::new(Answer::Full(Full::from(text)));
        let connection = &request.connection;
        let nth = connection.state.0.fetch_add(1, Ordering::Relaxed) + 1;
        match request.parts.uri.path() {
            "/info" => text(format!(
                "{:?} tls={} certs={} nth={nth}",
                request.parts.version,
                connection.tls,
                connection.client_certs.len()
            )),
            "/echo" => {
                match read_body(request.body, BodyLimits { bytes: LIMIT, ..BodyLimits::default() }, |_| true).await {
                    Ok(bytes) => Response::new(Answer::Full(Full::new(bytes))),
                    Err(BodyError::TooLarge { limit }) => {
                        let mut response = text(format!("limit {limit}"));
                        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
                        response
                    }
                    Err(error) => text(error.to_string()),
                }
            }
            "/busy" => {
                self.slow_started.notify_one();
                let until = Instant::now() + SOON;
                while !self.relieved.load(Ordering::Relaxed) && Instant::now() < until {
                    std::thread::yield_now();
                }
                text(format!("relieved: {}", self.relieved.load(Ordering::Relaxed)))
            }
            "/relieve" => {
                self.relieved.store(true, Ordering::Relaxed);
                text(String::new())
            }
            "/slow" => {
                self.slow_started.notify_one();
                self.release.notified().await;
                text("done".to_owned())
            }
            "/large" => Response::new(Answer::Full(Full::from(vec![b'.'; LARGE]))),
            "/flood" => Response::new(Answer::Flood),
            _ => {
                let mut response = Response::new(Answer::Endless { first: true });
                if request.parts.uri.path() == "/watch" {
                    response.extensions_mut().insert(LongRunning);
                }
                response
            }
        }
    }
}

struct Running {
    port: u16,
    probe: Probe,
    shutdown: Shutdown,
    task: JoinHandle<std::io::Result<()>>,
}

impl Running {
    async fn start(tls: Option<TlsConfig>, config: ServerConfig) -> Running {
        Running::on(TcpListener::bind("127.0.0.1:0").await.expect("bind"), tls, config)
    }

    fn on(listener: TcpListener, tls: Option<TlsConfig>, config: ServerConfig) -> Running {
        let port = listener.local_addr().expect("bound").port();
        let (probe, shutdown) = (Probe::default(), Shutdown::new());
        let task = tokio::spawn(serve(listener, tls.map(Arc::new), probe.clone(), config, shutdown.clone()));
        Running { port, probe, shutdown, task }
    }

    async fn plain() -> Running {
        Running::start(None, ServerConfig::default()).await
    }

    async fn ended(self) {
        let result = timeout(SOON, self.task).await.expect("server ends in time");
        result.expect("no panic").expect("no error");
    }
}

#[tokio::test]
async fn every_transport_answers() {
    let pki = Pki::new();
    // (TLS, HTTP/2, identity sent, what the service saw at its second request)
    let rows = [
        (false, false, None, "HTTP/1.1 tls=false certs=0 nth=2"),
        (false, true, None, "HTTP/2.0 tls=false certs=0 nth=2"),
        (true, false, None, "HTTP/1.1 tls=true certs=0 nth=2"),
        (true, true, None, "HTTP/2.0 tls=true certs=0 nth=2"),
        (true, true, Some(Identity::Signed), "HTTP/2.0 tls=true certs=1 nth=2"),
        // A foreign certificate is passed on too: the authenticator rejects it with 401.
        (true, false, Some(Identity::Foreign), "HTTP/1.1 tls=true certs=1 nth=2"),
        (true, true, Some(Identity::Old), "HTTP/2.0 tls=true certs=1 nth=2"),
    ];
    for (tls, http2, identity, expected) in rows {
        let config = tls.then(|| TlsConfig::new(&pki.material()).expect("TLS"));
        let server = Running::start(config, ServerConfig::default()).await;
        let mut client = match tls {
            true => Client::tls(server.port, http2, &pki.client(http2, identity)).await,
            false => Client::plain(server.port, http2).await,
        };
        client.get("/info").await;
        let (status, body) = client.get("/info").await;
        assert_eq!((status, body.as_str()), (200, expected));
        server.shutdown.trigger();
        server.ended().await;
    }
}

#[tokio::test]
async fn sessions_resume_with_their_client_certificate() {
    let pki = Pki::new();
    let tls = TlsConfig::new(&pki.material()).expect("TLS");
    let server = Running::start(Some(tls), ServerConfig::default()).await;
    let config = pki.client(true, Some(Identity::Signed));
    for (n, resumed) in [(0, false), (1, true)] {
        let mut client = Client::tls(server.port, true, &config).await;
        let (_, body) = client.get("/info").await;
        assert_eq!(body, "HTTP/2.0 tls=true certs=1 nth=1", "connection {n}");
        assert_eq!(client.resumed, resumed, "connection {n}");
    }
}

#[tokio::test]
async fn a_reload_changes_the_certificate_of_new_connections_only() {
    let (old, new) = (Pki::new(), Pki::new());
    let tls = Arc::new(TlsConfig::new(&old.material()).expect("TLS"));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("bound").port();
    let config = ServerConfig::default();
    tokio::spawn(serve(listener, Some(Arc::clone(&tls)), Probe::default(), config, Shutdown::new()));
    let mut before = Client::tls(port, true, &old.client(true, None)).await;
    assert!(tls.change(|material| material.key_pem.clear()).is_err());
    tls.change(|material| *material = new.material()).expect("good material");
    let mut after = Client::tls(port, true, &new.client(true, None)).await;
    assert_eq!(before.get("/info").await.0, 200);
    assert_eq!(after.get("/info").await.0, 200);
}

#[tokio::test]
async fn bodies_over_the_limit_get_their_answer() {
    for http2 in [false, true] {
        let server = Running::plain().await;
        let mut client = Client::plain(server.port, http2).await;
        for (size, status) in [(0, 200), (1, 200), (LIMIT, 200), (LIMIT + 1, 413), (4 << 20, 413)] {
            let (got, body) = client.post("/echo", vec![b'x'; size]).await;
            assert_eq!(got, status, "{size} bytes, HTTP/2 {http2}");
            let length = if status == 200 { size } else { "limit 65536".len() };
            assert_eq!(body.len(), length);
        }
    }
}

#[tokio::test]
async fn shutdown_lets_requests_finish_and_ends_watches() {
    for http2 in [false, true] {
        let server = Running::plain().await;
        let mut watcher = Client::plain(server.port, http2).await;
        let mut watch = watcher.send("/watch").await.into_body();
        let event = watch.frame().await.expect("an event").expect("no error");
        assert_eq!(event.into_data().expect("data"), "event\n");

        let mut slow = Client::plain(server.port, http2).await;
        let answer = tokio::spawn(async move { slow.get("/slow").await });
        server.probe.slow_started.notified().await;
        server.shutdown.trigger();

        // The watch ends without an error, the request in flight is answered, new connections are refused.
        let end = timeout(SOON, watch.collect()).await.expect("watch ends");
        let rest = end.expect("clean end").to_bytes();
        assert!(rest.is_empty(), "HTTP/2 {http2}: {rest:?}");
        server.probe.release.notify_one();
        let (status, body) = answer.await.expect("no panic");
        assert_eq!((status, body.as_str()), (200, "done"));
        let port = server.port;
        server.ended().await;
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    }
}

#[tokio::test]
async fn requests_are_dropped_after_the_shutdown_grace() {
    let config = ServerConfig { shutdown_grace: Duration::from_millis(20), ..ServerConfig::default() };
    for http2 in [false, true] {
        let server = Running::start(None, config.clone()).await;
        let mut client = Client::plain(server.port, http2).await;
        // Not marked as long-running, so only the end of the grace stops it.
        let mut body = client.send("/endless").await.into_body();
        assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
        server.shutdown.trigger();
        server.ended().await;
        let end = timeout(SOON, body.frame()).await.expect("connection closed");
        assert!(end.is_some_and(|frame| frame.is_err()), "HTTP/2 {http2}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slow_request_does_not_block_others_of_its_connection() {
    let server = Running::plain().await;
    let mut client = Client::plain(server.port, true).await;
    let mut same = client.same_connection();
    let busy = tokio::spawn(async move { same.get("/busy").await });
    server.probe.slow_started.notified().await;
    client.get("/relieve").await;
    assert_eq!(busy.await.expect("no panic"), (200, "relieved: true".to_owned()));
}

#[tokio::test]
async fn slow_networks_receive_whole_responses() {
    let pki = Pki::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    // Connections inherit it, and hold less than one write of the server.
    socket2::SockRef::from(&listener).set_send_buffer_size(16 * 1024).expect("a small buffer");
    let server = Running::on(listener, Some(TlsConfig::new(&pki.material()).expect("TLS")), ServerConfig::default());
    let mut client = Client::narrow(server.port, true, &pki.client(true, None)).await;
    let (code, body) = timeout(SOON, client.get("/large")).await.expect("nothing stays behind");
    assert_eq!((code, body.len()), (200, LARGE));
}

/// A body from a channel.
struct Sent(mpsc::Receiver<Bytes>);

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}

#[tokio::test]
async fn early_responses_let_the_client_finish_its_body() {
    let server = Running::plain().await;
    let stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = made.expect("HTTP/2");
    tokio::spawn(async { drop(connection.await) });
    let mut ask = async || {
        let (rest, body) = mpsc::channel(1);
        let request = Request::post("http://localhost/info").body(Sent(body)).expect("valid");
        let response = sender.send_request(request).await.expect("an answer");
        response.into_body().collect().await.expect("whole");
        rest
    };
    let rest = ask().await;
    // The state set by the first request is visible to the second.
    ask().await;
    for _ in 0..3 {
        rest.send(Bytes::from_static(b"late")).await.expect("the body is still taken");
    }
}

#[tokio::test]
async fn over_http1_an_unread_body_does_not_lose_the_response() {
    let server = Running::plain().await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let body = vec![b'x'; 4 << 20];
    for nth in 1..=2 {
        let head = format!("POST /info HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.expect("the head is taken");
        stream.write_all(&body).await.expect("the body is taken");
        assert!(until(&mut stream, "\r\n0\r\n\r\n").await.contains(&format!("nth={nth}\r\n")));
    }
    // An unwanted body is not requested with `100 Continue`.
    let head = "POST /info HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("the head is taken");
    assert!(until(&mut stream, "\r\n0\r\n\r\n").await.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// Reads until this text, and no further.
async fn until(stream: &mut TcpStream, last: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(last) {
        let mut piece = [0; 1024];
        let length = timeout(SOON, stream.read(&mut piece)).await.expect("soon").expect("no error");
        assert!(length > 0, "ended after {text:?}");
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    text
}

#[tokio::test]
async fn idle_connections_are_closed_and_busy_ones_are_not() {
    let config = ServerConfig {
        // A client has this long to send its first request.
        idle_timeout: Duration::from_secs(2),
        handshake_timeout: Duration::from_millis(50),
        ..ServerConfig::default()
    };
    for http2 in [false, true] {
        let server = Running::start(None, config.clone()).await;
        let mut busy = Client::plain(server.port, http2).await;
        let slow = tokio::spawn(async move { busy.get("/slow").await });
        server.probe.slow_started.notified().await;
        let mut idle = Client::plain(server.port, http2).await;
        assert_eq!(idle.get("/info").await.0, 200);
        timeout(SOON, idle.closed()).await.expect("idle: closed");
        server.probe.release.notify_one();
        assert_eq!(slow.await.expect("no panic").0, 200);
    }
    // A client that never begins the handshake is dropped.
    let tls = TlsConfig::new(&Pki::new().material()).expect("TLS");
    let server = Running::start(Some(tls), config).await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let read = timeout(SOON, stream.read(&mut [0; 1])).await.expect("closed");
    assert_eq!(read.expect("no reset"), 0);
}

#[tokio::test]
async fn an_unread_response_ends() {
    let pki = Pki::new();
    for tls in [false, true] {
        for http2 in [false, true] {
            let config = ServerConfig { answer_timeout: Duration::from_secs(1), ..ServerConfig::default() };
            let material = tls.then(|| TlsConfig::new(&pki.material()).expect("TLS"));
            let server = Running::start(material, config).await;
            let mut client = match tls {
                true => Client::tls(server.port, http2, &pki.client(http2, None)).await,
                false => Client::plain(server.port, http2).await,
            };
            let flood = client.send("/flood").await;
            let mut watch = if http2 { Some(client.same_connection().send("/watch").await) } else { None };
            let rest = timeout(SOON, flood.into_body().collect()).await.expect("it ends");
            assert!(rest.is_err(), "it was broken off: {tls} {http2}");
            if http2 {
                // The others of its connection do not end.
                assert_eq!(client.get("/info").await.0, 200, "{tls}");
                let event = timeout(SOON, watch.as_mut().expect("a watch").body_mut().frame()).await;
                assert!(event.expect("an event").is_some(), "{tls}");
            } else {
                timeout(SOON, client.closed()).await.expect("closed");
            }
        }
    }
    // Also when it reads nothing at all: its writes finally fail.
    let config = ServerConfig { answer_timeout: Duration::from_millis(50), ..ServerConfig::default() };
    let server = Running::start(None, config).await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    stream.write_all(b"GET /flood HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
    let closed = async {
        while stream.write_all(b"GET / HTTP/1.1\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, closed).await.expect("closed");
}

#[tokio::test]
async fn a_client_is_asked_to_connect_anew_by_chance_and_gets_its_answer() {
    let config = ServerConfig { goaway_chance: 1.0, ..ServerConfig::default() };
    let server = Running::start(None, config).await;
    let mut client = Client::plain(server.port, true).await;
    assert!(client.get("/info").await.1.contains("nth=1"), "what was sent is answered");
    timeout(SOON, client.closed()).await.expect("the connection ends");
    // HTTP/2 only; HTTP/1.1 connections stay open.
    let mut client = Client::plain(server.port, false).await;
    for nth in 1..=3 {
        assert!(client.get("/info").await.1.contains(&format!("nth={nth}")));
    }
}

#[tokio::test]
async fn versions_and_cipher_suites_of_tls_are_those_allowed() {
    let pki = Pki::new();
    let suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    assert!(pintle_http::cipher_suites().any(|known| known == suite));
    let rows = [
        (TlsMaterial { min_version: TlsVersion::Tls13, ..pki.material() }, [false, true]),
        (TlsMaterial { cipher_suites: vec![suite.to_owned()], ..pki.material() }, [true, true]),
        (
            TlsMaterial { cipher_suites: vec!["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384".to_owned()], ..pki.material() },
            [false, true],
        ),
    ];
    for (at, (material, expected)) in rows.into_iter().enumerate() {
        let config = ServerConfig::default();
        let failed = config.handshake_errors.clone();
        let server = Running::start(Some(TlsConfig::new(&material).expect("usable")), config).await;
        for (version, good) in [&rustls::version::TLS12, &rustls::version::TLS13].into_iter().zip(expected) {
            let stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
            let connector = tokio_rustls::TlsConnector::from(pki.client_of(version));
            let shaken = connector.connect("localhost".try_into().expect("a name"), stream).await;
            assert_eq!(shaken.is_ok(), good, "{at} {version:?}: {:?}", shaken.err());
        }
        let expected = expected.iter().filter(|good| !**good).count();
        while failed.load(Ordering::Relaxed) < expected as u64 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn the_cheapest_common_cipher_is_chosen() {
    let pki = Pki::new();
    let config = TlsConfig::new(&pki.material()).expect("usable");
    let server = Running::start(Some(config), ServerConfig::default()).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        let connector = tokio_rustls::TlsConnector::from(pki.client_of(version));
        let stream = connector.connect("localhost".try_into().expect("a name"), stream).await.expect("shaken");
        let suite = stream.get_ref().1.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        assert!(suite.is_some_and(|suite| suite.contains("AES_128_GCM")), "{version:?}: {suite:?}");
    }
}

#[test]
fn unusable_material_is_refused_with_its_name() {
    let good = Pki::new().material();
    type Spoil = fn(&mut pintle_http::TlsMaterial);
    let rows: [(Spoil, &str); 4] = [
        (|m| m.cert_chain_pem.clear(), "serving certificate: no certificate found"),
        (|m| m.key_pem.clear(), "serving key: "),
        (|m| m.key_pem = Pki::new().material().key_pem, "serving certificate: "),
        (|m| m.client_ca_pem = Some(b"nothing".to_vec()), "client CA: no certificate found"),
    ];
    for (spoil, expected) in rows {
        let mut material = good.clone();
        spoil(&mut material);
        let error = TlsConfig::new(&material).err().expect("refused").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
