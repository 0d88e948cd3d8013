//! `PatchError`: why a patch cannot be applied, as the response to the client.
//! Guarantees status, reason and message, so that endpoints only wrap it. Must never name the object.

/// kube-apiserver's message for well-formed patches that do not match the object.
const UNPROCESSABLE: &str = "the server rejected our request due to an error in our request";

/// kube-apiserver's message where it panics on its input.
const PANIC: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is malformed: 400 with the text.
    #[error("{0}")]
    BadRequest(String),
    /// The patch does not match the object: 422. The client gets a fixed message, this text is for the log.
    #[error("{UNPROCESSABLE}")]
    Unprocessable(String),
    /// A `test` of a JSON patch does not hold: 422.
    #[error("{UNPROCESSABLE}")]
    TestFailed(String),
    /// kube-apiserver answers 500 with the text and no reason, although the client is at fault.
    #[error("{0}")]
    Internal(String),
    /// The patch exceeds a limit: 413 with the text.
    #[error("Request entity too large: {0}")]
    TooLarge(String),
}

impl PatchError {
    pub(crate) fn panic() -> Self {
        PatchError::Internal(PANIC.to_owned())
    }

    pub fn status_code(&self) -> u16 {
        match self {
            PatchError::BadRequest(_) => 400,
            PatchError::Unprocessable(_) | PatchError::TestFailed(_) => 422,
            PatchError::Internal(_) => 500,
            PatchError::TooLarge(_) => 413,
        }
    }

    /// The `reason` of the Status; empty if kube-apiserver gives none.
    pub fn reason(&self) -> &'static str {
        match self {
            PatchError::BadRequest(_) => "BadRequest",
            PatchError::Unprocessable(_) | PatchError::TestFailed(_) => "Invalid",
            PatchError::Internal(_) => "",
            PatchError::TooLarge(_) => "RequestEntityTooLarge",
        }
    }

    /// The part that is only for the log.
    pub fn detail(&self) -> &str {
        match self {
            PatchError::BadRequest(text)
            | PatchError::Unprocessable(text)
            | PatchError::TestFailed(text)
            | PatchError::Internal(text)
            | PatchError::TooLarge(text) => text,
        }
    }
}
