//! A request and its connection, as seen by a service. Guarantees that a client certificate belongs to the peer, which proved
//! to hold the key. Its chain is not verified here but by the authenticator.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use hyper::upgrade::OnUpgrade;
use rustls::pki_types::CertificateDer;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::body::RequestBody;
use crate::send_progress::SendProgress;
use crate::upgrade::Takeover;

/// Serves requests. Cloned once per request, so it should be an `Arc` or hold one.
pub trait Service: Clone + Send + Sync + 'static {
    /// The body of responses.
    type Body: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    /// The service's state of a connection, created when it is accepted: for example the identity of its certificate, so
    /// that the chain is not verified for every request. `()` for none.
    type State: Default + Send + Sync + 'static;

    /// Serves a request. A response with the extension [`LongRunning`](crate::LongRunning) ends at shutdown.
    fn call(&self, request: Incoming<Self::State>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// A request as it came from the network: nothing in it is checked but its HTTP form.
pub struct Incoming<S = ()> {
    /// Method, target and headers.
    pub parts: http::request::Parts,
    /// The body, not yet read; see [`read_body`](crate::read_body).
    pub body: RequestBody,
    /// The connection it came over.
    pub connection: Arc<Connection<S>>,
}

/// A connection, shared by its requests.
pub struct Connection<S = ()> {
    /// The address of the client.
    pub peer: SocketAddr,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The client's certificate and the intermediates it sent, the leaf first; empty when it sent none. The peer holds the
    /// leaf's key. The authenticator verifies the chain.
    pub client_certs: Vec<CertificateDer<'static>>,
    /// The service's state of this connection.
    pub state: S,
}

/// The activity of a connection: requests in flight, and when the last one ended.
pub(crate) struct Activity {
    start: Instant,
    requests: AtomicUsize,
    so_far: AtomicU64,
    /// It speaks HTTP no more, or will not in a moment.
    upgraded: AtomicBool,
    last_end_ms: AtomicU64,
    /// Set by a 101 response, after which no request follows.
    handed_over: Mutex<Option<(Takeover, OnUpgrade)>>,
    /// Notifies the connection to ask its client to reconnect.
    pub(crate) leave: Notify,
    /// The progress of HTTP/1 responses, one after the other.
    pub(crate) sending: Arc<SendProgress>,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity {
            start: Instant::now(),
            requests: AtomicUsize::new(0),
            so_far: AtomicU64::new(0),
            upgraded: AtomicBool::new(false),
            last_end_ms: AtomicU64::new(0),
            handed_over: Mutex::default(),
            leave: Notify::new(),
            sending: Arc::default(),
        }
    }
}

impl Activity {
    /// Takes over the connection after an upgrade.
    pub(crate) fn handed_over(&self) -> Option<(Takeover, OnUpgrade)> {
        self.handed_over.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a request is in flight, or the connection was upgraded.
    pub(crate) fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0 || self.upgraded.load(Ordering::Acquire)
    }

    /// How many requests there have been.
    pub(crate) fn requests_so_far(&self) -> u64 {
        self.so_far.load(Ordering::Relaxed)
    }

    fn end_request(&self) {
        let now_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_end_ms.store(now_ms, Ordering::Relaxed);
        self.requests.fetch_sub(1, Ordering::Release);
    }

    /// When the connection will have been idle for `timeout`; `None` while a request is in flight.
    pub(crate) fn idle_at(&self, timeout: Duration) -> Option<Instant> {
        let idle = self.requests.load(Ordering::Acquire) == 0;
        let last_end = Duration::from_millis(self.last_end_ms.load(Ordering::Relaxed));
        idle.then(|| self.start + last_end + timeout)
    }
}

/// Counts a request from its arrival until its response is sent or abandoned: until this is dropped.
pub(crate) struct Counted(Arc<Activity>);

impl Counted {
    pub(crate) fn new(activity: &Arc<Activity>) -> Counted {
        activity.requests.fetch_add(1, Ordering::Relaxed);
        activity.so_far.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(activity))
    }

    /// Asks the client to reconnect; requests received until then are served.
    pub(crate) fn leave_after(&self) {
        self.0.leave.notify_one();
    }

    /// Hands the connection over once the response is sent.
    pub(crate) fn hand_over(&self, takeover: Takeover, upgrade: OnUpgrade) {
        let mut slot = self.0.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some((takeover, upgrade));
        self.0.upgraded.store(true, Ordering::Release);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.end_request();
    }
}
