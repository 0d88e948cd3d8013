//! `ApiResponse`: the response of a step, and how it is sent: headers, warnings, compression.
//!
//! Every response passes through `respond`, which never changes its content.

use crate::body::{Body, Size};
use crate::compress::compressed;
use crate::encoding::{self, MediaTypeOptions, ResponseKind};
use crate::limits;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, VARY, WARNING};
use http::{HeaderMap, Response, StatusCode};
use pintle_compute::Turns;
use pintle_proxy::websocket::HandshakeError;
use pintle_proxy::{Content, ForwardedResponse};
use pintle_registry::Status;
use pintle_schema::Str;
use std::sync::Arc;

/// Adds warnings to a response or to an error.
pub fn attach_warnings(outcome: Result<ApiResponse, Status>, warnings: Vec<String>) -> Result<ApiResponse, Status> {
    match outcome {
        Ok(answer) => Ok(answer.with_warnings(warnings)),
        Err(status) => Err(status.warned_before(warnings)),
    }
}

/// A response before it is encoded as HTTP.
pub struct ApiResponse {
    pub code: u16,
    pub content_type: String,
    pub body: Body,
    pub warnings: Vec<String>,
    pub headers: Vec<(&'static str, String)>,
    /// Headers of a backend's response, added to the usual ones.
    pub passed: HeaderMap,
}

impl ApiResponse {
    pub fn new(code: u16, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        ApiResponse {
            code,
            content_type: content_type.into(),
            body: Body::Full(body.into()),
            warnings: Vec::new(),
            headers: Vec::new(),
            passed: HeaderMap::new(),
        }
    }

    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    pub fn text(code: u16, text: impl Into<String>) -> Self {
        let mut answer = ApiResponse::new(code, "text/plain; charset=utf-8", text.into().into_bytes());
        answer.forbid_sniffing();
        answer
    }

    fn forbid_sniffing(&mut self) {
        self.headers.push(("x-content-type-options", "nosniff".to_owned()));
    }
}

impl From<ForwardedResponse> for ApiResponse {
    fn from(forwarded: ForwardedResponse) -> Self {
        let mut answer = ApiResponse::new(forwarded.code, "", "");
        answer.passed = forwarded.headers;
        answer.body = match forwarded.content {
            Content::Streamed(pieces) => Body::Proxied(pieces),
            Content::Page(page) => Body::Full(page),
            Content::Upgrade(takeover) => Body::Upgrade(takeover),
        };
        answer
    }
}

/// The error for a handshake of a WebSocket that is refused.
pub fn handshake_refused(error: HandshakeError) -> Status {
    match error {
        HandshakeError::Malformed => Status::bad_request(error.to_string()),
        HandshakeError::UnknownProtocol => Status::new(403, "Forbidden", error.to_string()),
    }
}

/// A Status as a response, in the negotiated form.
pub fn error_response(status: &Status, wanted: MediaTypeOptions) -> ApiResponse {
    let wanted = MediaTypeOptions { shape: ResponseKind::Object, ..wanted };
    let schema = <pintle_meta::meta::v1::Status as pintle_schema::ApiType>::schema();
    let body = encoding::encode(&status.to_value(), schema, wanted);
    let mut answer = ApiResponse::new(status.code, wanted.format.content_type(), body);
    answer.warnings = status.warnings.clone();
    if status.no_sniffing {
        answer.forbid_sniffing();
    }
    let retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry_after > 0 {
        answer.headers.push(("retry-after", retry_after.to_string()));
    }
    answer
}

/// Whether a client accepts gzip: only the plain word counts, not one with a weight.
pub fn accepts_gzip(accept_encoding: &str) -> bool {
    accept_encoding.split(',').any(|token| token.trim() == "gzip")
}

/// Responses of this size and more are compressed if the client accepts it; compressing smaller ones costs more than it saves.
const GZIP_MIN_BYTES: u64 = 128 << 10;

/// The longest text whose length a response to HEAD shows.
const HEAD_LENGTH_MAX: usize = 2048;

/// How a response is sent.
#[derive(Clone, Copy)]
pub struct ResponseOptions<'a> {
    pub accepts_gzip: bool,
    /// Without the body.
    pub is_head: bool,
    /// The processors, for which its user waits in turns with others.
    pub turns: &'a Arc<Turns>,
    pub user: &'a Str,
}

/// Converts a response to HTTP.
pub fn respond(answer: ApiResponse, response_options: ResponseOptions<'_>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let no_body = answer.content_type.is_empty() || answer.code == 304;
    if let (Ok(content_type), false) = (HeaderValue::try_from(&answer.content_type), no_body) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    if answer.code != 101 {
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    }
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    for (name, value) in &answer.passed {
        headers.append(name, value.clone());
    }
    if answer.code == 304 {
        // Nor does a backend's response without a body have one.
        headers.remove(CONTENT_TYPE);
    }
    for warning in sendable_warnings(&answer.warnings) {
        if let Ok(value) = HeaderValue::try_from(format!("299 - {}", quoted(warning))) {
            headers.append(WARNING, value);
        }
    }
    let size = answer.body.size();
    let body = match answer.body {
        body if !body.is_long_running()
            && response_options.accepts_gzip
            && size > GZIP_MIN_BYTES
            && !headers.contains_key("content-encoding") =>
        {
            headers.insert("content-encoding", HeaderValue::from_static("gzip"));
            headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
            let (turns, user) = (response_options.turns.clone(), response_options.user.clone());
            Body::Chunks(compressed(body, turns, user), Size::About(size))
        }
        body => body,
    };
    match (response_options.is_head, body) {
        // As in Go's server, whose buffer is that large.
        (true, Body::Full(text)) if !no_body && (1..=HEAD_LENGTH_MAX).contains(&text.len()) => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(text.len()));
        }
        (true, _) => {}
        (false, body) => *response.body_mut() = body,
    }
    response
}

/// Sets a header of this server before the same one of a backend.
pub(crate) fn set_before(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) {
    let others: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
    headers.insert(name, value);
    for other in others {
        headers.append(name, other);
    }
}

/// The warnings that go out: each text once, but for those with control characters, which no header may have; and when
/// all are longer than a header may be, their beginnings, until that is too long as well.
fn sendable_warnings(warnings: &[String]) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    let distinct: Vec<&str> =
        warnings.iter().map(String::as_str).filter(|text| is_header_value(text) && seen.insert(*text)).collect();
    let length = |text: &str| text.chars().count();
    if distinct.iter().map(|text| length(text)).sum::<usize>() <= limits::WARNINGS_CHARACTERS {
        return distinct;
    }
    let mut total = 0;
    let mut fits = |text: &&str| {
        let is_room = total < limits::WARNINGS_CHARACTERS;
        total += length(text);
        is_room
    };
    distinct.into_iter().map(truncated).take_while(|text| fits(text)).collect()
}

fn is_header_value(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

fn truncated(text: &str) -> &str {
    let end = text.char_indices().nth(limits::TRUNCATED_WARNING_CHARACTERS).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// A warning's text as a quoted string of a header.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_of_requests_forbid_sniffing() {
        let headers = |status: Status| error_response(&status, MediaTypeOptions::JSON).headers;
        assert!(headers(Status::new(403, "Forbidden", "no")).is_empty());
        let refused = Status::new(403, "Forbidden", "no").without_sniffing();
        assert_eq!(headers(refused), [("x-content-type-options", "nosniff".to_owned())]);
    }

    #[test]
    fn heads_show_the_length_of_short_texts() {
        let (turns, user) = (Arc::default(), Str::new_static("user"));
        let length = |answer: ApiResponse, is_head: bool| {
            let response =
                respond(answer, ResponseOptions { accepts_gzip: false, is_head, turns: &turns, user: &user });
            response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()).map(str::to_owned)
        };
        assert_eq!(length(ApiResponse::text(404, "404 page not found\n"), true).as_deref(), Some("19"));
        assert_eq!(length(ApiResponse::text(200, "x".repeat(2049)), true), None);
        assert_eq!(length(ApiResponse::new(304, "", ""), true), None);
        assert_eq!(length(ApiResponse::text(200, "ok"), false), None, "the length of a body is known from it");
    }

    #[test]
    fn what_is_compressed_varies_with_the_encodings_that_are_accepted() {
        let (turns, user) = (Arc::default(), Str::new_static("user"));
        let headers = |accepts_gzip: bool, length: usize| {
            let mut answer = ApiResponse::text(200, "x".repeat(length));
            answer.headers.push(("vary", "Accept".to_owned()));
            let options = ResponseOptions { accepts_gzip, is_head: false, turns: &turns, user: &user };
            let headers = respond(answer, options).headers().clone();
            let vary: Vec<_> = headers.get_all(VARY).iter().map(|value| value.to_str().map(str::to_owned)).collect();
            (headers.contains_key("content-encoding"), vary.into_iter().flatten().collect::<Vec<_>>())
        };
        let large = usize::try_from(GZIP_MIN_BYTES).unwrap_or_default() + 1;
        assert_eq!(headers(true, large), (true, vec!["Accept".to_owned(), "Accept-Encoding".to_owned()]));
        for (accepts_gzip, length) in [(true, large - 1), (false, large)] {
            assert_eq!(headers(accepts_gzip, length), (false, vec!["Accept".to_owned()]));
        }
    }

    #[test]
    fn headers_of_this_server_stand_before_those_of_backends() {
        let mut headers = HeaderMap::new();
        let name = HeaderName::from_static("audit-id");
        set_before(&mut headers, &name, HeaderValue::from_static("theirs"));
        set_before(&mut headers, &name, HeaderValue::from_static("ours"));
        assert_eq!(headers.get_all(&name).iter().collect::<Vec<_>>(), ["ours", "theirs"]);
    }

    #[test]
    fn warnings_go_out_once_and_only_if_a_header_can_hold_them() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(sendable_warnings(&texts(&["a", "", "b\nc", "a", "é \"\\"])), ["a", "é \"\\"]);
        let long = "x".repeat(limits::WARNINGS_CHARACTERS);
        assert_eq!(sendable_warnings(&texts(&["a", &long])), ["a", &long[..limits::TRUNCATED_WARNING_CHARACTERS]]);
    }
}
