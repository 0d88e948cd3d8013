//! Passing a request on to a backend, and its answer back: plain, or as an upgraded connection.
//!
//! Guarantees that the client's credentials stay here, and that bytes wait where the slower side is. Must never choose
//! where a request goes: that is located before.

use crate::locate::Location;
use crate::rewrite::{self, Rewriter};
use futures_util::future::{FutureExt, select};
use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use pintle_endpoints::Request;
use pintle_endpoints::answer::ApiResponse;
use pintle_endpoints::backend::{ByteStream, Exchange};
use pintle_endpoints::body::Body;
use pintle_endpoints::context::Context;
use pintle_endpoints::upgrade::{Upgraded, is_upgrade, tokens};
use pintle_registry::{Result, Status};
use std::pin::pin;
use tokio::io::{AsyncWriteExt, copy, split};

/// Headers that speak of a connection and not of a message.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers in which the server answers for itself who may read across origins; a backend has no say.
const CORS: [HeaderName; 4] = [
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
];

/// Passes a request for an upgrade on, byte for byte once it is agreed to.
///
/// # Errors
/// The request asks for no upgrade, or the backend cannot be reached.
pub async fn upgrade(context: &Context, location: Location, request: Request) -> Result<ApiResponse> {
    if !is_upgrade(&request.headers) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let mut headers = outgoing_headers(&request);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    if request.method != Method::GET {
        // What follows the head belongs to the other protocol.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    request.headers.get_all(header::UPGRADE).iter().for_each(|value| {
        headers.append(header::UPGRADE, value.clone());
    });
    let exchange = dial(context, location, request, headers).await?;
    if exchange.response.status != http::StatusCode::SWITCHING_PROTOCOLS {
        return Ok(answer(exchange));
    }
    let mut answer = ApiResponse::new(101, "", "");
    answer.passed = exchange.response.headers;
    let backend = exchange.upgraded;
    answer.body = Body::Upgrade(Box::new(|client| {
        async move {
            if let Ok(backend) = backend.await {
                join(client, backend).await;
            }
        }
        .boxed()
    }));
    Ok(answer)
}

/// Sends a request for an upgrade.
///
/// # Errors
/// The backend cannot be reached.
pub fn dial(
    context: &Context,
    location: Location,
    request: Request,
    headers: HeaderMap,
) -> impl Future<Output = Result<Exchange>> {
    let exchange = send(context, location, request, headers);
    exchange.map(|sent| sent.map_err(|error| Status::unexplained(format!("error dialing backend: {error}"))))
}

/// Copies in both directions until one of them has ended.
async fn join(client: Upgraded, backend: Upgraded) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_backend, mut to_backend) = split(backend);
    {
        let up = pin!(copy(&mut from_client, &mut to_backend));
        let down = pin!(copy(&mut from_backend, &mut to_client));
        select(up, down).await;
    }
    // What was read has been written; both sides learn of the end, if they are still there.
    let _ = to_client.shutdown().await;
    let _ = to_backend.shutdown().await;
}

/// Passes a request on as a proxy does, `prefix` being the path of the proxy itself: links and redirections that lead back to the backend lead through here.
///
/// # Errors
/// The backend cannot be reached.
pub async fn pass(context: &Context, location: Location, prefix: String, request: Request) -> Result<ApiResponse> {
    if is_upgrade(&request.headers) {
        return upgrade(context, location, request).await;
    }
    if location.path.is_empty() && matches!(request.method.as_str(), "GET" | "HEAD") {
        // Relative links of a root page are relative to a path that ends in a slash.
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let mut answer = ApiResponse::new(301, "", "");
        answer.headers.push(("location", format!("{}/{query}", request.path)));
        return Ok(answer);
    }
    let host = request.header(header::HOST).to_owned();
    let rewriter = Rewriter { prefix, backend: location.to.authority(), requested: host };
    let mut headers = outgoing_headers(&request);
    if let Ok(uri) = HeaderValue::try_from(rewriter.forwarded(&location.path)) {
        headers.insert("x-forwarded-uri", uri);
    }
    let exchange = send(context, location, request, headers)
        .await
        .map_err(|error| Status::new(503, "ServiceUnavailable", format!("error trying to reach service: {error}")))?;
    let mut answer = answer(exchange);
    CORS.iter().for_each(|name| drop(answer.passed.remove(name)));
    match answer.passed.get(header::LOCATION).map(|location| location.to_str().map(|text| rewriter.url(text))) {
        Some(Ok(location)) => {
            let location = HeaderValue::try_from(location).map_err(Status::internal)?;
            answer.passed.insert(header::LOCATION, location);
            Ok(answer)
        }
        Some(Err(error)) => Err(Status::internal(format!("failed to parse Location header: {error}"))),
        None => Ok(rewrite::page(answer, &rewriter).await),
    }
}

async fn send(
    context: &Context,
    location: Location,
    request: Request,
    headers: HeaderMap,
) -> std::result::Result<Exchange, String> {
    let body: ByteStream = request.body.pieces();
    let mut outgoing =
        http::Request::builder().method(request.method).uri(location.target()).body(body).map_err(|e| e.to_string())?;
    *outgoing.headers_mut() = headers;
    context.api.connector.send(location.to, outgoing).await.map_err(|error| error.0)
}

/// The client's headers as a backend may see them.
pub fn outgoing_headers(request: &Request) -> HeaderMap {
    let mut headers = without_hop_by_hop(&request.headers);
    let private = |name: &HeaderName| *name == header::AUTHORIZATION || name.as_str().starts_with("impersonate-");
    let private: Vec<HeaderName> = headers.keys().filter(|name| private(name)).cloned().collect();
    private.into_iter().for_each(|name| drop(headers.remove(name)));
    if let Some(peer) = request.peer {
        let earlier = tokens(&request.headers, &FORWARDED_FOR).map(str::to_owned);
        let all: Vec<String> = earlier.chain([peer.to_string()]).collect();
        if let Ok(value) = HeaderValue::try_from(all.join(", ")) {
            headers.insert(FORWARDED_FOR, value);
        }
    }
    headers
}

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = tokens(headers, &header::CONNECTION).map(str::to_ascii_lowercase).collect();
    let passes = |name: &HeaderName| !HOP_BY_HOP.contains(name) && !named.iter().any(|other| other == name.as_str());
    headers.iter().filter(|(name, _)| passes(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub fn answer(exchange: Exchange) -> ApiResponse {
    let mut answer = ApiResponse::new(exchange.response.status.as_u16(), "", "");
    answer.passed = without_hop_by_hop(&exchange.response.headers);
    answer.body = Body::Passed(exchange.body);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_a_connection_stay_with_it() {
        let headers: HeaderMap = [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("transfer-encoding", "chunked"),
            ("x-other", "2"),
            ("content-length", "3"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let left = without_hop_by_hop(&headers);
        let mut names: Vec<&str> = left.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "x-other"]);
    }
}
