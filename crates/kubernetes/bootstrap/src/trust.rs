//! The config map with the certificate authorities of clients and of the front proxy, merged with the content that
//! other servers published. Guarantees that the result has no duplicate and no expired certificate. Must never drop
//! content of another server that cannot be parsed: then nothing is merged.

use data_encoding::BASE64;
use pintle_auth::authentication::not_after;
use pintle_codec::{Strictness, json};
use pintle_schema::{Time, Value};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
/// JSON lists, published together with the front proxy's CAs.
const PROXY_LISTS: [&str; 5] = [
    "requestheader-allowed-names",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    UID_HEADERS,
    "requestheader-username-headers",
];
/// The list that is left out while it is empty: it came later than the others.
const UID_HEADERS: &str = "requestheader-uid-headers";
const EMPTY_LIST: &str = "[]";

/// How long an expired certificate is still published: clocks differ.
const EXPIRY_SLACK: Duration = Duration::from_secs(5 * 60);
const PEM_LINE: usize = 64;

/// The data of the config map: the published CAs and those of this server. `None` when the published ones cannot be decoded.
pub(crate) fn merged(
    published: &BTreeMap<String, String>,
    required: &BTreeMap<String, String>,
    now: Time,
) -> Option<BTreeMap<String, String>> {
    let both = |key| [published, required].map(|data| data.get(key).map_or("", String::as_str));
    let mut data = BTreeMap::new();
    let mut lists = Vec::with_capacity(PROXY_LISTS.len());
    for key in PROXY_LISTS {
        let list = united_lists(both(key))?;
        if key != UID_HEADERS || list != EMPTY_LIST {
            lists.push((key.to_owned(), list));
        }
    }
    for key in [CLIENT_CA, PROXY_CA] {
        let bundle = united_bundles(both(key), now)?;
        if !bundle.is_empty() {
            data.insert(key.to_owned(), bundle);
        }
    }
    if data.contains_key(PROXY_CA) {
        data.extend(lists);
    }
    Some(data)
}

/// The certificates of two bundles, as PEM without anything else.
fn united_bundles(bundles: [&str; 2], now: Time) -> Option<String> {
    let now = UNIX_EPOCH + Duration::from_secs(u64::try_from(now.seconds).unwrap_or(0));
    let mut all: Vec<Vec<u8>> = Vec::new();
    for bundle in bundles.into_iter().filter(|bundle| !bundle.is_empty()) {
        let mut count = 0;
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            let certificate = certificate.ok()?;
            let ends: SystemTime = not_after(&certificate)?;
            if ends + EXPIRY_SLACK > now && !all.iter().any(|known| **known == *certificate) {
                all.push(certificate.to_vec());
            }
            count += 1;
        }
        if count == 0 {
            return None;
        }
    }
    let mut text = String::new();
    for certificate in all {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in BASE64.encode(&certificate).as_bytes().chunks(PEM_LINE) {
            text.extend(line.iter().copied().map(char::from));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    Some(text)
}

/// The items of two JSON lists of strings, each once; an empty text is an empty list.
fn united_lists(lists: [&str; 2]) -> Option<String> {
    let mut all: Vec<Value> = Vec::new();
    for list in lists.into_iter().filter(|list| !list.is_empty()) {
        match json::parse(list.as_bytes(), Strictness::Ignore).ok()?.value {
            Value::Null => {}
            Value::List(items) => {
                for item in items {
                    item.as_str()?;
                    if !all.contains(&item) {
                        all.push(item);
                    }
                }
            }
            _ => return None,
        }
    }
    Some(json::to_string(&Value::List(all)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

    const NOW: &str = "2026-11-20T10:00:00Z";

    /// A certificate of this name as PEM, valid until the end of a year.
    pub(crate) fn certificate(name: &str, last_year: i32) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 12, 31);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem().replace("\r\n", "\n")
    }

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn merge(published: &[(&str, &str)], required: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
        merged(&map(published), &map(required), Time::parse(NOW).unwrap())
    }

    #[test]
    fn certificates_are_published_once_and_alone() {
        let (a, b, old) = (certificate("a", 2040), certificate("b", 2040), certificate("old", 2025));
        let noted = format!("# of the operator\n{}\n\n{a}", a.trim_end());
        let ab = format!("{a}{b}");
        let with_old = format!("{old}{a}");
        // (published, required, merged)
        let rows: [(&str, &str, Option<&str>); 10] = [
            ("", &a, Some(&a)),
            ("", &noted, Some(&a)),
            (&a, &noted, Some(&a)),
            (&a, &b, Some(&ab)),
            (&ab, &b, Some(&ab)),
            (&ab, "", Some(&ab)),
            (&with_old, &b, Some(&ab)),
            (&old, &old, Some("")),
            ("no certificate", &a, None),
            ("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", &a, None),
        ];
        for (published, required, expected) in rows {
            let data = merge(&[(CLIENT_CA, published)], &[(CLIENT_CA, required)]);
            let text = data.map(|data| data.get(CLIENT_CA).cloned().unwrap_or_default());
            assert_eq!(text.as_deref(), expected, "{published} and {required}");
        }
    }

    #[test]
    fn lists_go_with_the_authorities_of_the_front_proxy() {
        let a = certificate("a", 2040);
        let users = "requestheader-username-headers";
        let data =
            merge(&[(users, r#"["X-User"]"#), ("more", "x")], &[(CLIENT_CA, &a), (users, r#"["X-Remote-User"]"#)]);
        assert_eq!(data, Some(map(&[(CLIENT_CA, &a)])));
        let data =
            merge(&[(users, r#"["X-User","X-Remote-User"]"#)], &[(PROXY_CA, &a), (users, r#"["X-Remote-User"]"#)]);
        let expected = [
            (PROXY_CA, a.as_str()),
            ("requestheader-allowed-names", "[]"),
            ("requestheader-extra-headers-prefix", "[]"),
            ("requestheader-group-headers", "[]"),
            (users, r#"["X-User","X-Remote-User"]"#),
        ];
        assert_eq!(data, Some(map(&expected)));
        let data = merge(&[(UID_HEADERS, r#"["X-Uid"]"#)], &[(PROXY_CA, &a)]).unwrap_or_default();
        assert_eq!(data.get(UID_HEADERS).map(String::as_str), Some(r#"["X-Uid"]"#));
        for unreadable in ["[1]", "{}", "[", "text"] {
            assert_eq!(merge(&[(users, unreadable)], &[(CLIENT_CA, &a)]), None, "{unreadable}");
        }
    }
}
