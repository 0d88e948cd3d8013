//! Forwarding of messages: which headers are forwarded, and how upgraded connections are joined.
//!
//! Guarantees that the client's credentials are not forwarded, and that the slower side limits the rate. Must never
//! choose the destination of a request.

use crate::backend::BackendResponse;
use crate::response::{Content, ForwardedResponse};
use crate::upgrade::{Upgraded, tokens};
use futures_util::future::{FutureExt, select};
use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::net::IpAddr;
use std::pin::pin;
use tokio::io::{AsyncWriteExt, copy, split};

/// Headers of the connection, not of the message.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// CORS headers, which only this server sets.
pub const CORS: [HeaderName; 4] = [
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
];

/// The headers of an upgrade request that are forwarded: those of the connection, too, as it becomes one with the
/// backend's.
pub fn upgrade_headers(headers: &HeaderMap, method: &Method, peer: Option<IpAddr>) -> HeaderMap {
    on_behalf(of_connection(headers.clone(), method), headers, peer)
}

fn of_connection(mut headers: HeaderMap, method: &Method) -> HeaderMap {
    const OF_THIS_SERVER: [HeaderName; 4] =
        [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::TRAILER, header::PROXY_AUTHORIZATION];
    OF_THIS_SERVER.iter().for_each(|name| drop(headers.remove(name)));
    if matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        // The bytes after the head belong to the other protocol.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    // Go's client names itself in place of a client that does not.
    if !headers.contains_key(header::USER_AGENT) {
        headers.insert(header::USER_AGENT, HeaderValue::from_static("Go-http-client/1.1"));
    }
    headers
}

/// The response to an upgrade request; joins both connections if the backend agrees.
pub fn upgraded(exchange: BackendResponse) -> ForwardedResponse {
    if exchange.response.status != http::StatusCode::SWITCHING_PROTOCOLS {
        return answer(exchange);
    }
    let backend = exchange.upgraded;
    let content = Content::Upgrade(Box::new(|client| {
        async move {
            if let Ok(backend) = backend.await {
                join(client, backend).await;
            }
        }
        .boxed()
    }));
    ForwardedResponse { code: 101, headers: exchange.response.headers, content }
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
    // All bytes that were read have been written; both sides are notified of the end.
    let _ = to_client.shutdown().await;
    let _ = to_backend.shutdown().await;
}

/// The client's headers that are forwarded.
pub fn outgoing_headers(received: &HeaderMap, peer: Option<IpAddr>) -> HeaderMap {
    let mut headers = without_hop_by_hop(received);
    if tokens(received, &header::TE).any(|token| token.eq_ignore_ascii_case("trailers")) {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    on_behalf(headers, received, peer)
}

/// Removes the client's credentials from headers, and adds its address.
fn on_behalf(mut headers: HeaderMap, received: &HeaderMap, peer: Option<IpAddr>) -> HeaderMap {
    let private = |name: &HeaderName| *name == header::AUTHORIZATION || name.as_str().starts_with("impersonate-");
    let private: Vec<HeaderName> = headers.keys().filter(|name| private(name)).cloned().collect();
    private.into_iter().for_each(|name| drop(headers.remove(name)));
    if let Some(peer) = peer {
        let earlier = tokens(received, &FORWARDED_FOR).map(str::to_owned);
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

/// The response to a request that was forwarded.
pub fn answer(exchange: BackendResponse) -> ForwardedResponse {
    let status = exchange.response.status;
    let mut headers = without_hop_by_hop(&exchange.response.headers);
    if status == http::StatusCode::NO_CONTENT {
        headers.remove(header::CONTENT_LENGTH);
    }
    ForwardedResponse { code: status.as_u16(), headers, content: Content::Streamed(exchange.body) }
}

/// Parameters sorted by name and encoded, as kube-apiserver sends them.
pub fn encode_query<K: AsRef<str>, V: AsRef<str>>(mut parameters: Vec<(K, V)>) -> String {
    parameters.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
    let escape = |text: &str| percent_encode(text, b"-_.~", true);
    let pairs = parameters.iter().map(|(name, value)| format!("{}={}", escape(name.as_ref()), escape(value.as_ref())));
    pairs.collect::<Vec<_>>().join("&")
}

/// A decoded path, encoded as kube-apiserver encodes paths.
pub fn encode_path(path: &str) -> String {
    percent_encode(path, b"-_.~$&+,/:;=@", false)
}

/// Encodes all but letters, digits and the bytes to keep.
fn percent_encode(text: &str, keep: &[u8], plus_for_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' if plus_for_space => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || keep.contains(&byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_a_connection_stay_with_it() {
        let headers: HeaderMap = [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("proxy-authorization", "Basic YTpi"),
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

    #[test]
    fn an_upgraded_connection_keeps_its_headers() {
        let sent = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            pairs.collect()
        };
        let headers = sent(&[
            ("connection", "keep-alive, Upgrade, X-Mine"),
            ("upgrade", "SPDY/3.1"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("proxy-authorization", "Basic YTpi"),
            ("content-length", "3"),
        ]);
        let kept = [
            ("connection", "keep-alive, Upgrade, X-Mine"),
            ("upgrade", "SPDY/3.1"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("user-agent", "Go-http-client/1.1"),
        ];
        assert_eq!(of_connection(headers.clone(), &Method::GET), sent(&kept));
        let with_length = [&kept[..], &[("content-length", "0")]].concat();
        assert_eq!(of_connection(headers, &Method::POST), sent(&with_length));
        let named = sent(&[("connection", "Upgrade"), ("user-agent", "kubectl")]);
        assert_eq!(of_connection(named.clone(), &Method::DELETE), named);
    }

    #[test]
    fn queries_are_sorted_and_encoded() {
        let parameters = vec![("output", "1".to_owned()), ("command", "a b&ü".to_owned()), ("command", "c".to_owned())];
        assert_eq!(encode_query(parameters), "command=a+b%26%C3%BC&command=c&output=1");
    }
}
