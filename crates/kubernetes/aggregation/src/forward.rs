//! Forwards a request to an extension server, on behalf of its user. Guarantees that only this server sets the headers
//! with the user, and that redirects and failures of the extension server are reported as its own. Must never send a
//! request twice that changes something.

use crate::identity;
use crate::resolve;
use crate::services::{ExtensionApi, Shared};
use futures_util::stream::{self, StreamExt};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request as HttpRequest, StatusCode};
use pintle_endpoints::Request;
use pintle_endpoints::delegation::DelegatedRequest;
use pintle_endpoints::response::ApiResponse;
use pintle_gates as gates;
use pintle_proxy::backend::{BackendResponse, ByteStream, ExtensionServer, ExtensionServers, Unreachable};
use pintle_proxy::rewrite::{self, Rewriter};
use pintle_proxy::upgrade::is_upgrade;
use pintle_proxy::{forward, sniff};
use pintle_schema::names::quoted;
use tracing::debug;

const REDIRECTED: &str = "the backend attempted to redirect this request, which is not permitted";

/// The response for an API whose server is unavailable.
pub fn unavailable() -> ApiResponse {
    ApiResponse::text(503, "service unavailable\n")
}

/// Passes a request on and waits for the head of the response.
pub async fn pass(shared: &Shared, api: &ExtensionApi, delegated: DelegatedRequest) -> ApiResponse {
    if !api.available {
        return unavailable();
    }
    let registry = &delegated.api.registry;
    let to = match resolve::server(registry, shared.routing, api) {
        Ok(to) => to,
        Err(error) => {
            debug!(name = api.name, err = %error, "the service of an API service has no address");
            return unavailable();
        }
    };
    let with_uid = registry.environment.gates().is_on(&gates::REMOTE_REQUEST_HEADER_UID);
    let target = ProxyTarget {
        servers: &*shared.servers,
        to: &to,
        reject_redirects: shared.reject_redirects,
        failure: "error trying to reach service: ",
    };
    send(&target, delegated, with_uid, HeaderMap::new()).await
}

/// The server that a request goes to, and how.
pub struct ProxyTarget<'a> {
    pub servers: &'a dyn ExtensionServers,
    pub to: &'a ExtensionServer,
    /// Whether a redirection is an error.
    pub reject_redirects: bool,
    /// What the client reads before the reason if the server cannot be reached.
    pub failure: &'static str,
}

/// Sends a request in the name of its user, with further headers.
pub async fn send(
    target: &ProxyTarget<'_>,
    delegated: DelegatedRequest,
    with_uid: bool,
    further: HeaderMap,
) -> ApiResponse {
    let upgrades = is_upgrade(&delegated.request.headers);
    let Request { headers, method, peer, .. } = &delegated.request;
    let mut headers = match upgrades {
        true => forward::upgrade_headers(headers, method, *peer),
        false => forward::outgoing_headers(headers, *peer),
    };
    headers.remove(header::HOST);
    if let Err(error) = identity::assert(&mut headers, delegated.context.user(), with_uid) {
        return ApiResponse::text(500, format!("{error}\n"));
    }
    if let Ok(id) = HeaderValue::try_from(&delegated.context.id)
        && !id.is_empty()
    {
        headers.insert("audit-id", id);
    }
    headers.extend(further);
    pintle_spans::propagate(&mut headers);
    match upgrades {
        true => upgrade(target, delegated, headers).await,
        false => exchange(target, delegated, headers).await,
    }
}

async fn upgrade(target: &ProxyTarget<'_>, delegated: DelegatedRequest, headers: HeaderMap) -> ApiResponse {
    let sent = match outgoing(delegated, headers) {
        Ok((request, _)) => target.servers.upgrade(target.to, request).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(exchange) => {
            let status = exchange.response.status;
            if status != StatusCode::SWITCHING_PROTOCOLS && status.as_u16() < 400 {
                return ApiResponse::text(503, format!("invalid upgrade response: status code {}\n", status.as_u16()));
            }
            forward::upgraded(exchange).into()
        }
        Err(error) => ApiResponse::text(503, format!("{error}\n")),
    }
}

async fn exchange(target: &ProxyTarget<'_>, delegated: DelegatedRequest, mut headers: HeaderMap) -> ApiResponse {
    let requested = delegated.request.header(header::HOST).to_owned();
    let rewriter = Rewriter {
        prefix: String::new(),
        backend: target.to.authority(),
        requested,
        origin: format!("https://{}", target.to.authority()),
    };
    let uri = rewriter.forwarded(&forward::encode_path(&delegated.request.path));
    for (name, value) in [
        ("x-forwarded-uri", uri.as_str()),
        ("x-forwarded-host", rewriter.backend.as_str()),
        ("x-forwarded-proto", "https"),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    let (request, is_empty) = match outgoing(delegated, headers) {
        Ok(outgoing) => outgoing,
        Err(error) => return failed(target, &error),
    };
    let request = if is_empty { without_body(request) } else { request };
    match target.servers.send(target.to, request).await {
        Ok(exchange) => answered(target, exchange, &rewriter).await,
        Err(error) => failed(target, &error),
    }
}

fn failed(target: &ProxyTarget<'_>, error: &Unreachable) -> ApiResponse {
    ApiResponse::text(503, format!("{}{error}\n", target.failure))
}

async fn answered(target: &ProxyTarget<'_>, exchange: BackendResponse, rewriter: &Rewriter) -> ApiResponse {
    let head = &exchange.response;
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let protocol = head.headers.get(header::UPGRADE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let refusal = format!("backend tried to switch protocol {} when \"\" was requested\n", quoted(protocol));
        return ApiResponse::text(503, refusal);
    }
    if target.reject_redirects && head.status.is_redirection() && head.headers.contains_key(header::LOCATION) {
        return ApiResponse::new(502, "text/plain; charset=utf-8", REDIRECTED);
    }
    let mut answer = forward::answer(exchange);
    forward::CORS.iter().for_each(|name| drop(answer.headers.remove(name)));
    let location = answer.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
    let answer = match location.map(|location| HeaderValue::try_from(rewriter.url(location))) {
        Some(Ok(location)) => {
            answer.headers.insert(header::LOCATION, location);
            answer
        }
        _ => rewrite::page(answer, rewriter).await,
    };
    sniff::typed(answer).await.into()
}

/// The request as it is sent, and whether it has no body.
fn outgoing(delegated: DelegatedRequest, headers: HeaderMap) -> Result<(HttpRequest<ByteStream>, bool), Unreachable> {
    let DelegatedRequest { request, query, .. } = delegated;
    let path = forward::encode_path(&request.path);
    let query = forward::encode_query(query.iter().collect());
    let target = if query.is_empty() { path } else { format!("{path}?{query}") };
    let is_empty = request.body.is_empty();
    let outgoing = HttpRequest::builder().method(request.method).uri(target).body(request.body.pieces());
    let mut outgoing = outgoing.map_err(|error| Unreachable(error.to_string()))?;
    *outgoing.headers_mut() = headers;
    Ok((outgoing, is_empty))
}

/// Sets an empty body, with its length where Go's client announces it.
fn without_body(request: HttpRequest<ByteStream>) -> HttpRequest<ByteStream> {
    let mut request = request.map(|_| stream::empty().boxed());
    match *request.method() {
        Method::POST | Method::PUT | Method::PATCH => {
            request.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        _ => drop(request.headers_mut().remove(header::CONTENT_LENGTH)),
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_empty_body_is_announced_where_there_could_be_one() {
        let rows = [
            ("GET", None),
            ("HEAD", None),
            ("DELETE", None),
            ("POST", Some("0")),
            ("PUT", Some("0")),
            ("PATCH", Some("0")),
        ];
        for (method, expected) in rows {
            let request = HttpRequest::builder().method(method).header(header::CONTENT_LENGTH, "0");
            let request = without_body(request.body(stream::empty().boxed()).expect("a request"));
            let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
            assert_eq!(length, expected, "{method}");
        }
    }
}
