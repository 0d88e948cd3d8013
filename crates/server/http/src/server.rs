//! The accept loop and the life of a connection.
//! Guarantees that one bad client costs only its own connection, and that `serve` returns within the grace after shutdown.
//! Must never let one request of a connection keep the others waiting: each HTTP/2 stream is a task of its own.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use http::header::{CONNECTION, EXPECT, UPGRADE};
use http::{Request, Response, Version};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use crate::activity::{Activity, Counted};
use crate::body::{LongRunning, RequestBody, Tracked};
use crate::buffered_writer::{Flusher, buffered};
use crate::connection::{Connection, Incoming, Service};
use crate::head::HeadTimeout;
use crate::jitter::Jitter;
use crate::limits;
use crate::send_progress::{Paced, SendProgress};
use crate::shutdown::{Phase, Shutdown};
use crate::tls::TlsConfig;
use crate::upgrade::Takeover;

/// How the server treats connections. The default is kube-apiserver's behaviour.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// HTTP/2 streams that a client may have open on one connection.
    pub max_concurrent_streams: u32,
    /// Time for the TLS handshake.
    pub handshake_timeout: Duration,
    /// Time for the head of an HTTP/1 request.
    pub head_timeout: Duration,
    /// The maximum time from a request's arrival to the end of its response, unless it is long-running.
    pub answer_timeout: Duration,
    /// Time without requests after which a connection is closed.
    pub idle_timeout: Duration,
    /// Time for requests in flight to finish after shutdown begins.
    pub shutdown_grace: Duration,
    /// Time over which long-running responses end after shutdown begins; at once when it is zero.
    pub long_running_grace: Duration,
    /// The share of HTTP/2 requests after which a client is asked to reconnect, so that clients spread over servers.
    pub goaway_chance: f64,
    /// Where handshakes that failed are counted.
    pub handshake_errors: Arc<AtomicU64>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            max_concurrent_streams: limits::MAX_CONCURRENT_STREAMS,
            handshake_timeout: limits::HANDSHAKE_TIMEOUT,
            head_timeout: limits::HEAD_TIMEOUT,
            answer_timeout: limits::ANSWER_TIMEOUT,
            idle_timeout: limits::IDLE_TIMEOUT,
            shutdown_grace: limits::SHUTDOWN_GRACE,
            long_running_grace: Duration::ZERO,
            goaway_chance: 0.0,
            handshake_errors: Arc::default(),
        }
    }
}

/// Serves connections until `shutdown` is triggered and all requests have ended or the grace period has passed. Without `tls`
/// it speaks plain HTTP/1.1 and HTTP/2 with prior knowledge, which is for tests on loopback.
pub async fn serve<S: Service>(
    listener: TcpListener,
    tls: Option<Arc<TlsConfig>>,
    service: S,
    config: ServerConfig,
    shutdown: Shutdown,
) -> io::Result<()> {
    // Every connection holds a sender: the channel closes with the last one.
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let server = Arc::new(Server { tls, service, config, shutdown, jitter: Jitter::default() });
    let mut stop = pin!(server.shutdown.triggered());
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (server, alive) = (Arc::clone(&server), alive.clone());
                tokio::spawn(async move { server.connection(stream, peer, alive).await });
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(_) => sleep(limits::ACCEPT_RETRY).await,
        }
    }
    drop(listener);
    drop(alive);
    let grace = server.config.shutdown_grace.max(server.config.long_running_grace);
    if timeout(grace, all_gone.recv()).await.is_err() {
        server.shutdown.abort();
        all_gone.recv().await;
    }
    Ok(())
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// Held by connections and their streams.
type Alive = mpsc::Sender<Infallible>;

/// Runs each HTTP/2 stream in a task. h2 ends the streams of a connection that is dropped.
#[derive(Clone)]
struct StreamExecutor(Alive);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let alive = self.0.clone();
        let stream = Paced::new(stream, Arc::<SendProgress>::default());
        tokio::spawn(async move {
            stream.await.unwrap_or_default();
            drop(alive);
        });
    }
}

fn http_builder(config: &ServerConfig, alive: Alive) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(StreamExecutor(alive));
    builder
        .http1()
        .timer(TokioTimer::new())
        // Counts from the end of the last request, so it is the idle timeout too.
        .header_read_timeout(config.idle_timeout)
        .max_headers(limits::MAX_HEADERS)
        .max_buf_size(limits::MAX_HEADER_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(config.max_concurrent_streams)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_frame_size(limits::MAX_FRAME_BYTES)
        .max_send_buf_size(limits::MAX_SEND_BUFFER_BYTES)
        .max_header_list_size(limits::MAX_HTTP2_HEADER_BYTES)
        .max_pending_accept_reset_streams(limits::MAX_PENDING_RESETS)
        .max_local_error_reset_streams(limits::MAX_LOCAL_RESETS)
        .keep_alive_interval(limits::PING_INTERVAL)
        .keep_alive_timeout(limits::PING_TIMEOUT);
    builder
}

/// The shared state of all connections of one `serve`.
struct Server<S> {
    tls: Option<Arc<TlsConfig>>,
    service: S,
    config: ServerConfig,
    shutdown: Shutdown,
    jitter: Jitter,
}

impl<S: Service> Server<S> {
    /// A connection from accept to close. Its errors end it and are not reported to the peer.
    async fn connection(&self, stream: TcpStream, peer: SocketAddr, alive: Alive) {
        tune(&stream);
        let builder = http_builder(&self.config, alive);
        let activity = Arc::<Activity>::default();
        let Some(tls) = &self.tls else {
            let connection = self.describe(peer, false, Vec::new());
            return self.requests(stream, None::<Flusher<TcpStream>>, builder, connection, activity).await;
        };
        let handshake = timeout(self.config.handshake_timeout, TlsAcceptor::from(tls.current()).accept(stream));
        let mut stop = pin!(self.shutdown.triggered());
        let stream = tokio::select! {
            biased;
            result = handshake => match result {
                Ok(Ok(stream)) => stream,
                Ok(Err(_)) | Err(_) => {
                    self.config.handshake_errors.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            },
            () = &mut stop => return,
        };
        let session = stream.get_ref().1;
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let certs = session.peer_certificates().unwrap_or_default();
        let certs = certs.iter().map(|cert| cert.clone().into_owned()).collect();
        let connection = self.describe(peer, true, certs);
        if is_http2 {
            let (stream, flusher) = buffered(stream);
            self.requests(stream, Some(flusher), builder.http2_only(), connection, activity).await;
        } else {
            let stream = HeadTimeout::new(stream, Arc::clone(&activity), self.config.head_timeout);
            let builder = builder.http1_only();
            self.requests(stream, None::<Flusher<TcpStream>>, builder, connection, activity).await;
        }
    }

    fn describe(
        &self,
        peer: SocketAddr,
        tls: bool,
        client_certs: Vec<rustls::pki_types::CertificateDer<'static>>,
    ) -> Arc<Connection<S::State>> {
        Arc::new(Connection { peer, tls, client_certs, state: S::State::default() })
    }

    /// Serves the requests of a connection until it closes, is idle for too long, or the server stops.
    async fn requests<I, W>(
        &self,
        stream: I,
        mut flusher: Option<Flusher<W>>,
        builder: Builder<StreamExecutor>,
        connection: Arc<Connection<S::State>>,
        activity: Arc<Activity>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        W: AsyncWrite + Unpin,
    {
        let answer = hyper::service::service_fn(|request| {
            self.answer(request, Arc::clone(&connection), Counted::new(&activity))
        });
        let http = builder.serve_connection_with_upgrades(TokioIo::new(stream), answer);
        let mut http = pin!(Paced::new(http, Arc::clone(&activity.sending)));
        let mut phase = self.shutdown.subscribe();
        phase.mark_changed(); // it may have moved before this connection looked
        let mut idle = pin!(sleep(self.config.idle_timeout));
        let mut idled = false;
        loop {
            let served = poll_fn(|cx| match (http.as_mut().poll(cx), &mut flusher) {
                // How it ended is the peer's business.
                (Poll::Ready(_), _) => Poll::Ready(()),
                (Poll::Pending, None) => Poll::Pending,
                (Poll::Pending, Some(flusher)) => flusher.poll(cx),
            });
            let leaves = tokio::select! {
                biased;
                changed = phase.changed() => match *phase.borrow_and_update() {
                    _ if changed.is_err() => return,
                    Phase::Running => false,
                    Phase::Draining => true,
                    Phase::Aborted => return,
                },
                () = activity.leave.notified() => true,
                () = idle.as_mut() => {
                    let at = activity.idle_at(self.config.idle_timeout);
                    let expired = at.is_some_and(|at| at <= Instant::now());
                    let next = at.filter(|_| !expired).unwrap_or_else(|| Instant::now() + self.config.idle_timeout);
                    idle.set(sleep_until(next));
                    if expired && std::mem::replace(&mut idled, expired) {
                        // The client was asked to leave, and does not read the rest of its
                        // responses.
                        return;
                    }
                    expired
                }
                () = served => break,
            };
            if leaves {
                http.as_mut().inner().graceful_shutdown();
            }
        }
        if let Some((takeover, upgraded)) = activity.handed_over() {
            tokio::select! {
                () = takeover.run(upgraded) => {}
                () = self.end_of_long_running() => {}
            }
        }
    }

    /// Waits for the shutdown, and then for a part of the time that it gives.
    async fn end_of_long_running(&self) {
        self.shutdown.triggered().await;
        sleep(self.jitter.part_of(self.config.long_running_grace.mul_f64(limits::SPREAD_OF_GRACE))).await;
    }

    /// Serves one request. Owns its data, as HTTP/2 runs it concurrently with others.
    fn answer(
        &self,
        request: Request<hyper::body::Incoming>,
        connection: Arc<Connection<S::State>>,
        counted: Counted,
    ) -> impl Future<Output = Result<Response<Tracked<S::Body>>, Infallible>> + Send + use<S> {
        let service = self.service.clone();
        let shutdown = self.shutdown.clone();
        let end_delay = self.jitter.part_of(self.config.long_running_grace.mul_f64(limits::SPREAD_OF_GRACE));
        let is_http2 = request.version() == Version::HTTP_2;
        let deadline = Instant::now() + self.config.answer_timeout;
        if is_http2 && self.jitter.falls_within(self.config.goaway_chance) {
            counted.leave_after();
        }
        async move {
            let mut request = request;
            let upgrade = request.headers().contains_key(UPGRADE).then(|| hyper::upgrade::on(&mut request));
            let (parts, body) = request.into_parts();
            let waits = !is_http2 && parts.headers.contains_key(EXPECT);
            let incoming = Incoming { parts, body: RequestBody::new(body, waits), connection };
            // Boxed at once: hyper moves these futures.
            let working = Box::pin(async move { service.call(incoming).await });
            let (mut parts, body) = working.await.into_parts();
            if let (Some(upgrade), Some(takeover)) = (upgrade, parts.extensions.remove::<Takeover>()) {
                counted.hand_over(takeover, upgrade);
            }
            if is_http2 && parts.headers.get(CONNECTION).is_some_and(|value| value == "close") {
                // HTTP/2 has no header for it.
                counted.leave_after();
            }
            let long_running = parts.extensions.get::<LongRunning>().is_some();
            let ends_with = long_running.then_some((shutdown, end_delay));
            let sending = if long_running { None } else { SendProgress::begin(deadline) };
            let body = Tracked::new(body, counted, ends_with).paced(sending);
            Ok(Response::from_parts(parts, body))
        }
    }
}

/// Sends responses at once, and detects dead peers. A failure is harmless.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keep_alive =
        socket2::TcpKeepalive::new().with_time(limits::TCP_KEEP_ALIVE).with_interval(limits::TCP_KEEP_ALIVE);
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&keep_alive);
}
