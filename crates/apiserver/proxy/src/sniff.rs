//! The media type of a backend's response that declares none, from its first bytes, as Go's server determines it.
//!
//! Guarantees the types of the standard "MIME Sniffing" for text, pages, images and archives. Must never change a
//! declared type.

use crate::response::{Content, ForwardedResponse};
use futures_util::stream::{self, StreamExt};
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// The bytes that are looked at.
const SNIFFED_BYTES: usize = 512;

/// The beginnings of pages; a space or the end of the tag follows.
const PAGES: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

const BEGINNINGS: [(&[u8], &str); 26] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xFE\xFF", "text/plain; charset=utf-16be"),
    (b"\xFF\xFE", "text/plain; charset=utf-16le"),
    (b"\xEF\xBB\xBF", "text/plain; charset=utf-8"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"\0\0\x02\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1A\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\0", "application/ogg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"\x1A\x45\xDF\xA3", "video/webm"),
    (b"\0\x01\0\0", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"ttcf", "font/collection"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x1F\x8B\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1A\x07\0", "application/x-rar-compressed"),
    (b"Rar!\x1A\x07\x01\0", "application/x-rar-compressed"),
    (b"\0asm", "application/wasm"),
];

/// Gives a response that declares neither type nor encoding the type of its content. Waits for the first bytes.
pub async fn typed(mut answer: ForwardedResponse) -> ForwardedResponse {
    if answer.headers.contains_key(CONTENT_TYPE) || answer.headers.contains_key(CONTENT_ENCODING) {
        return answer;
    }
    let Content::Streamed(mut body) = answer.content else { return answer };
    let first = body.next().await;
    if let Some(Ok(first)) = &first
        && !first.is_empty()
    {
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(first)));
    }
    answer.content = Content::Streamed(stream::iter(first).chain(body).boxed());
    answer
}

fn media_type(content: &[u8]) -> &'static str {
    let content = &content[..content.len().min(SNIFFED_BYTES)];
    let text = content.trim_ascii_start();
    let is_page = |beginning: &str| {
        text.split_at_checked(beginning.len()).is_some_and(|(start, rest)| {
            start.eq_ignore_ascii_case(beginning.as_bytes()) && matches!(rest.first(), Some(b' ' | b'>'))
        })
    };
    if PAGES.iter().any(|page| is_page(page)) {
        return "text/html; charset=utf-8";
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    let found = BEGINNINGS.iter().find(|(beginning, _)| content.starts_with(beginning));
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    match found {
        Some(&(_, known)) => known,
        None if text.iter().any(is_binary) => "application/octet-stream",
        None => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_its_type() {
        let rows: [(&[u8], &str); 9] = [
            (b"{\"a\":1}", "text/plain; charset=utf-8"),
            (b"\n <html><body>", "text/html; charset=utf-8"),
            (b"<!doctype html>", "text/html; charset=utf-8"),
            (b"<bread>", "text/plain; charset=utf-8"),
            (b" <?xml version=\"1.0\"?>", "text/xml; charset=utf-8"),
            (b"GIF89a...", "image/gif"),
            (b"\x1F\x8B\x08\0", "application/x-gzip"),
            (b"a\0b", "application/octet-stream"),
            (b"caf\xC3\xA9", "text/plain; charset=utf-8"),
        ];
        for (content, expected) in rows {
            assert_eq!(media_type(content), expected, "{}", String::from_utf8_lossy(content));
        }
    }
}
