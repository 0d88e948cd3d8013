//! Documents with an ETag. Guarantees that a client which names the tag of what it has gets no content again. Must
//! never make a document.

use crate::request::Request;
use crate::response::ApiResponse;
use bytes::Bytes;
use http::header::{IF_MATCH, IF_NONE_MATCH};

/// Discovery, which a client has if it names this one tag.
pub(super) fn with_etag(request: &Request, bytes: Bytes, content_type: &str, tag: &str) -> ApiResponse {
    let quoted = format!("{tag:?}");
    let code = if request.header(IF_NONE_MATCH) == quoted { 304 } else { 200 };
    tagged(code, bytes, content_type, quoted)
}

/// A file, with the conditions on its tag that HTTP defines.
pub(super) fn file(request: &Request, bytes: Bytes, content_type: &str, tag: &str) -> ApiResponse {
    let quoted = format!("{tag:?}");
    let is_named = |tags: &str| tags.split(',').map(str::trim).any(|named| named == "*" || named == quoted);
    let wanted = request.header(IF_MATCH);
    let code = match is_named(&request.header(IF_NONE_MATCH).replace("W/", "")) {
        _ if !wanted.is_empty() && !is_named(wanted) => 412,
        true => 304,
        false => 200,
    };
    tagged(code, bytes, content_type, quoted)
}

fn tagged(code: u16, bytes: Bytes, content_type: &str, etag: String) -> ApiResponse {
    let mut answer = match code {
        304 => ApiResponse::new(304, "", Bytes::new()),
        412 => ApiResponse::new(412, content_type, Bytes::new()),
        code => ApiResponse::new(code, content_type, bytes),
    };
    answer.headers.push(("etag", etag));
    answer
}
