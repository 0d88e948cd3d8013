//! The front proxy: a server before this one that has found out who a request comes from, and says so in headers.
//! Guarantees that the headers count only from who holds a certificate of the proxy's own authority, and one of its names.
//! Must never believe a header of anybody else.

use std::collections::BTreeMap;
use std::time::SystemTime;

use rustls_pki_types::CertificateDer;

use super::ClientCa;
use crate::{Str, UserInfo};

/// What is known of the proxy.
pub struct FrontProxy {
    /// Its authorities.
    pub ca: ClientCa,
    /// The names that its certificate may have; any when there are none.
    pub allowed_names: Vec<String>,
    /// Where it says what; the first header with a value tells the name.
    pub headers: FrontProxyHeaders,
}

/// The names of its headers; case does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    pub username: Vec<String>,
    pub uid: Vec<String>,
    pub group: Vec<String>,
    pub extra_prefixes: Vec<String>,
}

impl FrontProxyHeaders {
    /// Whether a header is one of them.
    pub fn contain(&self, header: &str) -> bool {
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
    /// Whom the proxy says that a request comes from; `None` when it says nothing, or somebody else does.
    pub fn user(&self, chain: &[CertificateDer<'_>], headers: &[(&str, &str)], now: SystemTime) -> Option<UserInfo> {
        let values = |names: &'_ [String]| -> Vec<&str> {
            let of = |name: &String| headers.iter().filter(|(header, _)| name.eq_ignore_ascii_case(header)).collect();
            let all = names.iter().flat_map(|name| -> Vec<&(&str, &str)> { of(name) });
            all.map(|(_, value)| *value).filter(|value| !value.is_empty()).collect()
        };
        // Most requests say nothing of this kind, and need no certificate verified.
        let name = values(&self.headers.username).first().copied()?;
        let proxy = self.ca.authenticate(chain, None, now).ok()??;
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| *allowed == proxy.name) {
            return None;
        }
        let mut extra: BTreeMap<String, Vec<Str>> = BTreeMap::new();
        for (header, value) in headers {
            if let Some(key) = self.headers.extra_key(header) {
                extra.entry(unescaped(&key.to_ascii_lowercase())).or_default().push((*value).into());
            }
        }
        let user = UserInfo {
            name: name.into(),
            uid: values(&self.headers.uid).first().copied().unwrap_or("").into(),
            groups: values(&self.headers.group).into_iter().map(Str::new).collect(),
            extra: extra.into_iter().map(|(key, values)| (key.into(), values)).collect(),
        };
        Some(user.authenticated())
    }
}

/// A key without the escapes that headers need; as it is when they make no sense.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| str::from_utf8(code).ok());
        match (first, code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or(&[]);
            }
            (b'%', None) => return key.to_owned(),
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_proxy_is_believed() {
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
            ca: ClientCa::from_pem(pem.as_bytes()).expect("an authority"),
            allowed_names: list(&["front-proxy-client"]),
            headers: FrontProxyHeaders {
                username: list(&["X-Remote-User"]),
                group: list(&["X-Remote-Group"]),
                extra_prefixes: list(&["X-Remote-Extra-"]),
                uid: list(&["X-Remote-Uid"]),
            },
        };
        let headers = [
            ("x-remote-user", "bob"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("accept", "x"),
            ("x-remote-extra-acme.com%2fproject", "p"),
            ("x-remote-uid", "u"),
        ];
        let now = SystemTime::now();
        let bob = proxy.user(&leaf("front-proxy-client", &own), &headers, now).expect("believed");
        assert_eq!((bob.name.as_str(), bob.uid.as_str()), ("bob", "u"));
        assert_eq!(bob.groups, ["a", "b", "system:authenticated"]);
        assert_eq!(bob.extra, [("acme.com/project".into(), vec!["p".into()])]);
        assert_eq!(proxy.user(&leaf("somebody", &own), &headers, now), None);
        assert_eq!(proxy.user(&leaf("front-proxy-client", &other), &headers, now), None);
        assert_eq!(proxy.user(&leaf("front-proxy-client", &own), &headers[1..], now), None);
        assert_eq!(proxy.user(&[], &headers, now), None);
        assert!(proxy.headers.contain("x-remote-extra-a") && !proxy.headers.contain("accept"));
    }
}
