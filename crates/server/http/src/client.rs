//! Connections that the server opens: to kubelets, pods and services, HTTP/1.1 with or without TLS. Guarantees that connecting
//! has a timeout, that bodies have backpressure, and that dropping a response closes its connection. Must never send a request
//! twice.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::limits;

/// Where to connect to.
pub struct Upstream<'a> {
    /// A name or an address, IPv6 without brackets.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// How TLS is spoken, if it is.
    pub tls: Option<Arc<ClientConfig>>,
    /// How long connecting to an address may take, and how long the TLS handshake.
    pub connect_timeout: Duration,
    /// Which addresses may be connected to; a name that leads to others leads nowhere.
    pub allowed: fn(IpAddr) -> bool,
}

/// Why there is no response; clients see these messages, which are those of Go's dialer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The name has no address.
    #[error("dial tcp: lookup {0}: no such host")]
    Lookup(String),
    /// No connection to this address, with the reason.
    #[error("dial tcp {0}: {1}")]
    Dial(SocketAddr, String),
    /// The addresses of the name are not allowed.
    #[error("address not allowed")]
    NotAllowed,
    /// The TLS handshake failed or the peer's certificate is not trusted.
    #[error("tls: {0}")]
    Tls(io::Error),
    /// The peer closed the connection or broke the protocol.
    #[error("{}", broken_message(.0))]
    Broken(hyper::Error),
}

/// A response that ends early is `EOF`, as in Go.
fn broken_message(error: &hyper::Error) -> String {
    if error.is_incomplete_message() { "EOF".to_owned() } else { error.to_string() }
}

/// Sends a request over a new connection and waits for the head of the response.
///
/// The request's URI is its path; the `Host` header is the caller's. A 101 response can be upgraded.
///
/// # Errors
/// No response.
pub async fn send<S>(to: Upstream<'_>, request: Request<S>) -> Result<Response<Incoming>, ClientError>
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let stream = dial(&to).await?;
    let Some(tls) = to.tls else { return exchange(stream, request).await };
    let name = ServerName::try_from(to.host.to_owned()).map_err(|error| ClientError::Tls(io::Error::other(error)))?;
    let handshake = TlsConnector::from(tls).connect(name, stream);
    let stream = timeout(to.connect_timeout, handshake).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    exchange(stream.map_err(ClientError::Tls)?, request).await
}

/// Tries the addresses of a host one after the other; the last one's failure counts.
async fn dial(to: &Upstream<'_>) -> Result<TcpStream, ClientError> {
    let no_host = || ClientError::Lookup(to.host.to_owned());
    let addresses = lookup_host((to.host, to.port)).await.map_err(|_| no_host())?;
    let mut failure = no_host();
    for address in addresses {
        if !(to.allowed)(address.ip()) {
            failure = ClientError::NotAllowed;
            continue;
        }
        let reason = match timeout(to.connect_timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // An optimization; a failure is harmless.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => format!("connect: {}", error.kind()),
            Err(_) => "i/o timeout".to_owned(),
        };
        failure = ClientError::Dial(address, reason);
    }
    Err(failure)
}

async fn exchange<I, S>(stream: I, request: Request<S>) -> Result<Response<Incoming>, ClientError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(limits::MAX_HEADER_BYTES as usize);
    let request = request.map(|pieces| StreamBody::new(Frames(Box::pin(pieces))));
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(ClientError::Broken)?;
    // Ends with the response's body, with the upgraded connection, or when either is dropped.
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.map_err(ClientError::Broken)
}

/// Pieces as the frames of a body.
struct Frames<S>(Pin<Box<S>>);

impl<S: Stream<Item = io::Result<Bytes>>> Stream for Frames<S> {
    type Item = io::Result<Frame<Bytes>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
