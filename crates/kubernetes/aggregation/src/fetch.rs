//! Requests of this server itself to extension servers. Guarantees a limit in bytes and in time for each. Must never
//! forward data of a client.

use crate::identity;
use crate::resolve;
use crate::services::{ExtensionApi, Shared};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use http::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request};
use pintle_auth::{UserInfo, groups};
use pintle_endpoints::backend::{ByteStream, ExtensionServer, Unreachable};
use pintle_registry::Registry;
use pintle_services::routing::RouteError;
use std::time::Duration;

/// Why a document was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Resolve(#[from] RouteError),
    #[error("{0}")]
    Unreachable(Unreachable),
    #[error("{0}")]
    Broken(#[from] std::io::Error),
    #[error("the document is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no answer within {} seconds", .0.as_secs())]
    TooSlow(Duration),
}

/// What a request is for.
pub struct Wanted<'a> {
    pub path: &'a str,
    pub accept: &'static str,
    /// The user of the request.
    pub user: &'static str,
    pub timeout: Duration,
    pub limit: usize,
}

/// A complete response.
pub struct Fetched {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The user in the request, in the group `system:masters`.
fn user(name: &str) -> UserInfo {
    UserInfo { name: name.into(), groups: vec![groups::MASTERS.into()], ..UserInfo::default() }
}

/// A request without a body.
///
/// # Errors
/// The path is invalid.
pub fn request(path: &str, accept: &'static str, as_user: &str) -> Result<Request<ByteStream>, Unreachable> {
    let request = Request::builder().method(Method::GET).uri(path).body(stream::empty().boxed());
    let mut request = request.map_err(|error| Unreachable(error.to_string()))?;
    let headers = request.headers_mut();
    if !accept.is_empty() {
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
    }
    headers.insert(USER_AGENT, HeaderValue::from_static("kube-apiserver"));
    identity::assert(headers, &user(as_user), false);
    Ok(request)
}

/// Fetches a document from the server of a version.
///
/// # Errors
/// There was no response, or it exceeded a limit.
pub async fn fetch(
    shared: &Shared,
    registry: &Registry,
    api: &ExtensionApi,
    wanted: &Wanted<'_>,
) -> Result<Fetched, FetchError> {
    let to = resolve::server(registry, shared.routing, api)?;
    let fetching = fetch_from(shared, &to, wanted);
    tokio::time::timeout(wanted.timeout, fetching).await.unwrap_or(Err(FetchError::TooSlow(wanted.timeout)))
}

async fn fetch_from(shared: &Shared, to: &ExtensionServer, wanted: &Wanted<'_>) -> Result<Fetched, FetchError> {
    let request = request(wanted.path, wanted.accept, wanted.user).map_err(FetchError::Unreachable)?;
    let mut exchange = shared.servers.send(to, request).await.map_err(FetchError::Unreachable)?;
    let mut body = BytesMut::new();
    while let Some(piece) = exchange.body.next().await {
        let piece = piece?;
        if body.len() + piece.len() > wanted.limit {
            return Err(FetchError::TooLarge(wanted.limit));
        }
        body.extend_from_slice(&piece);
    }
    let head = exchange.response;
    Ok(Fetched { code: head.status.as_u16(), headers: head.headers, body: body.freeze() })
}
