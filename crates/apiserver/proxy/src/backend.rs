//! Backends: kubelets, pods and services, and the `Connector` that reaches them.
//!
//! Guarantees that bodies of both sides are streams. Must never open a connection: implementations of the `Connector`
//! do.

use crate::upgrade::Upgraded;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// A body on its way through: read as fast as the other side takes it.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// How a TLS connection to a backend is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Verified against the kubelets' CA; this server presents its client certificate.
    Kubelet,
    /// Not verified, and this server presents its client certificate: the user asked for a log without verification.
    UnverifiedKubelet,
    /// Not verified, and no certificate is presented: any user may run pods and services.
    Unverified,
    /// Like `Unverified`, but limited to this machine: control plane components that run next to this server.
    Local,
}

/// The address of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub tls: bool,
    /// A name or an address, IPv6 without brackets.
    pub host: String,
    pub port: u16,
    pub trust: Trust,
}

impl Destination {
    /// `host:port`, as in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// Why a backend could not be reached: a sentence for the client.
#[derive(Debug)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The response of a backend.
pub struct BackendResponse {
    pub response: http::response::Parts,
    pub body: ByteStream,
    /// The connection, after a 101 response.
    pub upgraded: BoxFuture<'static, io::Result<Upgraded>>,
}

/// Sends requests to backends.
pub trait Connector: Send + Sync {
    /// Sends a request and waits for the head of the response. Dropping the response ends the connection.
    fn send(
        &self,
        to: Destination,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'_, Result<BackendResponse, Unreachable>>;
}

/// A server that serves a version of a group in this one's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionServer {
    /// Connections are kept under this name: that of the object that describes the server.
    pub name: String,
    /// A name or an address, IPv6 without brackets.
    pub host: String,
    pub port: u16,
    /// The name that its certificate must have.
    pub server_name: String,
    /// The CA certificates in PEM that verify it; those of the system if empty.
    pub ca_pem: Vec<u8>,
    /// Takes any certificate.
    pub insecure: bool,
}

impl ExtensionServer {
    /// `host:port`, as in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// Sends requests to extension servers, authenticated by the front proxy's client certificate.
pub trait ExtensionServers: Send + Sync {
    /// Sends a request, whose URI is a path, and waits for the head of the response.
    fn send<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>>;

    /// The same over a connection of its own, which the response may hand over.
    fn upgrade<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>>;

    /// Closes the connections to servers that are no longer known.
    fn retain(&self, is_known: &dyn Fn(&str) -> bool);
}

fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Whether an address is a global unicast address: neither loopback nor link-local, multicast or unspecified.
pub fn is_global_unicast(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified() || v4.is_loopback() || v4.is_multicast() || v4.is_link_local() || v4.is_broadcast())
        }
        IpAddr::V6(v6) => !(v6.is_unspecified() || v6.is_loopback() || v6.is_multicast() || v6.is_unicast_link_local()),
    }
}
