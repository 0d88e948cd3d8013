//! One call: a POST, or a GET of a document, with its redirects, its waits where the webhook requests them, and the body of the
//! response. Guarantees that it ends at its timeout, whatever the webhook does, and that no more than the limit is buffered.
//! Must never send credentials to another host after a redirect.

use std::io::Read;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::client::{Client, Inner, Target};
use crate::connect::resolved;
use crate::error::{CallError, SetupError, TransportError};
use crate::response::{WebhookResponse, interpret};
use crate::status_error::asks_to_wait;

/// As many redirects as Go's client follows.
const MAX_REDIRECTS: usize = 10;
/// How often client-go retries when a response requests a wait.
const MAX_WAITS: usize = 10;

/// The body and the bounds of a call.
#[derive(Clone, Debug)]
pub struct Call {
    /// A JSON document.
    pub body: Bytes,
    /// How long the whole call may take.
    pub timeout: Duration,
    /// The same as the webhook sees it, in the query parameter `timeout`.
    pub shown_timeout: Duration,
    /// The maximum size of the response.
    pub max_answer_bytes: usize,
}

/// A random UID for a call, which its response repeats.
pub fn call_uid() -> String {
    let mut bytes = [0; 16];
    // Without randomness the UID is the same for all calls, which differ by their connections anyway.
    let _ = SystemRandom::new().fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// A fetched document, with any status code.
#[derive(Clone, Debug)]
pub struct Document {
    /// The status code.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// All of the body.
    pub body: Bytes,
}

/// A request before its redirects are followed.
struct Sent<'a> {
    method: Method,
    url: &'a str,
    body: Bytes,
    max_answer_bytes: usize,
    /// The header `Authorization` for the host of the URL, where it is not the client's own.
    authorization: Option<HeaderValue>,
}

/// Why an exchange gave no answer.
enum ExchangeError {
    /// The caller says of which request.
    Transport(TransportError),
    Body(CallError),
}

impl ExchangeError {
    fn of_call(self, failed: impl FnOnce(TransportError) -> CallError) -> CallError {
        match self {
            ExchangeError::Transport(reason) => failed(reason),
            ExchangeError::Body(error) => error,
        }
    }
}

/// The head and the body of an answer.
type Received = (http::response::Parts, Bytes);

impl Client {
    /// Posts a JSON document and returns a successful response.
    ///
    /// # Errors
    /// There is no response in time, or it is an error.
    pub async fn post(&self, call: Call) -> Result<WebhookResponse, CallError> {
        let deadline = Instant::now() + call.timeout;
        let nanos = i64::try_from(call.shown_timeout.as_nanos()).unwrap_or(i64::MAX);
        let inner = self.inner();
        let url = format!("{}?timeout={}", inner.uri, pintle_schema::duration::Duration { nanos });
        let mut waits = 0;
        loop {
            let sent = Sent {
                method: Method::POST,
                url: &url,
                body: call.body.clone(),
                max_answer_bytes: call.max_answer_bytes,
                authorization: None,
            };
            let (parts, body) = inner.follow(sent, deadline).await?;
            let code = parts.status.as_u16();
            if waits < MAX_WAITS
                && let Some(seconds) = asks_to_wait(code, &parts.headers)
            {
                let until = Instant::now() + Duration::from_secs(u64::from(seconds));
                sleep_until(until.min(deadline)).await;
                if until < deadline {
                    waits += 1;
                    continue;
                }
                return Err(CallError::Unanswered {
                    method: Method::POST,
                    url,
                    reason: TransportError::DeadlineExceeded,
                });
            }
            return interpret(code, &parts.headers, "POST", body);
        }
    }

    /// Gets a document, from any host with a certificate of the client's CAs.
    ///
    /// # Errors
    /// There is no response in time.
    pub async fn get(
        &self,
        url: &str,
        access_token: Option<&str>,
        timeout: Duration,
        max_answer_bytes: usize,
    ) -> Result<Document, CallError> {
        let authorization = access_token.map(|token| HeaderValue::from_str(&format!("Bearer {token}"))).transpose();
        let authorization = authorization.map_err(|_| SetupError::Credentials("token"))?;
        let sent = Sent { method: Method::GET, url, body: Bytes::new(), max_answer_bytes, authorization };
        let (parts, body) = self.inner().follow(sent, Instant::now() + timeout).await?;
        Ok(Document { code: parts.status.as_u16(), headers: parts.headers, body })
    }
}

impl Inner {
    /// Sends the request and follows redirects.
    async fn follow(&self, sent: Sent<'_>, deadline: Instant) -> Result<Received, CallError> {
        let first = sent.url.parse::<Uri>().map_err(|error| CallError::Unusable(error.to_string()))?;
        let (mut uri, mut method) = (first.clone(), sent.method.clone());
        for _ in 0..=MAX_REDIRECTS {
            let failed = |reason| CallError::Unanswered { method: method.clone(), url: uri.to_string(), reason };
            let body = if method == Method::POST { sent.body.clone() } else { Bytes::new() };
            let mut request = self.request(&method, &uri, body);
            if sent.method == Method::GET {
                // A request for a document accepts every media type, as Go's client does by default.
                request.headers_mut().remove(ACCEPT);
            }
            if let Some(value) = sent.authorization.clone().filter(|_| uri.authority() == first.authority()) {
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            let (began, bytes) = (Instant::now(), request.body().len());
            let received = self.exchange(request, &sent, deadline).await;
            let answer = received.as_ref().ok().map(|(parts, body)| (parts.status, body.len()));
            self.stats.sent(&uri, &method, began.elapsed(), bytes, answer);
            let (parts, body) = received.map_err(|error| error.of_call(failed))?;
            let Some(next) = redirect(&parts.headers, &uri).filter(|_| parts.status.is_redirection()) else {
                return Ok((parts, body));
            };
            match parts.status.as_u16() {
                301..=303 => method = Method::GET,
                307 | 308 => {}
                _ => return Ok((parts, body)),
            }
            uri = next;
        }
        Err(CallError::Unanswered { method, url: uri.to_string(), reason: TransportError::TooManyRedirects })
    }

    /// Sends one request. An error is either of the exchange or of the answer's body.
    async fn exchange(
        &self,
        request: Request<Bytes>,
        sent: &Sent<'_>,
        deadline: Instant,
    ) -> Result<Received, ExchangeError> {
        match &self.target {
            Target::Network(transport, service) => {
                let at = resolved(request.uri(), service.as_ref());
                let mut request = request;
                // The header Host stays that of the service.
                *request.uri_mut() = at.map_err(|error| ExchangeError::Transport(TransportError::Connect(error)))?;
                let response = timeout_at(deadline, transport.http.request(request.map(Full::new))).await;
                let response = response.map_err(|_| ExchangeError::Transport(TransportError::DeadlineExceeded))?;
                let response = response.map_err(|error| ExchangeError::Transport(error.into()))?;
                receive(response, sent.max_answer_bytes, deadline)
                    .await
                    .map_err(|error| ExchangeError::Body(CallError::Body(error)))
            }
            Target::InProcess(webhook) => {
                let response = timeout_at(deadline, webhook.call(request)).await;
                let response = response.map_err(|_| ExchangeError::Transport(TransportError::DeadlineExceeded))?;
                Ok(response.into_parts())
            }
        }
    }

    fn request(&self, method: &Method, uri: &Uri, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        if let Some(host) = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok()) {
            headers.insert(HOST, host);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let own = &self.uri;
        if (uri.scheme(), uri.authority()) == (own.scheme(), own.authority())
            && let Some(value) = self.authorization.header()
        {
            headers.insert(AUTHORIZATION, value);
        }
        pintle_spans::propagate(headers);
        request
    }
}

/// Reads the body of a response.
async fn receive(
    response: Response<hyper::body::Incoming>,
    limit: usize,
    deadline: Instant,
) -> Result<Received, TransportError> {
    let (parts, body) = response.into_parts();
    let collected = timeout_at(deadline, Limited::new(body, limit).collect()).await;
    let collected = collected.map_err(|_| TransportError::DeadlineExceeded)?;
    let body = collected.map_err(|error| of_body(error.as_ref(), limit))?.to_bytes();
    let is_gzip = parts.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
    let body = if is_gzip { unpack(&body, limit)? } else { body };
    Ok((parts, body))
}

fn of_body(error: &(dyn std::error::Error + Send + Sync + 'static), limit: usize) -> TransportError {
    if error.is::<http_body_util::LengthLimitError>() {
        return TransportError::TooLarge(limit);
    }
    match TransportError::of(error, "") {
        TransportError::Eof => TransportError::UnexpectedEof,
        other => other,
    }
}

fn unpack(packed: &[u8], limit: usize) -> Result<Bytes, TransportError> {
    let mut unpacked = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = MultiGzDecoder::new(packed).take(most).read_to_end(&mut unpacked);
    read.map_err(|error| TransportError::Protocol(format!("gzip: {error}")))?;
    if unpacked.len() > limit { Err(TransportError::TooLarge(limit)) } else { Ok(unpacked.into()) }
}

/// The target of a redirect.
fn redirect(headers: &HeaderMap, from: &Uri) -> Option<Uri> {
    let location = headers.get(LOCATION)?.to_str().ok()?;
    let location = location.split('#').next().unwrap_or(location);
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    let absolute = if location.starts_with("https://") || location.starts_with("http://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let (folder, _) = from.path().rsplit_once('/').unwrap_or_default();
        format!("{scheme}://{authority}{folder}/{location}")
    };
    absolute.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects() {
        let from = Uri::from_static("https://a:1/b/c?timeout=1s");
        let rows = [
            ("https://b/x", "https://b/x"),
            ("//b/x", "https://b/x"),
            ("/x?y=z", "https://a:1/x?y=z"),
            ("x#y", "https://a:1/b/x"),
        ];
        for (location, expected) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, location.parse().expect("a header"));
            assert_eq!(redirect(&headers, &from).expect("a URL").to_string(), expected);
        }
        assert_eq!(redirect(&HeaderMap::new(), &from), None);
    }

    #[test]
    fn unpacking_is_bounded() {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&vec![0; 1 << 20]).expect("packed");
        let packed = packer.finish().expect("packed");
        assert!(matches!(unpack(&packed, 1000), Err(TransportError::TooLarge(1000))));
        assert_eq!(unpack(&packed, 1 << 20).expect("unpacked").len(), 1 << 20);
    }
}
