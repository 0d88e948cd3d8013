//! The front proxy: a server before this one that has found out who a request comes from, and says so in headers.
//! Guarantees that the headers count only from who holds a certificate of the proxy's own authority, and one of its names.
//! Must never believe a header of anybody else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::{ClientCa, Credentials};
use crate::{Str, UserInfo};

/// What is known of the proxy.
pub struct FrontProxy {
    /// Its authorities.
    pub ca: Arc<ClientCa>,
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

/// Whether a header (in lower case) is one in which front proxies usually say who a request comes from. Backends may
/// believe them of this server, so nobody gets them there through it.
pub fn is_of_front_proxies(header: &str) -> bool {
    let rest = header.strip_prefix("x-remote-");
    rest.is_some_and(|rest| matches!(rest, "user" | "uid" | "group") || rest.starts_with("extra-"))
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
    pub fn user(&self, shown: Credentials<'_>, headers: &[(&str, Cow<'_, str>)], now: SystemTime) -> Option<UserInfo> {
        let values = |names: &[String]| -> Vec<&str> {
            let all = names.iter().flat_map(|name| headers.iter().map(move |header| (name, header)));
            let named = all.filter(|(name, (header, _))| name.eq_ignore_ascii_case(header));
            named.map(|(_, (_, value))| &**value).filter(|value| !value.is_empty()).collect()
        };
        // Most requests say nothing of this kind, and need no certificate verified.
        let name = values(&self.headers.username).first().copied()?;
        let memory = shown.cert_cache.map(|cache| &cache.front_proxy);
        let proxy = self.ca.authenticate(shown.client_certs, memory, now).ok()??;
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| *allowed == proxy.name) {
            return None;
        }
        let mut extra: BTreeMap<String, Vec<Str>> = BTreeMap::new();
        for (header, value) in headers {
            if let Some(key) = self.headers.extra_key(header) {
                extra.entry(unescaped_key(&key.to_ascii_lowercase())).or_default().push((&**value).into());
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

/// The key of an extra value without the escapes that headers need; as it is when they make no sense.
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
    use rustls_pki_types::CertificateDer;
    use std::time::Duration;

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
            ca: Arc::new(ClientCa::from_pem(pem.as_bytes()).expect("an authority")),
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
            ("x_remote_user", "eve"),
            ("x-remote-user", "carol"),
            ("x-remote-group", "a"),
            ("x-remote-group", ""),
            ("x-remote-group", "b"),
            ("accept", "x"),
            ("x-remote-extra-acme.com%2fproject", "p"),
            ("x-remote-uid", "u"),
        ]
        .map(|(name, value)| (name, Cow::Borrowed(value)));
        let (own_name, underscores) = (&headers[..1], &headers[1..2]);
        let now = SystemTime::now();
        let user = |chain: &[CertificateDer<'_>], headers: &[(&str, Cow<'_, str>)]| {
            proxy.user(Credentials { client_certs: chain, ..Credentials::default() }, headers, now)
        };
        let bob = user(&leaf("front-proxy-client", &own), &headers).expect("believed");
        assert_eq!((bob.name.as_str(), bob.uid.as_str()), ("bob", "u"));
        assert_eq!(bob.groups, ["a", "b", "system:authenticated"]);
        assert_eq!(bob.extra, [("acme.com/project".into(), vec!["p".into()])]);
        assert_eq!(user(&leaf("somebody", &own), &headers), None);
        assert_eq!(user(&leaf("front-proxy-client", &other), &headers), None);
        assert_eq!(user(&leaf("front-proxy-client", &own), underscores), None);
        let alone = user(&leaf("front-proxy-client", &own), own_name).expect("believed");
        assert_eq!(alone.groups, ["system:authenticated"]);
        let mut server = rcgen::CertificateParams::new([]).expect("no names");
        server.distinguished_name.push(rcgen::DnType::CommonName, "front-proxy-client");
        server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = rcgen::KeyPair::generate().expect("a key");
        let server = [server.signed_by(&key, &own).expect("signed").der().clone()];
        assert_eq!(user(&server, &headers), None);
        assert_eq!(user(&[], &headers), None);
        // What a connection remembers is what the proxy's own authorities said, until it is looked at again.
        let (cache, chain) = (CertCache::default(), leaf("front-proxy-client", &own));
        let on_connection = |certs: &[CertificateDer<'_>], now| {
            let shown = Credentials { client_certs: certs, cert_cache: Some(&cache), ..Credentials::default() };
            proxy.user(shown, own_name, now).is_some()
        };
        let others = leaf("front-proxy-client", &other);
        assert!(on_connection(&chain, now) && on_connection(&others, now), "remembered");
        assert!(!on_connection(&others, now + Duration::from_secs(10)));
        assert!(proxy.headers.contain("x-remote-extra-a") && !proxy.headers.contain("accept"));
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
