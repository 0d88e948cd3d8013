//! URLs: parsing with kube-apiserver's error texts, and their parts.
//!
//! Guarantees that a URL prints as kube-apiserver prints it. Percent-encoded bytes need not be UTF-8; where a text
//! is asked for, those that are not stand as U+FFFD.

use pintle_schema::names::quoted;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Parameters of a query past which none are read.
const MAX_QUERY_PARAMETERS: usize = 10_000;

/// A parsed URL.
#[derive(Clone, Debug, Default)]
pub struct Url {
    scheme: String,
    opaque: Option<String>,
    user: Option<User>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// The path as it was written, where that is not how it would be encoded.
    raw_path: String,
    /// Whether a `?` stands without anything behind it.
    empty_query: bool,
    query: String,
    fragment: Vec<u8>,
    raw_fragment: String,
    has_host: bool,
}

#[derive(Clone, Debug)]
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// The part of a URL that a byte stands in; each has its own characters that need no encoding.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

/// Whether a text is an absolute URL or an absolute path; the error is kube-apiserver's.
pub fn check_request_uri(text: &str) -> Result<(), String> {
    parse(text, true).map(drop).map_err(|why| fault(text, &why))
}

/// Whether a text is any URL, be it relative; the error is kube-apiserver's.
pub fn check(text: &str) -> Result<(), String> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    parse(before, false).map_err(|why| fault(before, &why))?;
    decode(fragment, Part::Fragment).map(drop).map_err(|why| fault(text, &why))
}

impl Url {
    /// Parses an absolute URL or an absolute path, which may have a fragment.
    pub fn parse(text: &str) -> Result<Url, String> {
        check_request_uri(text)?;
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(before, false).map_err(|why| fault(before, &why))?;
        url.fragment = decode(fragment, Part::Fragment).map_err(|why| fault(text, &why))?;
        if encode(&url.fragment, Part::Fragment) != fragment {
            url.raw_fragment = fragment.to_owned();
        }
        Ok(url)
    }

    /// The scheme, in lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host with the port, decoded.
    pub fn host(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.host)
    }

    /// The host without the port, and without brackets.
    pub fn hostname(&self) -> Cow<'_, str> {
        let (host, _) = self.split_host();
        String::from_utf8_lossy(host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host))
    }

    /// The port, if one is written.
    pub fn port(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.split_host().1)
    }

    fn split_host(&self) -> (&[u8], &[u8]) {
        let colon = self.host.iter().rposition(|byte| *byte == b':');
        match colon.and_then(|at| self.host.split_at_checked(at)) {
            Some((host, [_, port @ ..])) if port.iter().all(u8::is_ascii_digit) => (host, port),
            _ => (&self.host, b""),
        }
    }

    /// The path as it was written, if it is a way to encode it.
    pub fn escaped_path(&self) -> String {
        if self.path == b"*" {
            return "*".to_owned();
        }
        written_or_encoded(&self.raw_path, &self.path, Part::Path)
    }

    /// The parameters of the query, each with its values in order.
    pub fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut parameters: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if self.query.matches('&').count() >= MAX_QUERY_PARAMETERS {
            return parameters;
        }
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (decode(key, Part::Query), decode(value, Part::Query)) else { continue };
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            parameters.entry(text(key)).or_default().push(text(value));
        }
        parameters
    }
}

/// The URL as text; two URLs are equal if their texts are.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        match &self.opaque {
            Some(opaque) => text.push_str(opaque),
            None => {
                let has_authority = !self.host.is_empty() || self.user.is_some();
                if has_authority || self.has_host && !self.path.is_empty() {
                    text.push_str("//");
                    if let Some(user) = &self.user {
                        text.push_str(&encode(&user.name, Part::User));
                        if let Some(password) = &user.password {
                            text.push(':');
                            text.push_str(&encode(password, Part::User));
                        }
                        text.push('@');
                    }
                    text.push_str(&encode(&self.host, Part::Host));
                }
                let path = self.escaped_path();
                if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                    text.push('/');
                }
                text.push_str(&path);
            }
        }
        if self.empty_query || !self.query.is_empty() {
            text.push('?');
            text.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push('#');
            text.push_str(&written_or_encoded(&self.raw_fragment, &self.fragment, Part::Fragment));
        }
        f.write_str(&text)
    }
}

fn fault(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quoted(text))
}

fn parse(text: &str, request: bool) -> Result<Url, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let mut rest = rest;
    if rest.ends_with('?') && rest.matches('?').count() == 1 {
        url.empty_query = true;
        rest = rest.strip_suffix('?').unwrap_or(rest);
    } else if let Some((path, query)) = rest.split_once('?') {
        url.query = query.to_owned();
        rest = path;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = Some(rest.to_owned()).filter(|opaque| !opaque.is_empty());
            url.has_host = true;
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    if (!url.scheme.is_empty() || !request && !rest.starts_with("///"))
        && let Some(after) = rest.strip_prefix("//")
    {
        let (authority, path) = after.split_at_checked(after.find('/').unwrap_or(after.len())).unwrap_or((after, ""));
        (url.user, url.host) = parse_authority(&url.scheme, authority)?;
        // Without a scheme an empty host is not printed.
        url.has_host = !url.scheme.is_empty();
        rest = path;
    }
    url.path = decode(rest, Part::Path)?;
    if encode(&url.path, Part::Path) != rest {
        url.raw_path = rest.to_owned();
    }
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Result<(Option<User>, Vec<u8>), String> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let user = match user.split_once(':') {
        Some((name, password)) => {
            User { name: decode(name, Part::User)?, password: Some(decode(password, Part::User)?) }
        }
        None => User { name: decode(user, Part::User)?, password: None },
    };
    Ok((Some(user), host))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed_host(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Names of several hosts with ports are in use, but not in HTTP.
    let is_http = matches!(scheme, "http" | "https");
    if let Some(colon) = if is_http { host.find(':') } else { host.rfind(':') } {
        check_port(host.get(colon..).unwrap_or(""))?;
    }
    decode(host, Part::Host)
}

fn parse_bracketed_host(host: &str) -> Result<Vec<u8>, String> {
    let (inside, port) = host.strip_prefix('[').and_then(|host| host.rsplit_once(']')).ok_or("missing ']' in host")?;
    check_port(port)?;
    let address = match inside.find("%25").and_then(|at| inside.split_at_checked(at)) {
        Some((address, zone)) => [decode(address, Part::Host)?, decode(zone, Part::Zone)?].concat(),
        None => decode(inside, Part::Host)?,
    };
    let (parsed, _) = super::address::parse_address(&String::from_utf8_lossy(&address))
        .map_err(|why| format!("invalid host: {why}"))?;
    if parsed.is_ipv4() {
        return Err("invalid IP-literal".to_owned());
    }
    Ok([b"[", address.as_slice(), b"]", decode(port, Part::Host)?.as_slice()].concat())
}

fn check_port(port: &str) -> Result<(), String> {
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if is_port { Ok(()) } else { Err(format!("invalid port {} after host", quoted(port))) }
}

fn needs_encoding(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']' | b'<'
        | b'>' | b'"'
            if matches!(part, Part::Host | Part::Zone) =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::Path => byte == b'?',
            Part::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
            Part::Fragment => false,
            Part::Query | Part::Host | Part::Zone => true,
        },
        b'!' | b'(' | b')' | b'*' => part != Part::Fragment,
        _ => true,
    }
}

/// Decodes percent-encoded bytes, and `+` in a query.
fn decode(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let byte = match after {
                    [high, low, after @ ..] => {
                        rest = after;
                        hex_digit(*high).zip(hex_digit(*low)).map(|(high, low)| high * 16 + low)
                    }
                    _ => None,
                };
                // Within a host only what is no ASCII is encoded, but for the percent sign before a zone.
                let allowed = byte.filter(|byte| match part {
                    Part::Host => *byte >= 0x80 || *byte == b'%',
                    Part::Zone => matches!(byte, b'%' | b' ') || !needs_encoding(*byte, Part::Host),
                    _ => true,
                });
                let Some(byte) = allowed else {
                    let shown = [b"%", after.get(..2).unwrap_or(after)].concat();
                    return Err(format!("invalid URL escape {}", quoted_bytes(&shown)));
                };
                decoded.push(byte);
            }
            b'+' if part == Part::Query => decoded.push(b' '),
            byte if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && needs_encoding(*byte, part) => {
                return Err(format!("invalid character {} in host name", quoted_bytes(&[*byte])));
            }
            byte => decoded.push(*byte),
        }
    }
    Ok(decoded)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Quotes bytes that may end within a character.
fn quoted_bytes(bytes: &[u8]) -> String {
    bytes.utf8_chunks().fold(String::from("\""), |mut text, chunk| {
        let valid = quoted(chunk.valid());
        text.push_str(valid.strip_prefix('"').and_then(|valid| valid.strip_suffix('"')).unwrap_or(&valid));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        text
    }) + "\""
}

fn encode(bytes: &[u8], part: Part) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            byte if needs_encoding(*byte, part) => text.push_str(&format!("%{byte:02X}")),
            byte => text.push(char::from(*byte)),
        }
    }
    text
}

/// What was written, if it is one of the ways to encode a part; else the usual way.
fn written_or_encoded(written: &str, decoded: &[u8], part: Part) -> String {
    let is_plain = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !needs_encoding(byte, part);
    let is_right = !written.is_empty()
        && written.bytes().all(is_plain)
        && decode(written, part).is_ok_and(|bytes| bytes == decoded);
    if is_right { written.to_owned() } else { encode(decoded, part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_are_none_say_why() {
        for (text, why) in [
            ("http://h:port/", "invalid port \":port\" after host"),
            ("a/b", "invalid URI for request"),
            ("http://a b/", "invalid character \" \" in host name"),
            ("http://[::1", "missing ']' in host"),
            ("http://h/%zz", "invalid URL escape \"%zz\""),
            ("http://h/%z", "invalid URL escape \"%z\""),
            ("://x", "missing protocol scheme"),
            ("", "empty url"),
            ("http://h:80:80/", "invalid port \":80:80\" after host"),
            ("http://[1.2.3.4]/", "invalid IP-literal"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), format!("parse {text:?}: {why}"));
        }
    }

    #[test]
    fn relative_urls_are_urls() {
        for text in ["", "a/b", "/a?b#c", "https://h/p", "mailto:x"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        let why = "parse \"a{b:c\": first path segment in URL cannot contain colon";
        assert_eq!(check("a{b:c"), Err(why.to_owned()));
        assert_eq!(check("/a#%zz"), Err("parse \"/a#%zz\": invalid URL escape \"%zz\"".to_owned()));
    }

    #[test]
    fn parts_of_urls() {
        let url = Url::parse("HTTPS://u:p@Example.com:8443/a%2Fb/c?q=1&q=2&r=x%26y&z#f").unwrap();
        assert_eq!(url.scheme(), "https");
        assert_eq!(
            (url.host(), url.hostname(), url.port()),
            ("Example.com:8443".into(), "Example.com".into(), "8443".into())
        );
        assert_eq!(url.escaped_path(), "/a%2Fb/c");
        let query = url.query();
        assert_eq!(query.get("q").unwrap(), &["1", "2"]);
        assert_eq!((&query["r"], &query["z"]), (&vec!["x&y".to_owned()], &vec![String::new()]));
        assert_eq!(url.to_string(), "https://u:p@Example.com:8443/a%2Fb/c?q=1&q=2&r=x%26y&z#f");
    }

    #[test]
    fn hosts_in_brackets() {
        let url = Url::parse("http://[fe80::1%25eth0]:80/").unwrap();
        assert_eq!(
            (url.host(), url.hostname(), url.port()),
            ("[fe80::1%eth0]:80".into(), "fe80::1%eth0".into(), "80".into())
        );
        assert_eq!(Url::parse("http://h:").unwrap().host(), "h:");
    }

    #[test]
    fn urls_without_a_host() {
        assert_eq!(Url::parse("mailto:a@b").unwrap().to_string(), "mailto:a@b");
        let path = Url::parse("/path/only?k=v").unwrap();
        assert_eq!((path.scheme(), path.host(), path.escaped_path()), ("", "".into(), "/path/only".to_owned()));
        let start = Url::parse("//host/path").unwrap();
        assert_eq!((start.host(), start.escaped_path()), ("host".into(), "/path".to_owned()));
        assert_eq!(Url::parse("*").unwrap().escaped_path(), "*");
        assert_eq!(Url::parse("http://h/a%2Fb c").unwrap().escaped_path(), "/a/b%20c");
        assert_eq!(Url::parse("file:///x").unwrap().to_string(), "file:///x");
    }
}
