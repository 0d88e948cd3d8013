//! The parts of a request and its connection that authenticators read. Guarantees that all of them get the same bearer token,
//! wherever the client put it. Must never hold a credential longer than the request.

use std::time::SystemTime;

use http::HeaderMap;
use rustls_pki_types::CertificateDer;

use super::CertCache;
use crate::Str;

/// The credentials of a request and its connection.
#[derive(Clone, Copy)]
pub struct AuthenticationRequest<'a> {
    pub headers: &'a HeaderMap,
    /// The token of the `Authorization` header, or of a WebSocket's protocols. An empty token is never valid.
    pub bearer_token: Option<&'a [u8]>,
    /// The client's certificate chain, leaf first. The connection proved that the client holds the leaf's key.
    pub client_certs: &'a [CertificateDer<'a>],
    /// The connection's cached result of verifying its certificate; without it every request verifies again.
    pub cert_cache: Option<&'a CertCache>,
    /// The audiences of which the credential must be valid for one.
    pub audiences: &'a [Str],
    /// The path of the request; empty where there is none.
    pub path: &'a str,
    /// The current time.
    pub now: SystemTime,
}

impl<'a> AuthenticationRequest<'a> {
    /// A request without any credential.
    pub fn new(headers: &'a HeaderMap, now: SystemTime) -> AuthenticationRequest<'a> {
        AuthenticationRequest {
            headers,
            bearer_token: None,
            client_certs: &[],
            cert_cache: None,
            audiences: &[],
            path: "",
            now,
        }
    }
}

/// The token of an `Authorization` header; `None` for another scheme, or without a token.
pub fn bearer_token(header: &[u8]) -> Option<&[u8]> {
    let mut parts = header.trim_ascii().splitn(3, |byte| *byte == b' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

/// Whether a header for bearer tokens has more than one space before its token, which then is no credential.
pub fn has_space_before_token(header: &[u8]) -> bool {
    let header = header.trim_ascii();
    header.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_headers() {
        let rows: [(&str, Option<&str>, bool); 7] = [
            ("Bearer a", Some("a"), false),
            ("bearer a b", Some("a"), false),
            ("Bearer  a", None, true),
            ("Bearer ", None, false),
            ("Bearer   ", None, false),
            ("Basic  a", None, false),
            ("", None, false),
        ];
        for (header, token, space) in rows {
            assert_eq!(bearer_token(header.as_bytes()), token.map(str::as_bytes), "{header}");
            assert_eq!(has_space_before_token(header.as_bytes()), space, "{header}");
        }
    }
}
