//! `Status`: how a call failed.
//! Guarantees the words in which clients of gRPC tell it.
//! Must never decide what to do about it.

use http::{HeaderMap, StatusCode};
use std::error::Error;
use std::fmt;

/// gRPC's codes, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    Canceled = 1,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

impl Code {
    /// Its name, as clients in Go tell it.
    pub fn name(self) -> &'static str {
        match self {
            Code::Canceled => "Canceled",
            Code::Unknown => "Unknown",
            Code::InvalidArgument => "InvalidArgument",
            Code::DeadlineExceeded => "DeadlineExceeded",
            Code::NotFound => "NotFound",
            Code::AlreadyExists => "AlreadyExists",
            Code::PermissionDenied => "PermissionDenied",
            Code::ResourceExhausted => "ResourceExhausted",
            Code::FailedPrecondition => "FailedPrecondition",
            Code::Aborted => "Aborted",
            Code::OutOfRange => "OutOfRange",
            Code::Unimplemented => "Unimplemented",
            Code::Internal => "Internal",
            Code::Unavailable => "Unavailable",
            Code::DataLoss => "DataLoss",
            Code::Unauthenticated => "Unauthenticated",
        }
    }
}

const CODES: [Code; 16] = [
    Code::Canceled,
    Code::Unknown,
    Code::InvalidArgument,
    Code::DeadlineExceeded,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
    Code::Unauthenticated,
];

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }

    /// The service cannot be reached.
    pub fn unavailable(error: impl fmt::Display) -> Status {
        Status::new(Code::Unavailable, format!("connection error: {error}"))
    }

    /// There was no answer in time.
    pub fn deadline_exceeded() -> Status {
        Status::new(Code::DeadlineExceeded, "context deadline exceeded")
    }

    /// The answer is none.
    pub fn malformed() -> Status {
        Status::new(Code::Internal, "the answer is malformed")
    }

    /// Whether the service could not be asked, rather than had an answer.
    pub fn is_silence(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::DeadlineExceeded)
    }

    /// What headers or trailers say of the outcome, if they do.
    pub(crate) fn told(headers: &HeaderMap) -> Option<Result<(), Status>> {
        let code = headers.get("grpc-status")?.to_str().ok().and_then(|code| code.parse::<usize>().ok());
        let code = match code {
            Some(0) => return Some(Ok(())),
            code => code.and_then(|code| CODES.get(code - 1).copied()).unwrap_or(Code::Unknown),
        };
        let message = headers.get("grpc-message").map(|text| percent_decoded(text.as_bytes())).unwrap_or_default();
        Some(Err(Status { code, message }))
    }

    /// What it means that something answered which does not speak gRPC.
    pub(crate) fn of_http(status: StatusCode) -> Status {
        let code = match status.as_u16() {
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502..=504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        Status::new(code, format!("unexpected HTTP status code {status}"))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", self.code.name(), self.message)
    }
}

impl Error for Status {}

fn percent_decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.split_at_checked(2).filter(|_| *first == b'%');
        let byte = digits.and_then(|(digits, _)| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if let (Some(_), Some((_, behind))) = (byte, digits) { behind } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_is_read_from_headers() {
        let told = |code: &'static str, message: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-status", http::HeaderValue::from_static(code));
            headers.insert("grpc-message", http::HeaderValue::from_static(message));
            Status::told(&headers)
        };
        assert_eq!(Status::told(&HeaderMap::new()), None);
        assert_eq!(told("0", ""), Some(Ok(())));
        assert_eq!(told("11", "100%25 %2"), Some(Err(Status::new(Code::OutOfRange, "100% %2"))));
        assert_eq!(told("16", ""), Some(Err(Status::new(Code::Unauthenticated, ""))));
        for unknown in ["99", "", "x", "-1"] {
            assert_eq!(told(unknown, ""), Some(Err(Status::new(Code::Unknown, ""))), "{unknown}");
        }
        let status = Status::new(Code::Unavailable, "gone");
        assert_eq!(status.to_string(), "rpc error: code = Unavailable desc = gone");
    }
}
