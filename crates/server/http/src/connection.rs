//! A request and its connection, as seen by a service. Guarantees that a client certificate belongs to the peer, which proved
//! to hold the key. Its chain is not verified here but by the authenticator.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use rustls::pki_types::CertificateDer;

use crate::body::RequestBody;

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
