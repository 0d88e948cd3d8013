//! The front proxy: a proxy before this server that authenticates users and passes them on in request headers.
//! Guarantees that the headers count only from a client with a certificate of the proxy's own authority, and one of its names.
//! Must never trust these headers from any other client.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::HeaderValue;
use pintle_resource::MaybeReady;

use super::{AuthenticationError, AuthenticationRequest, Authenticator, ClientCa, Identity};
use crate::{Str, UserInfo};

/// How the proxy is recognized, and where it puts the user.
pub struct FrontProxy {
    /// Its authorities.
    pub ca: Arc<ClientCa>,
    /// The common names allowed in its certificate; any when empty.
    pub allowed_names: Vec<String>,
    /// The headers of the user; the first one with a value is the name.
    pub headers: FrontProxyHeaders,
}

/// The names of its headers, compared without case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    pub username: Vec<String>,
    pub uid: Vec<String>,
    pub group: Vec<String>,
    pub extra_prefixes: Vec<String>,
}

/// Whether a header (in lower case) is one in which front proxies usually pass a user. Backends may trust this server with
/// them, so a client must not be able to send them there.
pub fn is_front_proxy_header(header: &str) -> bool {
    let rest = header.strip_prefix("x-remote-");
    rest.is_some_and(|rest| matches!(rest, "user" | "uid" | "group") || rest.starts_with("extra-"))
}

impl FrontProxyHeaders {
    fn contain(&self, header: &str) -> bool {
        let is = |own: &String| own.eq_ignore_ascii_case(header);
        [&self.username, &self.uid, &self.group].into_iter().flatten().any(is) || self.extra_key(header).is_some()
    }

    fn extra_key<'a>(&self, header: &'a str) -> Option<&'a str> {
        self.extra_prefixes.iter().find_map(|prefix| {
            let (start, rest) = header.split_at_checked(prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then_some(rest)
        })
    }
}

impl FrontProxy {
    /// The user in the proxy's headers; `None` when there is none, or no certificate.
    ///
    /// # Errors
    /// The certificate is not the proxy's, whatever the headers.
    fn user(&self, request: &AuthenticationRequest<'_>) -> Result<Option<UserInfo>, AuthenticationError> {
        if request.client_certs.is_empty() {
            return Ok(None);
        }
        let proxy = self.ca.identity(request)?.map(|proxy| proxy.user.name.clone()).unwrap_or_default();
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| *allowed == proxy) {
            return Err(AuthenticationError::refused(format!("x509: subject with cn={proxy} is not allowed")));
        }
        let values = |names: &[String]| -> Vec<Str> {
            let all = names.iter().flat_map(|name| request.headers.get_all(name.as_str()));
            all.map(text).filter(|value| !value.is_empty()).collect()
        };
        let Some(name) = values(&self.headers.username).into_iter().next() else { return Ok(None) };
        let mut extra: BTreeMap<String, Vec<Str>> = BTreeMap::new();
        for (header, value) in request.headers {
            if let Some(key) = self.headers.extra_key(header.as_str()) {
                extra.entry(unescaped_key(key)).or_default().push(text(value));
            }
        }
        let user = UserInfo {
            name,
            uid: values(&self.headers.uid).into_iter().next().unwrap_or_default(),
            groups: values(&self.headers.group),
            extra: extra.into_iter().map(|(key, values)| (key.into(), values)).collect(),
        };
        Ok(Some(user.authenticated()))
    }
}

fn text(value: &HeaderValue) -> Str {
    Str::new(String::from_utf8_lossy(value.as_bytes()))
}

impl Authenticator for FrontProxy {
    /// Fails for every certificate that is not the proxy's; as a client's it, or a token, may still authenticate the request.
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        MaybeReady::Ready(self.user(request).map(|user| user.map(|user| Identity::of(Arc::new(user)))))
    }

    fn consumes_header(&self, name: &str) -> bool {
        self.headers.contain(name)
    }
}

/// The key of an extra value without the escapes that headers need; unchanged when they are malformed.
pub fn unescaped_key(key: &str) -> String {
    let mut parts = key.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let Some((code, rest)) = part.split_at_checked(2) else { return key.to_owned() };
        match u8::from_str_radix(code, 16) {
            Ok(byte) if !code.starts_with('+') => bytes.push(byte),
            _ => return key.to_owned(),
        }
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CertCache;
    use http::{HeaderMap, HeaderName};
    use rustls_pki_types::CertificateDer;
    use std::time::{Duration, SystemTime};

    #[test]
    fn only_the_proxy_is_trusted() {
        let signer = |name: &str| {
            let mut params = rcgen::CertificateParams::new([]).expect("no names");
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            let key = rcgen::KeyPair::generate().expect("a key");
            let pem = params.self_signed(&key).expect("signed").pem();
            (rcgen::Issuer::new(params, key), pem)
        };
        let (own, pem) = signer("front-proxy-ca");
        let (other, _) = signer("another");
        let leaf = |name: &str, issuer: &rcgen::Issuer<'_, rcgen::KeyPair>| {
            let mut params = rcgen::CertificateParams::new([]).expect("no names");
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
            let key = rcgen::KeyPair::generate().expect("a key");
            vec![params.signed_by(&key, issuer).expect("signed").der().clone()]
        };
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let proxy = FrontProxy {
            ca: Arc::new(ClientCa::from_pem(pem.as_bytes()).expect("an authority")),
            allowed_names: list(&["front-proxy-client"]),
            headers: FrontProxyHeaders {
                username: list(&["X-Remote-User"]),
                group: list(&["X-Remote-Group"]),
                extra_prefixes: list(&["X-Remote-Extra-"]),
                uid: list(&["X-Remote-Uid"]),
            },
        };
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            let mut headers = HeaderMap::new();
            pairs.for_each(|(name, value)| _ = headers.append(name, value));
            headers
        };
        let all = headers(&[
            ("x-remote-user", "bob"),
            ("x_remote_user", "eve"),
            ("x-remote-user", "carol"),
            ("x-remote-group", "a"),
            ("x-remote-group", ""),
            ("x-remote-group", "b"),
            ("accept", "x"),
            ("x-remote-extra-acme.com%2fproject", "p"),
            ("x-remote-uid", "u"),
        ]);
        let (own_name, underscores) = (headers(&[("x-remote-user", "bob")]), headers(&[("x_remote_user", "eve")]));
        let now = SystemTime::now();
        let user = |chain: &[CertificateDer<'_>], headers: &HeaderMap| {
            let request = AuthenticationRequest { client_certs: chain, ..AuthenticationRequest::new(headers, now) };
            proxy.user(&request).ok().flatten()
        };
        let bob = user(&leaf("front-proxy-client", &own), &all).expect("trusted");
        assert_eq!((bob.name.as_str(), bob.uid.as_str()), ("bob", "u"));
        assert_eq!(bob.groups, ["a", "b", "system:authenticated"]);
        assert_eq!(bob.extra, [("acme.com/project".into(), vec!["p".into()])]);
        assert_eq!(user(&leaf("somebody", &own), &all), None);
        assert_eq!(user(&leaf("front-proxy-client", &other), &all), None);
        assert_eq!(user(&leaf("front-proxy-client", &own), &underscores), None);
        let alone = user(&leaf("front-proxy-client", &own), &own_name).expect("trusted");
        assert_eq!(alone.groups, ["system:authenticated"]);
        let mut server = rcgen::CertificateParams::new([]).expect("no names");
        server.distinguished_name.push(rcgen::DnType::CommonName, "front-proxy-client");
        server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = rcgen::KeyPair::generate().expect("a key");
        let server = [server.signed_by(&key, &own).expect("signed").der().clone()];
        assert_eq!(user(&server, &all), None);
        assert_eq!(user(&[], &all), None);
        // A certificate that is not the proxy's is an error even without headers; none at all is not.
        let nothing = HeaderMap::new();
        let fails = |chain: &[CertificateDer<'_>]| {
            let request = AuthenticationRequest { client_certs: chain, ..AuthenticationRequest::new(&nothing, now) };
            proxy.user(&request).is_err()
        };
        assert!(fails(&leaf("front-proxy-client", &other)) && fails(&leaf("somebody", &own)));
        assert!(!fails(&leaf("front-proxy-client", &own)) && !fails(&[]));
        // A connection keeps the result of the proxy's own authorities until the chain is verified again.
        let (cache, chain) = (CertCache::default(), leaf("front-proxy-client", &own));
        let on_connection = |certs: &[CertificateDer<'_>], now| {
            let request = AuthenticationRequest::new(&own_name, now);
            let request = AuthenticationRequest { client_certs: certs, cert_cache: Some(&cache), ..request };
            proxy.user(&request).is_ok_and(|user| user.is_some())
        };
        let others = leaf("front-proxy-client", &other);
        assert!(on_connection(&chain, now) && on_connection(&others, now), "remembered");
        assert!(!on_connection(&others, now + Duration::from_secs(10)));
        assert!(proxy.consumes_header("x-remote-extra-a") && !proxy.consumes_header("accept"));
    }

    #[test]
    fn keys_of_extra_values() {
        let rows = [
            ("a%2fb%2Fc", "a/b/c"),
            ("%c3%a9", "\u{e9}"),
            ("a%2", "a%2"),
            ("a%zz", "a%zz"),
            ("%+f", "%+f"),
            ("%ff", "%ff"),
        ];
        for (escaped, key) in rows {
            assert_eq!(unescaped_key(escaped), key);
        }
    }
}
