//! `ExtensionSockets`: connections to extension servers, shared by all requests to them. Guarantees that a server's certificate
//! is verified according to its API service, and that a new client certificate of this server is used for new connections. Must
//! never decide where a request goes.

use crate::backends::exchange;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::HOST;
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderValue, Request};
use pintle_proxy::backend::{BackendResponse, ByteStream, ExtensionServer, ExtensionServers, Unreachable};
use pintle_webhook::{Identity, SetupError, StreamingClient, TlsSettings, TransportError};
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections to extension servers.
#[derive(Default)]
pub struct ExtensionSockets {
    identity: ArcSwap<Option<Identity>>,
    clients: Mutex<HashMap<String, Connections>>,
}

/// The connections to one server.
#[derive(Clone)]
struct Connections {
    to: ExtensionServer,
    identity: Arc<Option<Identity>>,
    client: StreamingClient,
}

impl ExtensionSockets {
    /// `identity` is the client certificate, if any.
    ///
    /// # Errors
    /// The certificate is unusable.
    pub fn new(identity: Option<Identity>) -> Result<ExtensionSockets, SetupError> {
        let sockets = ExtensionSockets::default();
        sockets.show(identity)?;
        Ok(sockets)
    }

    /// Replaces the client certificate.
    ///
    /// # Errors
    /// The certificate is unusable: the previous one stays.
    pub fn show(&self, identity: Option<Identity>) -> Result<(), SetupError> {
        if **self.identity.load() != identity {
            let insecure = TlsSettings { identity: identity.clone(), insecure: true, ..TlsSettings::default() };
            StreamingClient::new(&insecure)?;
            self.identity.store(Arc::new(identity));
        }
        Ok(())
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<String, Connections>> {
        // Nothing that holds the lock can fail half way.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, to: &ExtensionServer) -> Result<StreamingClient, Unreachable> {
        let identity = self.identity.load_full();
        let mut clients = self.clients();
        if let Some(known) = clients.get(&to.name)
            && known.to == *to
            && Arc::ptr_eq(&known.identity, &identity)
        {
            return Ok(known.client.clone());
        }
        let tls = TlsSettings {
            ca_pem: to.ca_pem.clone(),
            identity: Option::clone(&identity),
            server_name: Some(to.server_name.clone()),
            insecure: to.insecure,
            http2: true,
        };
        let client = StreamingClient::new(&tls).map_err(unreachable)?;
        clients.insert(to.name.clone(), Connections { to: to.clone(), identity, client: client.clone() });
        Ok(client)
    }

    async fn send(&self, to: &ExtensionServer, request: Request<ByteStream>) -> Result<BackendResponse, Unreachable> {
        let response = self.client(to)?.send(absolute(to, request)?).await;
        response.map(exchange).map_err(unreachable)
    }

    async fn upgrade(
        &self,
        to: &ExtensionServer,
        request: Request<ByteStream>,
    ) -> Result<BackendResponse, Unreachable> {
        let mut request = absolute(to, request)?;
        let host = HeaderValue::try_from(to.authority()).map_err(unreachable)?;
        request.headers_mut().insert(HOST, host);
        self.client(to)?.upgrade(request).await.map(exchange).map_err(|error| match error {
            TransportError::Connect(error) => Unreachable(format!("error dialing backend: {error}")),
            TransportError::Eof => unreachable(TransportError::UnexpectedEof),
            error => unreachable(error),
        })
    }
}

impl ExtensionServers for ExtensionSockets {
    fn send<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: Request<ByteStream>,
    ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>> {
        ExtensionSockets::send(self, to, request).boxed()
    }

    fn upgrade<'a>(
        &'a self,
        to: &'a ExtensionServer,
        request: Request<ByteStream>,
    ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>> {
        ExtensionSockets::upgrade(self, to, request).boxed()
    }

    fn retain(&self, is_known: &dyn Fn(&str) -> bool) {
        self.clients().retain(|name, _| is_known(name));
    }
}

fn unreachable(error: impl Display) -> Unreachable {
    Unreachable(error.to_string())
}

/// The request with an absolute URI.
fn absolute(to: &ExtensionServer, mut request: Request<ByteStream>) -> Result<Request<ByteStream>, Unreachable> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    parts.authority = Some(Authority::try_from(to.authority()).map_err(unreachable)?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(unreachable)?;
    Ok(request)
}
