//! Errors of the setup and the calls of a webhook. Guarantees the messages of Go's client, prefixed with the method and the
//! URL. Must never contain a credential.

use std::io;

use crate::connect::ConnectError;
use crate::status_error::StatusError;

/// Part of a webhook's settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The URL cannot be parsed.
    #[error("Unparsable URL: {0}")]
    Url(String),
    /// The bundle of authorities holds no certificate.
    #[error("unable to load root certificates: unable to parse bytes as PEM block")]
    NoCertificate,
    /// An authority cannot be used.
    #[error("unable to load root certificates: {0}")]
    Authority(String),
    /// The client certificate or its key cannot be used.
    #[error("tls: {0}")]
    Identity(String),
    /// The credentials are no valid header value.
    #[error("invalid {0}")]
    Credentials(&'static str),
    /// No closure is registered under this name.
    #[error("no webhook {0:?} is registered in this process")]
    NotRegistered(String),
}

/// Why a call has no usable response.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The settings cannot be used.
    #[error("could not get REST client: {0}")]
    Setup(#[from] SetupError),
    /// There was no response.
    #[error("{} \"{url}\": {reason}", go_method(method))]
    Unanswered {
        /// The method of the request that failed.
        method: http::Method,
        /// Its URL.
        url: String,
        /// The cause.
        reason: TransportError,
    },
    /// The response was cut off.
    #[error("unexpected error when reading response body. Please retry. Original error: {0}")]
    Body(TransportError),
    /// The response is an error, or its body reports one.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The response is successful, but empty.
    #[error("{0}")]
    Empty(String),
    /// Its content type is unusable.
    #[error("{0}")]
    Unusable(String),
}

impl CallError {
    /// Whether the same call may succeed soon: `webhook.DefaultShouldRetry`.
    pub fn is_transient(&self) -> bool {
        match self {
            CallError::Unanswered { reason, .. } | CallError::Body(reason) => {
                matches!(reason, TransportError::Reset(_))
            }
            CallError::Status(status) => {
                matches!(status.reason.as_str(), "InternalError" | "Timeout" | "ServerTimeout" | "TooManyRequests")
                    || status.code == 429
                    || status.retry_after_seconds.is_some()
            }
            CallError::Setup(_) | CallError::Empty(_) | CallError::Unusable(_) => false,
        }
    }

    /// Whether there was no response in time.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            CallError::Unanswered { reason: TransportError::DeadlineExceeded, .. }
                | CallError::Body(TransportError::DeadlineExceeded)
        )
    }

    /// The status code of an error response.
    pub fn code(&self) -> Option<u16> {
        match self {
            CallError::Status(status) => Some(status.code),
            _ => None,
        }
    }
}

/// Go writes the method of a failed request in title case.
fn go_method(method: &http::Method) -> String {
    let text = method.as_str();
    let (first, rest) = text.split_at_checked(1).unwrap_or((text, ""));
    format!("{first}{}", rest.to_ascii_lowercase())
}

/// Why an exchange with the peer failed.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// No connection.
    #[error("{0}")]
    Connect(ConnectError),
    /// The peer closed the connection before it responded.
    #[error("EOF")]
    Eof,
    /// The peer closed the connection in the middle of its response.
    #[error("unexpected EOF")]
    UnexpectedEof,
    /// The peer reset the connection; the message contains both addresses if they are known.
    #[error("{0}")]
    Reset(String),
    /// The deadline of the call passed.
    #[error("context deadline exceeded")]
    DeadlineExceeded,
    /// The peer redirects too often.
    #[error("stopped after 10 redirects")]
    TooManyRedirects,
    /// The response is larger than the caller allows.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// The peer does not speak HTTP, or breaks the protocol.
    #[error("{0}")]
    Protocol(String),
}

impl From<hyper_util::client::legacy::Error> for TransportError {
    fn from(error: hyper_util::client::legacy::Error) -> Self {
        let ends = error.connect_info().map(|info| {
            let mut extensions = http::Extensions::new();
            info.get_extras(&mut extensions);
            extensions
        });
        let ends = ends.as_ref().and_then(|extensions| extensions.get::<crate::connect::AddressPair>());
        let ends = ends.map(ToString::to_string).unwrap_or_default();
        let is_connect = error.is_connect();
        let Some(source) = into_source(error) else { return TransportError::Eof };
        if is_connect {
            return match source.downcast::<ConnectError>() {
                Ok(error) => TransportError::Connect(*error),
                Err(other) => TransportError::of(other.as_ref(), &ends),
            };
        }
        TransportError::of(source.as_ref(), &ends)
    }
}

/// The cause of a client's error, which the client exposes only by reference.
fn into_source(error: hyper_util::client::legacy::Error) -> Option<Box<dyn std::error::Error + Send + Sync>> {
    let source = std::error::Error::source(&error)?;
    if let Some(connect) = source.downcast_ref::<ConnectError>() {
        return Some(Box::new(connect.clone()));
    }
    Some(Box::new(Shown::of(source)))
}

/// The facts of an error that cannot be moved.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Shown {
    text: String,
    kind: Option<io::ErrorKind>,
    closed: bool,
}

impl Shown {
    fn of(error: &(dyn std::error::Error + 'static)) -> Shown {
        let mut shown = Shown { text: error.to_string(), kind: None, closed: false };
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<hyper::Error>() {
                shown.closed |= error.is_incomplete_message() || error.is_closed() || error.is_canceled();
            }
            if let Some(error) = error.downcast_ref::<io::Error>() {
                shown.kind = Some(error.kind());
            }
            next = error.source();
        }
        shown
    }
}

impl TransportError {
    /// The error of a failed exchange; `ends` are the connection's addresses, if known.
    pub(crate) fn of(error: &(dyn std::error::Error + 'static), ends: &str) -> TransportError {
        let found = Shown::of(error);
        let shown = error.downcast_ref::<Shown>().unwrap_or(&found);
        match shown.kind {
            Some(io::ErrorKind::ConnectionReset) => {
                TransportError::Reset(format!("{ends}read: connection reset by peer"))
            }
            Some(io::ErrorKind::BrokenPipe) => TransportError::Reset(format!("{ends}write: broken pipe")),
            Some(io::ErrorKind::UnexpectedEof) => TransportError::Eof,
            _ if shown.closed => TransportError::Eof,
            _ => TransportError::Protocol(format!("net/http: HTTP/1.x transport connection broken: {}", shown.text)),
        }
    }
}
