//! `Status`: the error of a call. Guarantees the text of gRPC clients in Go, which kube-apiserver passes on. Must never decide
//! how to react.

use std::error::Error;
use std::fmt;

pub use tonic::Code;

/// The name of a code, as clients in Go spell it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
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

/// Why a call failed. Unlike `tonic`'s it is comparable, and has Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rpc error: code = {} desc = {message}", code_name(*.code))]
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

    /// There was no response in time.
    pub fn deadline_exceeded() -> Status {
        Status::new(Code::DeadlineExceeded, "context deadline exceeded")
    }

    /// The response is malformed.
    pub fn malformed() -> Status {
        Status::new(Code::Internal, "the answer is malformed")
    }

    /// Whether there was no response from the service.
    pub fn is_silence(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::DeadlineExceeded)
    }
}

impl From<tonic::Status> for Status {
    fn from(status: tonic::Status) -> Self {
        Status::new(status.code(), status.message())
    }
}

/// The error for `tonic` when a connection failed: the outcome of the call is unknown.
pub(crate) fn broken(error: &hyper::Error) -> tonic::Status {
    // hyper names the part that failed, and its source why.
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    tonic::Status::unavailable(format!("connection error: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_as_clients_in_go_write_it() {
        let status = Status::new(Code::Unavailable, "gone");
        assert_eq!(status.to_string(), "rpc error: code = Unavailable desc = gone");
        // Go has one l where tonic has two.
        assert_eq!(Status::new(Code::Cancelled, "").to_string(), "rpc error: code = Canceled desc = ");
        for code in (0..=16).map(Code::from_i32).filter(|code| !matches!(code, Code::Ok | Code::Cancelled)) {
            assert_eq!(code_name(code), format!("{code:?}"));
        }
    }
}
