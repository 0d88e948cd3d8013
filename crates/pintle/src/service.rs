//! Between a connection and `serve()`: a request as it came becomes one that knows no socket.

use pintle_auth::CertCache;
use pintle_endpoints::{Body, BodyFailure, Request, SharedApi};
use pintle_http::{BodyError, Incoming, LongRunning, Service, limits, read_body};
use std::sync::Arc;

/// The API as what answers connections.
#[derive(Clone)]
pub struct ApiService(pub SharedApi);

/// What is remembered with a connection: who its certificate speaks for.
#[derive(Default)]
pub struct ConnectionState(Arc<CertCache>);

impl Service for ApiService {
    type Body = Body;
    type State = ConnectionState;

    async fn call(&self, request: Incoming<ConnectionState>) -> http::Response<Body> {
        let Incoming { parts, body, connection } = request;
        let lazy = Box::pin(async move {
            read_body(body, limits::MAX_REQUEST_BODY_BYTES).await.map_err(|error| match error {
                BodyError::TooLarge { .. } => BodyFailure::TooLarge,
                _ => BodyFailure::Broken,
            })
        });
        let request = Request {
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or("").to_owned(),
            method: parts.method,
            headers: parts.headers,
            body: lazy,
            client_certs: connection.client_certs.clone(),
            cert_cache: Some(connection.state.0.clone()),
            peer: Some(connection.peer.ip()),
        };
        let mut response = pintle_endpoints::serve::serve(self.0.clone(), request).await;
        if response.body().is_long_running() {
            response.extensions_mut().insert(LongRunning);
        }
        response
    }
}
