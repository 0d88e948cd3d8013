//! Upgrades of connections: how a client requests one, the task that takes the connection over, and tokens in
//! WebSockets.
//!
//! Guarantees that a client's credential never travels on to a backend. Must never read or write a socket: the HTTP
//! server passes the connection to the task that takes it over.

use data_encoding::BASE64URL_NOPAD;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::{CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection in both directions, whatever carries it.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection that no longer speaks HTTP.
pub type Upgraded = Box<dyn Duplex>;

/// Takes over the connection after a 101 response. The connection ends when the returned future does, or is dropped.
pub type Takeover = Box<dyn FnOnce(Upgraded) -> BoxFuture<'static, ()> + Send>;

const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Whether a client requests another protocol on its connection. As in kube-apiserver, the header `Connection` alone
/// decides, whatever else it contains.
pub fn is_upgrade(headers: &HeaderMap) -> bool {
    tokens(headers, &CONNECTION).any(|token| token.to_ascii_lowercase().contains("upgrade"))
}

/// Whether it requests a WebSocket: the first header `Upgrade` names nothing else.
pub fn is_websocket(headers: &HeaderMap) -> bool {
    is_upgrade(headers) && headers.get(UPGRADE).is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// The comma-separated items of all headers of a name.
pub fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

/// A bearer token among the WebSocket protocols is malformed, or no other protocol is offered.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidToken;

/// Removes the bearer token from the protocols of a WebSocket, where browsers can put it, and returns it as an
/// `Authorization` value. The token is no protocol and is not echoed, so another one must be offered. An empty token is
/// none.
///
/// # Errors
/// The token is not base64url, there are several, or no other protocol is offered.
pub fn take_bearer_protocol(headers: &mut HeaderMap) -> Result<Option<HeaderValue>, InvalidToken> {
    if !is_websocket(headers) {
        return Ok(None);
    }
    let offered = tokens(headers, &SEC_WEBSOCKET_PROTOCOL);
    let (tokens, others): (Vec<&str>, Vec<&str>) = offered.partition(|name| name.starts_with(BEARER_PROTOCOL));
    let token = match tokens[..] {
        [] => return Ok(None),
        [token] => token.strip_prefix(BEARER_PROTOCOL).unwrap_or_default(),
        _ => return Err(InvalidToken),
    };
    let token = BASE64URL_NOPAD.decode(token.as_bytes()).map_err(|_| InvalidToken)?;
    if token.is_empty() {
        return Ok(None);
    }
    if others.is_empty() {
        return Err(InvalidToken);
    }
    let value = HeaderValue::from_bytes(&[&b"Bearer "[..], &token].concat()).map_err(|_| InvalidToken)?;
    let others = HeaderValue::try_from(others.join(",")).map_err(|_| InvalidToken)?;
    headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(protocols: &'static str) -> HeaderMap {
        HeaderMap::from_iter([
            (CONNECTION, HeaderValue::from_static("keep-alive, Upgrade")),
            (UPGRADE, HeaderValue::from_static("WebSocket")),
            (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocols)),
        ])
    }

    #[test]
    fn a_token_is_taken_out_of_the_protocols() {
        /// Offered protocols, token, remaining protocols.
        type Row = (&'static str, Result<Option<&'static str>, InvalidToken>, &'static str);
        let rows: [Row; 6] = [
            ("v5.channel.k8s.io", Ok(None), "v5.channel.k8s.io"),
            ("base64url.bearer.authorization.k8s.io.YWRtaW4, a, b", Ok(Some("Bearer admin")), "a,b"),
            ("base64url.bearer.authorization.k8s.io.YWRtaW4", Err(InvalidToken), ""),
            ("base64url.bearer.authorization.k8s.io.", Ok(None), "base64url.bearer.authorization.k8s.io."),
            ("base64url.bearer.authorization.k8s.io.!, a", Err(InvalidToken), ""),
            (
                "base64url.bearer.authorization.k8s.io.YQ,base64url.bearer.authorization.k8s.io.YQ,a",
                Err(InvalidToken),
                "",
            ),
        ];
        for (offered, expected, left) in rows {
            let mut headers = asking(offered);
            let taken = take_bearer_protocol(&mut headers);
            assert_eq!(taken, expected.map(|token| token.map(HeaderValue::from_static)), "{offered}");
            if taken.is_ok() {
                assert_eq!(headers[SEC_WEBSOCKET_PROTOCOL], left);
            }
        }
    }

    #[test]
    fn only_an_upgrade_of_a_connection_counts() {
        assert!(is_websocket(&asking("")));
        let mut headers = asking("");
        headers.insert(UPGRADE, HeaderValue::from_static("SPDY/3.1"));
        assert!(is_upgrade(&headers) && !is_websocket(&headers));
        headers.insert(UPGRADE, HeaderValue::from_static("h2c, websocket"));
        assert!(is_upgrade(&headers) && !is_websocket(&headers));
        headers.remove(UPGRADE);
        assert!(is_upgrade(&headers) && !is_websocket(&headers));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
        assert!(!is_upgrade(&headers));
    }
}
