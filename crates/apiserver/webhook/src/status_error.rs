//! The error that an unsuccessful response is, as client-go's REST client makes it. Guarantees the messages of
//! `errors.NewGenericServerResponse` and the precedence of a `Status` in the body. Must never take success for an error.

use http::HeaderMap;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use pintle_codec::{Strictness, json};
use pintle_meta::v1::Status;
use pintle_schema::ApiType;

/// The maximum length of an error text.
const MAX_TEXT: usize = 2048;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StatusError {
    /// The status code.
    pub code: u16,
    /// The reason in one word.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// When to retry, if the response says so.
    pub retry_after_seconds: Option<u32>,
}

impl StatusError {
    /// The error of a status code; `text` is the body.
    pub fn of_code(code: u16, method: &str, text: &str, retry_after_seconds: Option<u32>) -> StatusError {
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason".to_owned()),
            401 => ("Unauthorized", "the server has asked for the client to provide credentials".to_owned()),
            403 => ("Forbidden", text.to_owned()),
            404 => ("NotFound", "the server could not find the requested resource".to_owned()),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource".to_owned()),
            406 => ("NotAcceptable", text.to_owned()),
            409 => {
                let reason = if method == "POST" { "AlreadyExists" } else { "Conflict" };
                (reason, "the server reported a conflict".to_owned())
            }
            415 => ("UnsupportedMediaType", text.to_owned()),
            422 => ("Invalid", "the server rejected our request due to an error in our request".to_owned()),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later".to_owned(),
            ),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request".to_owned()),
            504 => (
                "Timeout",
                "the server was unable to return a response in the time allotted, but may still be processing the request"
                    .to_owned(),
            ),
            500.. => (
                "InternalError",
                format!(
                    "an error on the server ({}) has prevented the request from succeeding",
                    pintle_schema::names::quoted(text)
                ),
            ),
            _ => ("", format!("the server responded with the status code {code} but did not return more information")),
        };
        StatusError { code, reason: reason.to_owned(), message, retry_after_seconds }
    }

    /// The error of a complete response to a request with this method; none if its code reports success.
    pub fn of_response(code: u16, headers: &HeaderMap, method: &str, body: &[u8]) -> Option<StatusError> {
        if (200..=206).contains(&code) {
            return None;
        }
        let media_type = media_type(content_type(headers));
        let text = match media_type.is_empty() || media_type.starts_with("text/") {
            true => String::from_utf8_lossy(body.get(..MAX_TEXT).unwrap_or(body)).trim().to_owned(),
            false => "unknown".to_owned(),
        };
        let by_code = || StatusError::of_code(code, method, &text, retry_after(headers));
        Some(StatusError::of_body(body).unwrap_or_else(by_code))
    }

    /// The error of a `Status` in a body; none if it reports success.
    fn of_body(body: &[u8]) -> Option<StatusError> {
        let head = json::type_meta(body).ok()?;
        if (head.api_version.as_str(), head.kind.as_str()) != ("v1", "Status") {
            return None;
        }
        let decoded = json::decode(Status::schema(), body, Strictness::Ignore).ok()?;
        let status = <Status as pintle_schema::ApiValue>::from_value(&decoded.value).ok()?;
        if status.status == "Success" {
            return None;
        }
        let retry_after_seconds =
            status.details.and_then(|details| u32::try_from(details.retry_after_seconds).ok()).filter(|s| *s > 0);
        Some(StatusError {
            code: u16::try_from(status.code).unwrap_or(0),
            reason: status.reason.as_str().to_owned(),
            message: status.message,
            retry_after_seconds,
        })
    }
}

/// The requested wait in seconds, if the response requests one.
pub(crate) fn asks_to_wait(code: u16, headers: &HeaderMap) -> Option<u32> {
    if code != 429 && code / 100 != 5 {
        return None;
    }
    retry_after(headers)
}

fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// A content type without its parameters.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_to_wait() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "3".parse().expect("a header"));
        assert_eq!(asks_to_wait(429, &headers), Some(3));
        assert_eq!(asks_to_wait(200, &headers), None);
        headers.insert(RETRY_AFTER, "soon".parse().expect("a header"));
        assert_eq!(asks_to_wait(503, &headers), None);
    }
}
