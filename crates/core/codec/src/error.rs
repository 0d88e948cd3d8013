//! Errors of decoding: those that reject the input, and problems that only strict decoding reports.
//! Guarantees kube-apiserver's messages, because clients see them.

use pintle_schema::names::quoted;
use std::fmt;

/// Why an input was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub enum DecodeError {
    /// Not JSON, YAML or protobuf.
    Syntax(String),
    /// A JSON value of the wrong type: `json: cannot unmarshal ...`.
    WrongType(String),
    /// A scalar whose text does not match its format: a quantity, a time, base64.
    Format(String),
}

impl DecodeError {
    /// The error for a number beyond the range of floats.
    pub fn infinite(literal: &str) -> Self {
        DecodeError::WrongType(format!("json: cannot unmarshal number {literal} into Go value of type float64"))
    }

    pub fn text(&self) -> &str {
        match self {
            DecodeError::Syntax(text) | DecodeError::WrongType(text) | DecodeError::Format(text) => text,
        }
    }
}

/// A problem that decoding ignores and strict decoding rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrictProblem {
    /// The path of an unknown field.
    UnknownField(String),
    /// The path of a duplicate field.
    DuplicateField(String),
    /// A problem without a path, or with an unquoted path: duplicate keys in YAML, as one text with lines; an unknown
    /// field in CBOR; an unknown field in the result of a strategic merge patch.
    Message(String),
}

impl StrictProblem {
    /// The path, or the whole message if there is none.
    pub(crate) fn text(&self) -> &str {
        match self {
            StrictProblem::UnknownField(text) | StrictProblem::DuplicateField(text) | StrictProblem::Message(text) => {
                text
            }
        }
    }
}

impl fmt::Display for StrictProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrictProblem::UnknownField(path) => write!(f, "unknown field {}", quoted(path)),
            StrictProblem::DuplicateField(path) => write!(f, "duplicate field {}", quoted(path)),
            StrictProblem::Message(text) => f.write_str(text),
        }
    }
}
