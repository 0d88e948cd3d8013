//! Requests with streamed bodies, to aggregated servers. Guarantees that an unread response does not block others of its
//! connection, and the messages of Go's client in errors. Must never send a request twice that changes something: one is
//! repeated only if its connection turned out to be closed before it was written, or if it reads and a used connection broke.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{Either, Empty, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::client::{HTTP2_PING, IDLE_TIMEOUT, MAX_IDLE};
use crate::connect::{Answered, Connector};
use crate::error::{SetupError, TransportError};
use crate::tls::TlsSettings;

/// Bytes that a peer may send on a stream ahead of the reader.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes that it may send on a connection ahead of the readers: as good as no bound, as each stream has its own. Otherwise
/// a client that does not read its watch would hold up all other responses.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Largest head of a response.
const MAX_HEAD: u32 = 1 << 20;
/// Most headers of a response. Go's client knows no number, only bytes.
const MAX_HEADERS: usize = 1024;

/// The pieces of a request's body.
pub type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// A request's body as frames. An empty one is known to be, so that no head announces it.
type Frames = Either<Empty<Bytes>, StreamBody<BoxStream<'static, io::Result<Frame<Bytes>>>>>;

/// Connections to one server, shared by all requests to it. Cheap to clone.
#[derive(Clone)]
pub struct StreamingClient {
    pooled: legacy::Client<Connector, Frames>,
    single: Connector,
}

impl StreamingClient {
    /// A client without connections.
    ///
    /// # Errors
    /// Part of the settings cannot be used.
    pub fn new(tls: &TlsSettings) -> Result<StreamingClient, SetupError> {
        let connector = |tls: &TlsSettings| {
            let config = Arc::new(tls.config()?);
            Ok(Connector { tls: config, server_name: tls.server_name.clone() })
        };
        let pooled = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_max_buf_size(MAX_HEAD as usize)
            .http1_max_headers(MAX_HEADERS)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_header_list_size(MAX_HEAD)
            .http2_keep_alive_interval(HTTP2_PING.0)
            .http2_keep_alive_timeout(HTTP2_PING.1)
            .build(connector(tls)?);
        let single = connector(&TlsSettings { http2: false, ..tls.clone() })?;
        Ok(StreamingClient { pooled, single })
    }

    /// Sends a request, whose URI is absolute, and waits for the head of the response. A replayable request is sent again
    /// when a connection that was used before breaks: its server may have closed it meanwhile.
    ///
    /// # Errors
    /// There is no response.
    pub async fn send(&self, request: Request<Pieces>) -> Result<Response<Incoming>, TransportError> {
        let (head, body) = request.into_parts();
        let replayed = is_replayable(&head, &body).then(|| head.clone());
        let mut request = Request::from_parts(head, frames(body));
        loop {
            let error = match self.pooled.request(request).await {
                Ok(response) => {
                    if let Some(answered) = response.extensions().get::<Answered>() {
                        answered.set();
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            let is_old = was_used(&error);
            let error = TransportError::from(error);
            let is_broken = matches!(error, TransportError::Eof | TransportError::Reset(_));
            match &replayed {
                Some(head) if is_old && is_broken => {
                    request = Request::from_parts(head.clone(), Either::Left(Empty::new()));
                }
                _ => return Err(error),
            }
        }
    }

    /// The same over its own HTTP/1.1 connection, which a 101 response hands over. The URI is absolute, and the header
    /// `Host` the caller's.
    ///
    /// # Errors
    /// There is no response.
    pub async fn upgrade(&self, mut request: Request<Pieces>) -> Result<Response<Incoming>, TransportError> {
        let stream = self.single.clone().connect(request.uri().clone()).await.map_err(TransportError::Connect)?;
        let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        *request.uri_mut() =
            target.parse().map_err(|error: http::uri::InvalidUri| TransportError::Protocol(error.to_string()))?;
        let failed = |error: hyper::Error| TransportError::of(&error, "");
        let mut builder = http1::Builder::new();
        builder
            .max_buf_size(MAX_HEAD as usize)
            .max_headers(MAX_HEADERS)
            .allow_obsolete_multiline_headers_in_responses(true);
        let (mut sender, connection) = builder.handshake(stream).await.map_err(failed)?;
        // Ends with the response's body, with the upgraded connection, or when either is dropped.
        tokio::spawn(connection.with_upgrades());
        sender.send_request(request.map(frames)).await.map_err(failed)
    }
}

/// Whether Go's client sends a request again: it reads or says that it is idempotent, and has no body.
fn is_replayable(head: &Parts, body: &Pieces) -> bool {
    let is_idempotent = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
        || ["idempotency-key", "x-idempotency-key"].iter().any(|name| head.headers.contains_key(*name));
    is_idempotent && is_empty(body)
}

/// Whether a request failed on an HTTP/1.1 connection that had brought a response before. Go does not repeat requests of broken
/// HTTP/2 connections.
fn was_used(error: &legacy::Error) -> bool {
    let Some(connection) = error.connect_info().filter(|connection| !connection.is_negotiated_h2()) else {
        return false;
    };
    let mut extras = http::Extensions::new();
    connection.get_extras(&mut extras);
    extras.get::<Answered>().is_some_and(Answered::get)
}

fn is_empty(body: &Pieces) -> bool {
    body.size_hint().1 == Some(0)
}

fn frames(pieces: Pieces) -> Frames {
    match is_empty(&pieces) {
        true => Either::Left(Empty::new()),
        false => Either::Right(StreamBody::new(pieces.map(|piece| piece.map(Frame::data)).boxed())),
    }
}
