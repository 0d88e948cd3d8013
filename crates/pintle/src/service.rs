//! Between a connection and `serve()`: a request as it came becomes one that knows no socket.
//! Guarantees that browsers are told their rules with every answer. Must never look into a request any further than that.

use crate::browsers::{Browsers, preflight};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{HOST, HeaderValue};
use pintle_auth::CertCache;
use pintle_endpoints::backend::ByteStream;
use pintle_endpoints::{Body, BodyFailure, Request, SharedApi, UnreadBody};
use pintle_http::{BodyError, Incoming, LongRunning, RequestBody, Service, Takeover, limits, pieces, read_body};
use std::sync::Arc;

/// The API as what answers connections.
#[derive(Clone)]
pub struct ApiService {
    pub api: SharedApi,
    pub browsers: Arc<Browsers>,
}

/// What is remembered with a connection: who its certificate speaks for.
#[derive(Default)]
pub struct ConnectionState(Arc<CertCache>);

/// A body that is still on its connection.
struct Unread(RequestBody);

impl UnreadBody for Unread {
    fn whole(self: Box<Self>) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        Box::pin(async move {
            read_body(self.0, limits::MAX_REQUEST_BODY_BYTES).await.map_err(|error| match error {
                BodyError::TooLarge { .. } => BodyFailure::TooLarge,
                _ => BodyFailure::Broken,
            })
        })
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        Box::pin(pieces(self.0))
    }
}

impl Service for ApiService {
    type Body = Body;
    type State = ConnectionState;

    async fn call(&self, request: Incoming<ConnectionState>) -> http::Response<Body> {
        let Incoming { parts, body, connection } = request;
        let mut parts = parts;
        if let (Some(authority), false) = (parts.uri.authority(), parts.headers.contains_key(HOST))
            && let Ok(host) = HeaderValue::try_from(authority.as_str())
        {
            // HTTP/2 says it in the target.
            parts.headers.insert(HOST, host);
        }
        let told = self.browsers.told(&parts.headers);
        if let Some(mut response) = preflight(&parts.method, &told) {
            response.headers_mut().extend(told);
            return response;
        }
        let request = Request {
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or("").to_owned(),
            method: parts.method,
            headers: parts.headers,
            body: Box::new(Unread(body)),
            client_certs: connection.client_certs.clone(),
            cert_cache: Some(connection.state.0.clone()),
            peer: Some(connection.peer.ip()),
        };
        let mut response = pintle_endpoints::serve::serve(self.api.clone(), request).await;
        response.headers_mut().extend(told);
        if let Body::Upgrade(_) = response.body()
            && let Body::Upgrade(takeover) = std::mem::replace(response.body_mut(), Body::empty())
        {
            let takeover = Takeover::new(move |connection| takeover(Box::new(connection)));
            response.extensions_mut().insert(takeover);
        }
        if response.body().is_long_running() {
            response.extensions_mut().insert(LongRunning);
        }
        response
    }
}
