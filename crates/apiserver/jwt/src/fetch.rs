//! How documents of issuers are fetched. Guarantees nothing by itself: the implementation bounds bytes and time.
//! Must never show the access token in an error.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;

/// A fetched document.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The status code of the response.
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Gets documents by HTTPS, following redirects.
pub trait Fetch: Send + Sync + 'static {
    /// Fetches a document, with an optional bearer token.
    ///
    /// # Errors
    /// There is no response; the text is the reason.
    fn get<'a>(&'a self, url: &'a str, access_token: Option<&'a str>) -> BoxFuture<'a, Result<Fetched, String>>;
}

impl Fetched {
    /// The status line and body of an error response: `500 Internal Server Error: text`.
    pub(crate) fn failure(&self) -> String {
        let status =
            http::StatusCode::from_u16(self.code).ok().and_then(|status| status.canonical_reason()).unwrap_or("");
        format!("{} {status}: {}", self.code, String::from_utf8_lossy(&self.body))
    }

    /// The error for a body that is no JSON document, with its content type.
    pub(crate) fn not_json(&self, why: &str) -> String {
        let given = self.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let media_type = given.split(';').next().unwrap_or("").trim();
        match media_type.eq_ignore_ascii_case("application/json") {
            true => format!("got Content-Type = application/json, but could not unmarshal as JSON: {why}"),
            false => {
                let given = pintle_schema::names::quoted(given);
                format!("expected Content-Type = application/json, got {given}: {why}")
            }
        }
    }
}
