//! Connections to webhooks: names become addresses, services go through a resolver, TLS follows.
//! Guarantees that connecting and the handshake have an end, and errors with the texts of Go's dialer.
//! Must never connect to the host of a service reference: its calls are sent to what the resolver names.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Time for one address, as in Go's default transport.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the handshake, as in Go's default transport.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A URL with scheme `https`, or `http` where the administrator's file has it.
    Url(String),
    /// A service of the cluster.
    Service(ServiceReference),
}

/// A service of the cluster, and the path of the webhook there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceReference {
    /// The service's namespace.
    pub namespace: String,
    /// The service's name.
    pub name: String,
    /// The service's port.
    pub port: u16,
    /// The path, with or without a slash at its start.
    pub path: String,
}

impl Address {
    /// Whether HTTP/2 may be spoken with an admission or conversion webhook. kube-apiserver does so only with one on its own machine:
    /// concurrent calls on several connections reach several endpoints.
    pub fn allows_http2(&self) -> bool {
        let Address::Url(url) = self else { return false };
        let Ok(uri) = url.parse::<Uri>() else { return false };
        let host = host_of(&uri);
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// A resolver, and the service that it resolves.
pub(crate) type ResolvedService = (ServiceReference, Arc<dyn ServiceResolver>);

/// Finds the address of a service. It is asked for each call, so that calls spread over the endpoints.
pub trait ServiceResolver: Send + Sync {
    /// The host and port to connect to.
    ///
    /// # Errors
    /// There is no such service, or no way to it.
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), ResolveError>;
}

/// Why a service has no address, in kube-apiserver's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The service has no address.
    #[error("{0}")]
    Resolve(ResolveError),
    /// The name has no address.
    #[error("dial tcp: lookup {0}: no such host")]
    Lookup(String),
    /// The port is none.
    #[error("dial tcp: address {0}: invalid port")]
    Port(String),
    /// No connection to this address, with the reason.
    #[error("dial tcp {0}: {1}")]
    Dial(SocketAddr, String),
    /// The TLS handshake failed or the peer's certificate is not trusted.
    #[error("{0}")]
    Tls(String),
    /// The peer closed the connection during the handshake.
    #[error("EOF")]
    Closed,
}

/// The two ends of a connection, as Go writes them before an error.
#[derive(Clone)]
pub(crate) struct AddressPair {
    local: SocketAddr,
    peer: SocketAddr,
}

impl fmt::Display for AddressPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read tcp {}->{}: ", self.local, self.peer)
    }
}

/// Whether a connection has brought a response before.
#[derive(Clone, Default)]
pub(crate) struct Answered(Arc<AtomicBool>);

impl Answered {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Connects to the servers of one client.
#[derive(Clone)]
pub(crate) struct Connector {
    pub tls: Arc<ClientConfig>,
    pub server_name: Option<String>,
}

/// The host of a URL, IPv6 without brackets.
fn host_of(uri: &Uri) -> &str {
    uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

/// The port of a URL, or that of its scheme.
pub(crate) fn port_of(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 })
}

/// The port of a URL, if it is written and beyond all ports.
fn invalid_port(uri: &Uri) -> Option<&str> {
    let (_, port) = uri.authority()?.as_str().rsplit_once(':')?;
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && port.parse::<u16>().is_err()).then_some(port)
}

/// The host name of a service, in URLs and in its certificate.
pub(crate) fn service_host(service: &ServiceReference) -> String {
    format!("{}.{}.svc", service.name, service.namespace)
}

/// The URL at which a call is sent: that of an endpoint, if it names the service.
///
/// # Errors
/// The service has no address.
pub(crate) fn resolved(uri: &Uri, service: Option<&ResolvedService>) -> Result<Uri, ConnectError> {
    let Some((service, resolver)) = service else { return Ok(uri.clone()) };
    if port_of(uri) != service.port || host_of(uri) != service_host(service) {
        return Ok(uri.clone());
    }
    let found = resolver.resolve(&service.namespace, &service.name, service.port);
    let (host, port) = found.map_err(ConnectError::Resolve)?;
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let mut parts = uri.clone().into_parts();
    let unusable = |_| ConnectError::Lookup(host.clone());
    parts.authority = Some(format!("{host}:{port}").parse().map_err(unusable)?);
    Uri::from_parts(parts).map_err(|_| ConnectError::Lookup(host))
}

impl Connector {
    pub(crate) async fn connect(self, uri: Uri) -> Result<TokioIo<Stream>, ConnectError> {
        let (host, port) = (host_of(&uri), port_of(&uri));
        let tcp = match invalid_port(&uri) {
            Some(port) => return Err(ConnectError::Port(port.to_owned())),
            None => dial(host, port).await?,
        };
        let ends = tcp.local_addr().and_then(|local| Ok(AddressPair { local, peer: tcp.peer_addr()? })).ok();
        if uri.scheme_str() == Some("http") {
            return Ok(TokioIo::new(Stream { io: Io::Plain(tcp), ends, answered: Answered::default() }));
        }
        let name = self.server_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|error| ConnectError::Tls(error.to_string()))?;
        let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(name, tcp);
        match timeout(HANDSHAKE_TIMEOUT, handshake).await {
            Ok(Ok(stream)) => {
                let io = Io::Tls(Box::new(stream));
                Ok(TokioIo::new(Stream { io, ends, answered: Answered::default() }))
            }
            Ok(Err(error)) => Err(of_handshake(&error, ends.as_ref())),
            Err(_) => Err(ConnectError::Tls("net/http: TLS handshake timeout".to_owned())),
        }
    }
}

/// Tries the addresses of a host one after the other; the last one's failure counts.
async fn dial(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let mut failure = ConnectError::Lookup(host.to_owned());
    let Ok(addresses) = lookup_host((host, port)).await else { return Err(failure) };
    for address in addresses {
        let reason = match timeout(DIAL_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // An optimization; a failure is harmless.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => format!("connect: {}", errno(&error)),
            Err(_) => "i/o timeout".to_owned(),
        };
        failure = ConnectError::Dial(address, reason);
    }
    Err(failure)
}

/// The system's text of an error, as Go writes it.
fn errno(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        io::ErrorKind::AddrNotAvailable => "cannot assign requested address".to_owned(),
        kind => kind.to_string(),
    }
}

fn of_handshake(error: &io::Error, ends: Option<&AddressPair>) -> ConnectError {
    use rustls::{AlertDescription, CertificateError, Error};
    match error.kind() {
        io::ErrorKind::UnexpectedEof => return ConnectError::Closed,
        io::ErrorKind::ConnectionReset => {
            let ends = ends.map(ToString::to_string).unwrap_or_default();
            return ConnectError::Tls(format!("{ends}read: connection reset by peer"));
        }
        _ => {}
    }
    let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<Error>()) else {
        return ConnectError::Tls(error.to_string());
    };
    ConnectError::Tls(match error {
        Error::InvalidCertificate(CertificateError::Other(refused)) => refused.to_string(),
        // Usually the peer speaks HTTP without TLS: its response to a handshake is text.
        Error::InvalidMessage(_) => "http: server gave HTTP response to HTTPS client".to_owned(),
        Error::AlertReceived(alert) => {
            let alert = match alert {
                AlertDescription::UnknownCA => "unknown certificate authority",
                AlertDescription::BadCertificate => "bad certificate",
                AlertDescription::CertificateRequired => "certificate required",
                AlertDescription::HandshakeFailure => "handshake failure",
                AlertDescription::ProtocolVersion => "protocol version not supported",
                AlertDescription::UnrecognisedName => "unrecognized name",
                AlertDescription::InternalError => "internal error",
                AlertDescription::AccessDenied => "access denied",
                AlertDescription::CertificateExpired => "expired certificate",
                AlertDescription::CertificateUnknown => "unknown certificate",
                _ => return ConnectError::Tls(format!("remote error: tls: {alert:?}")),
            };
            format!("remote error: tls: {alert}")
        }
        error => format!("tls: {error}"),
    })
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// A connection, with TLS or without.
pub(crate) struct Stream {
    io: Io,
    ends: Option<AddressPair>,
    answered: Answered,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

fn is_h2(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.answered.clone());
        let connected = match &self.ends {
            Some(ends) => connected.extra(ends.clone()),
            None => connected,
        };
        match &self.io {
            Io::Tls(stream) if is_h2(stream) => connected.negotiated_h2(),
            _ => connected,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Io::Tls(stream) => match Pin::new(&mut *stream).poll_read(cx, buf) {
                // Many servers end connections without close_notify, which Go accepts: HTTP/1.1 tells whether something is missing.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof && !is_h2(stream) => {
                    Poll::Ready(Ok(()))
                }
                read => read,
            },
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Io::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
