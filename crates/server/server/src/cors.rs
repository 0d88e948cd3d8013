//! Headers for browsers: the origins that may read a response (CORS), and that the server must be reached over TLS only
//! (HSTS). Guarantees that no such header is sent unless flags enable it. Must never allow a request: authorization is
//! unaffected.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, ORIGIN, STRICT_TRANSPORT_SECURITY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use pintle_endpoints::{Body, SentBody};
use regex_lite::Regex;

/// The permissions of pages of an allowed origin, as in kube-apiserver.
const ALLOWED: [(HeaderName, &str); 4] = [
    (ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS, PUT, DELETE, PATCH"),
    (
        ACCESS_CONTROL_ALLOW_HEADERS,
        "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
    ),
    (ACCESS_CONTROL_EXPOSE_HEADERS, "Date"),
    (ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
];

/// The rules of a server.
#[derive(Clone, Debug, Default)]
pub struct CorsConfig {
    origins: Vec<Regex>,
    directives: Vec<String>,
    transport: Option<HeaderValue>,
}

impl CorsConfig {
    /// Allows pages of origins that match a pattern to read responses.
    ///
    /// # Errors
    /// The pattern is invalid, or matches other hosts as well.
    pub fn allow_origin(&mut self, pattern: &str) -> Result<(), String> {
        if pattern.is_empty() {
            return Err("must not have an empty item".to_owned());
        }
        let origin = Regex::new(pattern).map_err(|error| format!("{pattern} is no regular expression: {error}"))?;
        let has = |marks: [&str; 2]| marks.iter().any(|mark| pattern.contains(mark));
        if !has(["^", "//"]) || !has(["$", ":"]) {
            return Err(format!("{pattern} does not pin to start/end of host in the origin header"));
        }
        self.origins.push(origin);
        Ok(())
    }

    /// Adds an HSTS directive of RFC 6797.
    ///
    /// # Errors
    /// There is no such directive.
    pub fn direct(&mut self, directive: &str) -> Result<(), String> {
        let is_age = directive.strip_prefix("max-age=").is_some_and(|age| !age.contains('='));
        if !is_age && !matches!(directive, "includeSubDomains" | "preload") {
            return Err("must be max-age=SECONDS, includeSubDomains or preload".to_owned());
        }
        self.directives.push(directive.to_owned());
        let text = HeaderValue::try_from(self.directives.join("; "));
        self.transport = Some(text.map_err(|_| "must be what a header can hold".to_owned())?);
        Ok(())
    }

    /// The additional headers of a response.
    pub fn response_headers(&self, asked: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(transport) = &self.transport {
            headers.insert(STRICT_TRANSPORT_SECURITY, transport.clone());
        }
        if self.origins.is_empty() {
            return headers;
        }
        let is_allowed = |origin: &&HeaderValue| {
            let text = String::from_utf8_lossy(origin.as_bytes());
            !text.is_empty() && self.origins.iter().any(|allowed| allowed.is_match(&text))
        };
        if let Some(origin) = asked.get(ORIGIN).filter(is_allowed) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.extend(ALLOWED.map(|(name, value)| (name, HeaderValue::from_static(value))));
        }
        headers
    }
}

/// The response to a CORS preflight request, which needs no authentication.
pub fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response<SentBody>> {
    if method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return None;
    }
    let mut response = Response::new(SentBody::unobserved(Body::empty()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_pin_both_ends_of_a_host() {
        let rows = [
            ("^https://a$", true),
            ("//a:", true),
            ("//a(:|$)", true),
            ("a", false),
            ("^a", false),
            ("a$", false),
            ("^($", false),
            ("", false),
        ];
        for (pattern, is_right) in rows {
            assert_eq!(CorsConfig::default().allow_origin(pattern).is_ok(), is_right, "{pattern}");
        }
    }

    #[test]
    fn directives_are_those_of_the_header() {
        let mut cors = CorsConfig::default();
        assert!(cors.response_headers(&HeaderMap::new()).is_empty());
        for (directive, is_right) in
            [("max-age=1", true), ("max-age=1=2", false), ("age=1", false), ("preload", true), ("", false)]
        {
            assert_eq!(cors.direct(directive).is_ok(), is_right, "{directive}");
        }
        assert_eq!(cors.response_headers(&HeaderMap::new())[STRICT_TRANSPORT_SECURITY], "max-age=1; preload");
    }
}
