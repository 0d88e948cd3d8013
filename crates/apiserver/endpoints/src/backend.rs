//! Backends: kubelets, pods and services, and the `Connector` that reaches them.
//!
//! This module defines requests to backends and their results. Must never open a connection: implementations of the
//! `Connector` do.

use crate::upgrade::Upgraded;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// A body on its way through: read as fast as the other side takes it.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// What a TLS connection to a backend relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The kubelets' authority; this server shows its certificate.
    Kubelet,
    /// Any certificate is accepted, and this server presents its own: the user asked for a log without verification.
    UnverifiedKubelet,
    /// Any certificate is accepted, and none is presented: any user may run pods and services.
    Unverified,
    /// The same on this machine alone: the components of the control plane that run beside this server.
    Local,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub tls: bool,
    /// A name or an address, IPv6 without brackets.
    pub host: String,
    pub port: u16,
    pub trust: Trust,
}

impl Destination {
    /// `host:port`, as it stands in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// Why a backend gave no answer: a sentence for the client.
#[derive(Debug)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A backend's answer.
pub struct Exchange {
    pub response: http::response::Parts,
    pub body: ByteStream,
    /// The connection, when the answer is 101.
    pub upgraded: BoxFuture<'static, io::Result<Upgraded>>,
}

/// Sends requests to backends.
pub trait Connector: Send + Sync {
    /// Sends a request and waits for the head of the answer. Dropping the answer's parts ends the connection.
    fn send(&self, to: Destination, request: http::Request<ByteStream>)
    -> BoxFuture<'_, Result<Exchange, Unreachable>>;
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
    /// The authorities that its certificate must come from, in PEM; those of the system if empty.
    pub ca_pem: Vec<u8>,
    /// Takes any certificate.
    pub insecure: bool,
}

impl ExtensionServer {
    /// `host:port`, as it stands in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// Sends requests to extension servers, to which this server shows the certificate of a front proxy.
pub trait ExtensionServers: Send + Sync {
    /// Sends a request, whose URI is a path, and waits for the head of the response.
    fn send<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'a, Result<Exchange, Unreachable>>;

    /// The same over a connection of its own, which the response may hand over.
    fn upgrade<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'a, Result<Exchange, Unreachable>>;

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
