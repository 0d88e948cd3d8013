//! Rewrites redirects and links in HTML pages from a backend, so that they go through the proxy.
//!
//! Guarantees that everything but links is unchanged. Must never buffer more than the limit: a larger page is forwarded
//! unchanged.

use crate::backend::ByteStream;
use crate::response::{Content, ForwardedResponse};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::stream::{self, StreamExt};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use std::io::{Read, Write};

/// The largest page that is rewritten.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Attributes that hold an address, by element.
const LINKS: &[(&str, &[&str])] = &[
    ("a", &["href"]),
    ("applet", &["codebase"]),
    ("area", &["href"]),
    ("audio", &["src"]),
    ("base", &["href"]),
    ("blockquote", &["cite"]),
    ("body", &["background"]),
    ("button", &["formaction"]),
    ("command", &["icon"]),
    ("del", &["cite"]),
    ("embed", &["src"]),
    ("form", &["action"]),
    ("frame", &["longdesc", "src"]),
    ("head", &["profile"]),
    ("html", &["manifest"]),
    ("iframe", &["longdesc", "src"]),
    ("img", &["longdesc", "src", "usemap"]),
    ("input", &["src", "usemap", "formaction"]),
    ("ins", &["cite"]),
    ("link", &["href"]),
    ("object", &["classid", "codebase", "data", "usemap"]),
    ("q", &["cite"]),
    ("script", &["src"]),
    ("source", &["src"]),
    ("video", &["poster", "src"]),
];

/// Elements whose content is text, whatever it looks like.
const RAW_TEXT: [&str; 4] = ["script", "style", "textarea", "title"];

/// Rewrites links.
pub struct Rewriter {
    /// The path of the proxy, before the backend's own path.
    pub prefix: String,
    /// `host:port` of the backend.
    pub backend: String,
    /// The host that the client requested.
    pub requested: String,
    /// The scheme and host that links get; "" for links of the page's own host.
    pub origin: String,
}

impl Rewriter {
    /// The requested path, as backends receive it.
    pub fn forwarded(&self, path: &str) -> String {
        join(&self.prefix, path)
    }

    /// Rewrites a link.
    pub fn url(&self, url: &str) -> String {
        let (scheme, rest) = match url.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ => ("", url),
        };
        let (host, rest) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let (path, suffix) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let elsewhere = !host.is_empty() && host != self.backend && host != self.requested;
        if elsewhere || !path.starts_with('/') {
            return url.to_owned();
        }
        let keeps_host = host == self.requested && !host.is_empty() && self.origin.is_empty();
        let origin = match keeps_host {
            true if scheme.is_empty() => format!("//{host}"),
            true => format!("{scheme}://{host}"),
            false => self.origin.clone(),
        };
        let path = if path.starts_with(&self.prefix) { path.to_owned() } else { join(&self.prefix, path) };
        format!("{origin}{path}{suffix}")
    }

    /// Rewrites the links of a page.
    pub fn html(&self, page: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(page.len() + page.len() / 8);
        let mut rest = page;
        while let Some(start) = rest.iter().position(|byte| *byte == b'<') {
            let (text, tag) = rest.split_at(start);
            out.extend_from_slice(text);
            rest = match tag {
                [b'<', b'!', b'-', b'-', ..] => verbatim(tag, find(tag, b"-->").map(|at| at + 3), &mut out),
                [b'<', letter, ..] if letter.is_ascii_alphabetic() => self.tag(tag, &mut out),
                _ => verbatim(tag, Some(1), &mut out),
            };
        }
        out.extend_from_slice(rest);
        out
    }

    /// Copies a start tag, and its content if that is raw text; returns the rest.
    fn tag<'a>(&self, tag: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let mut at = 1 + tag.iter().skip(1).position(is_end).unwrap_or(tag.len() - 1);
        let name = lower(&tag[1..at]);
        let links = LINKS.iter().find(|(element, _)| *element == name).map_or(&[][..], |(_, links)| *links);
        let mut copied = 0;
        while at < tag.len() && tag[at] != b'>' {
            if tag[at].is_ascii_whitespace() || tag[at] == b'/' {
                at += 1;
                continue;
            }
            let attribute = at;
            at += 1 + tag[at + 1..].iter().position(|byte| is_end(byte) || *byte == b'=').unwrap_or(tag.len() - at - 1);
            let attribute = lower(&tag[attribute..at]);
            let Some((value, end)) = value(tag, at) else { continue };
            if links.contains(&&*attribute)
                && let Ok(link) = std::str::from_utf8(&tag[value.clone()])
            {
                out.extend_from_slice(&tag[copied..value.start]);
                out.extend_from_slice(self.url(link).as_bytes());
                copied = value.end;
            }
            at = end;
        }
        let mut end = (at + 1).min(tag.len());
        if RAW_TEXT.contains(&name.as_str()) {
            let close = format!("</{name}");
            end += find_ignoring_case(&tag[end..], close.as_bytes()).unwrap_or(tag.len() - end);
        }
        out.extend_from_slice(&tag[copied..end]);
        &tag[end..]
    }
}

/// The value after an attribute's name, without its quotes, and where it ends with them.
fn value(tag: &[u8], name_end: usize) -> Option<(std::ops::Range<usize>, usize)> {
    let blanks = |at: usize| tag[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let equals = name_end + blanks(name_end);
    if tag.get(equals) != Some(&b'=') {
        return None;
    }
    let start = equals + 1 + blanks(equals + 1);
    match tag.get(start)? {
        quote @ (b'"' | b'\'') => {
            let length = tag[start + 1..].iter().position(|byte| byte == quote)?;
            Some((start + 1..start + 1 + length, start + length + 2))
        }
        _ => {
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
            let length = tag[start..].iter().position(is_end).unwrap_or(tag.len() - start);
            Some((start..start + length, start + length))
        }
    }
}

fn verbatim<'a>(bytes: &'a [u8], end: Option<usize>, out: &mut Vec<u8>) -> &'a [u8] {
    let (copied, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    out.extend_from_slice(copied);
    rest
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn find_ignoring_case(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window.eq_ignore_ascii_case(what))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Two paths as one, cleaned of empty and dot segments; a slash at the end stays.
pub fn join(first: &str, second: &str) -> String {
    let mut segments = Vec::new();
    for segment in first.split('/').chain(second.split('/')) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let slash = if second.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{slash}", segments.join("/"))
}

/// Rewrites the links of a response that is an HTML page in a supported encoding.
pub async fn page(mut answer: ForwardedResponse, rewriter: &Rewriter) -> ForwardedResponse {
    let header =
        |name| answer.headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).unwrap_or("");
    let is_html = header(CONTENT_TYPE).split(';').next().unwrap_or("").trim() == "text/html";
    let zipped = match header(CONTENT_ENCODING) {
        "" => false,
        "gzip" => true,
        _ => return answer,
    };
    let Content::Streamed(body) = answer.content else { return answer };
    if !is_html {
        answer.content = Content::Streamed(body);
        return answer;
    }
    let (bytes, rest) = beginning(body).await;
    let plain = if zipped { unzip(&bytes) } else { Some(bytes.clone()) };
    answer.content = match (plain, rest) {
        (Some(plain), None) => {
            answer.headers.remove(CONTENT_LENGTH);
            let page = Bytes::from(rewriter.html(&plain));
            Content::Page(if zipped { gzip(&page) } else { page })
        }
        (_, rest) => {
            let rest = rest.unwrap_or_else(|| stream::empty().boxed());
            Content::Streamed(stream::once(async move { Ok(Bytes::from(bytes)) }).chain(rest).boxed())
        }
    };
    answer
}

/// A body's bytes up to the bound, and the rest if that is not all.
async fn beginning(mut body: ByteStream) -> (Vec<u8>, Option<ByteStream>) {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(error) => return (bytes, Some(stream::once(async move { Err(error) }).boxed())),
        }
        if bytes.len() > MAX_PAGE_BYTES {
            return (bytes, Some(body));
        }
    }
    (bytes, None)
}

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().into()
}

fn unzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut reader = GzDecoder::new(bytes).take(MAX_PAGE_BYTES as u64 + 1);
    let read = reader.read_to_end(&mut plain).ok()?;
    (read <= MAX_PAGE_BYTES).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewriter() -> Rewriter {
        let (backend, requested) = ("10.0.0.1:80".into(), "api:6443".into());
        Rewriter { prefix: "/p/proxy".into(), backend, requested, origin: String::new() }
    }

    #[test]
    fn links_to_the_backend_go_through_the_proxy() {
        let rows = [
            ("/a", "/p/proxy/a"),
            ("/a/?b=/c#d", "/p/proxy/a/?b=/c#d"),
            ("/p/proxy/a", "/p/proxy/a"),
            ("a/b", "a/b"),
            ("?x", "?x"),
            ("mailto:a@b", "mailto:a@b"),
            ("http://10.0.0.1:80/a", "/p/proxy/a"),
            ("http://elsewhere/a", "http://elsewhere/a"),
            ("https://api:6443/a", "https://api:6443/p/proxy/a"),
            ("//elsewhere/a", "//elsewhere/a"),
            ("/a/../../b//c", "/p/b/c"),
        ];
        for (url, expected) in rows {
            assert_eq!(rewriter().url(url), expected, "{url}");
        }
    }

    #[test]
    fn links_of_an_extension_server_name_it() {
        let origin = "https://10.0.0.1:80".to_owned();
        let rewriter = Rewriter { prefix: String::new(), origin, ..rewriter() };
        let rows = [
            ("/a?b", "https://10.0.0.1:80/a?b"),
            ("a/b", "a/b"),
            ("https://api:6443/a", "https://10.0.0.1:80/a"),
            ("http://elsewhere/a", "http://elsewhere/a"),
        ];
        for (url, expected) in rows {
            assert_eq!(rewriter.url(url), expected, "{url}");
        }
    }

    #[test]
    fn pages_change_in_their_links_only() {
        let rows = [
            ("<a href=\"/x\">/y</a>", "<a href=\"/p/proxy/x\">/y</a>"),
            ("<A class='/n' HREF = '/x' >", "<A class='/n' HREF = '/p/proxy/x' >"),
            ("<img src=/x usemap=/y>", "<img src=/p/proxy/x usemap=/p/proxy/y>"),
            ("<p href=\"/x\">", "<p href=\"/x\">"),
            ("<!-- <a href=\"/x\"> --><a href=x>", "<!-- <a href=\"/x\"> --><a href=x>"),
            (
                "<script src=\"/s\">'<a href=\"/x\">'</SCRIPT><a href=\"/x\">",
                "<script src=\"/p/proxy/s\">'<a href=\"/x\">'</SCRIPT><a href=\"/p/proxy/x\">",
            ),
            ("a < b <", "a < b <"),
            ("<a href=\"/x", "<a href=\"/x"),
            ("<a href", "<a href"),
            ("<a", "<a"),
            ("<a href=", "<a href="),
        ];
        for (page, expected) in rows {
            assert_eq!(String::from_utf8_lossy(&rewriter().html(page.as_bytes())), expected);
        }
    }
}
