//! Forwards a request to a backend, and its response to the client: plain, or as an upgraded connection.
//!
//! Guarantees that the client's credentials are not forwarded, and that the slower side limits the rate. Must never
//! choose the destination of a request.

use crate::locate::Location;
use futures_util::future::FutureExt;
use http::header::{self, HeaderMap, HeaderValue};
use pintle_endpoints::Request;
use pintle_endpoints::context::Context;
use pintle_endpoints::response::ApiResponse;
use pintle_proxy::backend::{BackendResponse, ByteStream};
use pintle_proxy::rewrite::{self, Rewriter};
use pintle_proxy::upgrade::is_upgrade;
use pintle_proxy::{forward, sniff};
use pintle_registry::{Result, Status};

/// Forwards an upgrade request, and then the bytes of both sides.
///
/// # Errors
/// The request is not an upgrade request, or the backend cannot be reached.
pub async fn upgrade(context: &Context, location: Location, request: Request) -> Result<ApiResponse> {
    if !is_upgrade(&request.headers) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let headers = forward::upgrade_headers(&request.headers, &request.method, request.peer);
    Ok(forward::upgraded(dial(context, location, request, headers).await?).into())
}

/// Sends an upgrade request.
///
/// # Errors
/// The backend cannot be reached.
pub fn dial(
    context: &Context,
    location: Location,
    request: Request,
    headers: HeaderMap,
) -> impl Future<Output = Result<BackendResponse>> {
    let exchange = send(context, location, request, headers);
    exchange.map(|sent| sent.map_err(|error| Status::unexplained(format!("error dialing backend: {error}"))))
}

/// Forwards a request; `prefix` is the path of the proxy, which is added to links and redirects to the backend.
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
    let rewriter = Rewriter { prefix, backend: location.to.authority(), requested: host, origin: String::new() };
    let mut headers = forward::outgoing_headers(&request.headers, request.peer);
    if let Ok(uri) = HeaderValue::try_from(rewriter.forwarded(&location.path)) {
        headers.insert("x-forwarded-uri", uri);
    }
    let exchange = send(context, location, request, headers)
        .await
        .map_err(|error| Status::new(503, "ServiceUnavailable", format!("error trying to reach service: {error}")))?;
    let mut answer = forward::answer(exchange);
    forward::CORS.iter().for_each(|name| drop(answer.headers.remove(name)));
    match answer.headers.get(header::LOCATION).map(|location| location.to_str().map(|text| rewriter.url(text))) {
        Some(Ok(location)) => {
            let location = HeaderValue::try_from(location).map_err(Status::internal)?;
            answer.headers.insert(header::LOCATION, location);
            Ok(sniff::typed(answer).await.into())
        }
        Some(Err(error)) => Err(Status::internal(format!("failed to parse Location header: {error}"))),
        None => Ok(sniff::typed(rewrite::page(answer, &rewriter).await).await.into()),
    }
}

async fn send(
    context: &Context,
    location: Location,
    request: Request,
    headers: HeaderMap,
) -> std::result::Result<BackendResponse, String> {
    let body: ByteStream = request.body.pieces();
    let mut outgoing =
        http::Request::builder().method(request.method).uri(location.target()).body(body).map_err(|e| e.to_string())?;
    *outgoing.headers_mut() = headers;
    context.api.connector.send(location.to, outgoing).await.map_err(|error| error.0)
}
