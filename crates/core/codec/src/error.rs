//! What decoding can say: errors that refuse the input and problems that only strict decoding reports.
//!
//! Their texts are the reference's, because clients see them.

use pintle_schema::names::quoted;
use std::fmt;

/// Why an input was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum DecodeError {
    /// Not JSON, YAML or protobuf at all.
    Syntax(String),
    /// A JSON value of another type than the schema's: `json: cannot unmarshal ...`.
    WrongType(String),
    /// A scalar whose text is not of its format: a quantity, a time, base64.
    Format(String),
}

impl DecodeError {
    pub fn text(&self) -> &str {
        match self {
            DecodeError::Syntax(text) | DecodeError::WrongType(text) | DecodeError::Format(text) => text,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for DecodeError {}

/// Something that decoding passed over and strict decoding refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrictProblem {
    /// The path of a field that the schema does not know.
    UnknownField(String),
    /// The path of a field that stands more than once.
    DuplicateField(String),
    /// What has no path, or a path that is not quoted: keys that stand more than once in YAML, told by line as one text; an
    /// unknown field in CBOR; an unknown field of a strategic patch's result.
    Told(String),
}

impl StrictProblem {
    /// The path, or the whole message where there is none.
    pub(crate) fn text(&self) -> &str {
        match self {
            StrictProblem::UnknownField(text) | StrictProblem::DuplicateField(text) | StrictProblem::Told(text) => text,
        }
    }
}

impl fmt::Display for StrictProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrictProblem::UnknownField(path) => write!(f, "unknown field {}", quoted(path)),
            StrictProblem::DuplicateField(path) => write!(f, "duplicate field {}", quoted(path)),
            StrictProblem::Told(text) => f.write_str(text),
        }
    }
}
