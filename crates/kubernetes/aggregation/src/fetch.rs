//! Requests of this server itself to extension servers. Guarantees a limit in bytes and in time for each. Must never
//! forward data of a client.

use crate::identity;
use crate::resolve;
use crate::services::{ExtensionApi, Shared};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request};
use pintle_auth::{UserInfo, groups};
use pintle_proxy::backend::{ByteStream, ExtensionServer, ExtensionServers, Unreachable};
use pintle_registry::Registry;
use pintle_services::routing::RouteError;
use std::time::Duration;

const JSON: &str = "application/json";

/// Why a document was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Resolve(#[from] RouteError),
    #[error("{0}")]
    Unreachable(Unreachable),
    #[error("{0}")]
    Broken(#[from] std::io::Error),
    #[error("the answer has status {0}, or is no document of discovery")]
    Refused(u16),
    #[error("the document is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no answer within {} seconds", .0.as_secs())]
    TooSlow(Duration),
}

/// What a request is for.
pub struct FetchRequest<'a> {
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
    request_of(path, accept, &user(as_user), false)
}

/// The same in the name of any user.
///
/// # Errors
/// The path is invalid.
pub fn request_of(
    path: &str,
    accept: &'static str,
    user: &UserInfo,
    with_uid: bool,
) -> Result<Request<ByteStream>, Unreachable> {
    let request = Request::builder().method(Method::GET).uri(path).body(stream::empty().boxed());
    signed(request, accept, user, with_uid)
}

/// A request to delete something, with options in JSON, in the name of any user.
///
/// # Errors
/// The path is invalid.
pub fn deletion_of(
    path: &str,
    options: &'static str,
    user: &UserInfo,
    with_uid: bool,
) -> Result<Request<ByteStream>, Unreachable> {
    let body: ByteStream = stream::iter([Ok(Bytes::from_static(options.as_bytes()))]).boxed();
    let request = Request::builder().method(Method::DELETE).uri(path).body(body);
    let mut request = signed(request, JSON, user, with_uid)?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(options.len()));
    Ok(request)
}

/// Sets the headers of a request of this server in the name of a user.
fn signed(
    request: http::Result<Request<ByteStream>>,
    accept: &'static str,
    user: &UserInfo,
    with_uid: bool,
) -> Result<Request<ByteStream>, Unreachable> {
    let mut request = request.map_err(|error| Unreachable(error.to_string()))?;
    let headers = request.headers_mut();
    if !accept.is_empty() {
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
    }
    headers.insert(USER_AGENT, HeaderValue::from_static("kube-apiserver"));
    identity::assert(headers, user, with_uid).map_err(|error| Unreachable(error.to_string()))?;
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
    wanted: &FetchRequest<'_>,
) -> Result<Fetched, FetchError> {
    let to = resolve::server(registry, shared.routing, api)?;
    let request = request(wanted.path, wanted.accept, wanted.user).map_err(FetchError::Unreachable)?;
    fetch_from(&*shared.servers, &to, request, wanted.timeout, wanted.limit).await
}

/// Sends a request and waits for the whole response.
///
/// # Errors
/// There was no response, or it exceeded a limit.
pub async fn fetch_from(
    servers: &dyn ExtensionServers,
    to: &ExtensionServer,
    request: Request<ByteStream>,
    timeout: Duration,
    limit: usize,
) -> Result<Fetched, FetchError> {
    let fetching = async {
        let mut exchange = servers.send(to, request).await.map_err(FetchError::Unreachable)?;
        let mut body = BytesMut::new();
        while let Some(piece) = exchange.body.next().await {
            let piece = piece?;
            if body.len() + piece.len() > limit {
                return Err(FetchError::TooLarge(limit));
            }
            body.extend_from_slice(&piece);
        }
        let head = exchange.response;
        Ok(Fetched { code: head.status.as_u16(), headers: head.headers, body: body.freeze() })
    };
    tokio::time::timeout(timeout, fetching).await.unwrap_or(Err(FetchError::TooSlow(timeout)))
}
