//! The response of a webhook, as client-go's REST client interprets it: a body, or an error made of the status code.
//! Guarantees that a successful response has a body. Must never read more of a body than the call allows.

use bytes::Bytes;
use http::HeaderMap;

use crate::error::CallError;
use crate::status_error::{StatusError, content_type, media_type};

/// A successful response.
#[derive(Clone, Debug)]
pub struct WebhookResponse {
    /// A code from 200 to 206.
    pub code: u16,
    /// The content type without its parameters; JSON if there is none.
    pub content_type: String,
    /// All of the body, never empty.
    pub body: Bytes,
}

/// Turns a response into a result.
pub(crate) fn interpret(
    code: u16,
    headers: &HeaderMap,
    method: &str,
    body: Bytes,
) -> Result<WebhookResponse, CallError> {
    if let Some(error) = StatusError::of_response(code, headers, method, &body) {
        return Err(error.into());
    }
    let given = content_type(headers);
    let content_type = match media_type(given) {
        none if none.is_empty() => "application/json".to_owned(),
        media_type => media_type,
    };
    if body.is_empty() {
        let why = format!("0-length response with status code: {code} and content type: {}", shown(given));
        return Err(CallError::Empty(why));
    }
    Ok(WebhookResponse { code, content_type, body })
}

fn shown(content_type: &str) -> &str {
    if content_type.is_empty() { "application/json" } else { content_type }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::CONTENT_TYPE;

    fn error(code: u16, content_type: &str, body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type.parse().expect("a header"));
        interpret(code, &headers, "POST", Bytes::copy_from_slice(body.as_bytes())).expect_err("an error").to_string()
    }

    #[test]
    fn errors_of_codes() {
        let rows = [
            (
                500,
                "application/json",
                "{}",
                r#"an error on the server ("unknown") has prevented the request from succeeding"#,
            ),
            (
                500,
                "text/plain",
                "oops\n",
                r#"an error on the server ("oops") has prevented the request from succeeding"#,
            ),
            (404, "text/plain", "x", "the server could not find the requested resource"),
            (403, "text/html; charset=utf-8", "no", "no"),
            (
                302,
                "text/plain",
                "",
                "the server responded with the status code 302 but did not return more information",
            ),
            (
                500,
                "application/json",
                r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"told"}"#,
                "told",
            ),
            (200, "application/json", "", "0-length response with status code: 200 and content type: application/json"),
        ];
        for (code, content_type, body, expected) in rows {
            assert_eq!(error(code, content_type, body), expected);
        }
    }
}
