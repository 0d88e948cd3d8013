//! `PatchError`: why a patch cannot be applied, as the answer to the client.
//!
//! It carries status, reason and text by construction, so that endpoints only wrap it; it never names the object.

use std::fmt;

/// The text the reference answers for patches that are well formed but do not fit the object.
const UNPROCESSABLE: &str = "the server rejected our request due to an error in our request";

/// The text the reference answers where it stumbles over its input.
const PANIC: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// The patch is malformed: 400 with the text.
    BadRequest(String),
    /// The patch does not fit the object: 422. The client sees a fixed text, the one here is for the log.
    Unprocessable(String),
    /// What the reference answers with 500, the text and no reason, though the client is at fault.
    Internal(String),
    /// The patch asks for too much: 413 with the text.
    TooLarge(String),
}

impl PatchError {
    pub(crate) fn panic() -> Self {
        PatchError::Internal(PANIC.to_owned())
    }

    pub fn status_code(&self) -> u16 {
        match self {
            PatchError::BadRequest(_) => 400,
            PatchError::Unprocessable(_) => 422,
            PatchError::Internal(_) => 500,
            PatchError::TooLarge(_) => 413,
        }
    }

    /// The `reason` of the Status; empty means that the reference gives none.
    pub fn reason(&self) -> &'static str {
        match self {
            PatchError::BadRequest(_) => "BadRequest",
            PatchError::Unprocessable(_) => "Invalid",
            PatchError::Internal(_) => "",
            PatchError::TooLarge(_) => "RequestEntityTooLarge",
        }
    }

    /// What only the log should say.
    pub fn detail(&self) -> &str {
        match self {
            PatchError::BadRequest(text)
            | PatchError::Unprocessable(text)
            | PatchError::Internal(text)
            | PatchError::TooLarge(text) => text,
        }
    }
}

/// The `message` of the Status.
impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchError::BadRequest(text) | PatchError::Internal(text) => f.write_str(text),
            PatchError::Unprocessable(_) => f.write_str(UNPROCESSABLE),
            PatchError::TooLarge(text) => write!(f, "Request entity too large: {text}"),
        }
    }
}

impl std::error::Error for PatchError {}
