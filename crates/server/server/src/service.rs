//! Connects the HTTP server to `serve()`: converts a request to one without a socket. Guarantees that every response has the
//! headers for cors. Must never interpret a request any further.

use crate::cors::{CorsConfig, preflight};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{HOST, HeaderValue};
use pintle_auth::CertCache;
use pintle_endpoints::audit;
use pintle_endpoints::{BodyFailure, Request, Room, SentBody, SharedApi, UnreadBody};
use pintle_http::{
    BodyError, BodyLimits, Incoming, LongRunning, RequestBody, Service, Takeover, limits, pieces, read_body,
};
use pintle_proxy::backend::ByteStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The API as an HTTP service.
#[derive(Clone)]
pub struct ApiService {
    pub api: SharedApi,
    pub cors: Arc<CorsConfig>,
}

/// The state of a connection.
#[derive(Default)]
pub struct ConnectionState {
    /// The cached identity of its certificate.
    certs: Arc<CertCache>,
    /// Bytes of the bodies that are being received on it.
    received: Arc<AtomicU64>,
}

/// A body that is still on its connection.
struct Unread {
    body: RequestBody,
    received: Arc<AtomicU64>,
}

impl UnreadBody for Unread {
    fn whole(self: Box<Self>, mut room: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        Box::pin(async move {
            let mut of_connection = Received { all: self.received, own: 0 };
            let room = |bytes| of_connection.grow(bytes as u64) && room(bytes);
            read_body(self.body, BodyLimits::default(), room).await.map_err(|error| match error {
                BodyError::TooLarge { .. } => BodyFailure::TooLarge,
                BodyError::TooSlow => BodyFailure::TooSlow,
                BodyError::NoRoom => BodyFailure::NoRoom,
                BodyError::Aborted(_) => BodyFailure::Broken,
            })
        })
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        Box::pin(pieces(self.body))
    }

    fn is_empty(&self) -> bool {
        http_body::Body::is_end_stream(&self.body)
    }
}

/// The bytes of a body, counted with its connection while it is received.
struct Received {
    all: Arc<AtomicU64>,
    own: u64,
}

impl Received {
    fn grow(&mut self, bytes: u64) -> bool {
        self.own += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) < limits::RECEIVED_BYTES_PER_CONNECTION
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

impl Service for ApiService {
    type Body = SentBody;
    type State = ConnectionState;

    async fn call(&self, request: Incoming<ConnectionState>) -> http::Response<SentBody> {
        let Incoming { parts, body, connection } = request;
        let mut parts = parts;
        let over_http2 = parts.version == http::Version::HTTP_2;
        if let (Some(authority), false) = (parts.uri.authority(), parts.headers.contains_key(HOST))
            && let Ok(host) = HeaderValue::try_from(authority.as_str())
        {
            // HTTP/2 has it in the request target.
            parts.headers.insert(HOST, host);
        }
        let headers = self.cors.response_headers(&parts.headers);
        if let Some(mut response) = preflight(&parts.method, &headers) {
            audit::set_audit_id(&mut response, &audit::audit_id(&self.api, &parts.headers));
            response.headers_mut().extend(headers);
            return response;
        }
        let request = Request {
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or("").to_owned(),
            method: parts.method,
            headers: parts.headers,
            body: Box::new(Unread { body, received: connection.state.received.clone() }),
            client_certs: connection.client_certs.clone(),
            cert_cache: Some(connection.state.certs.clone()),
            peer: Some(connection.peer.ip()),
            over_http2,
            is_unauthenticated: false,
        };
        let mut response = pintle_endpoints::serve::serve(self.api.clone(), request).await;
        response.headers_mut().extend(headers);
        if let Some(takeover) = response.body_mut().take_upgrade() {
            let takeover = Takeover::new(move |connection| takeover(Box::new(connection)));
            response.extensions_mut().insert(takeover);
        }
        if response.body().is_long_running() {
            response.extensions_mut().insert(LongRunning);
        }
        response
    }
}
