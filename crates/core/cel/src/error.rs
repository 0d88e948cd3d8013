//! `EvalError`: why an evaluation gave no value.
//!
//! Its text is what clients see, byte for byte kube-apiserver's. It must not hold more than a bounded
//! text.

use pintle_schema::Str;

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An operation failed; its text.
    #[error("{0}")]
    Failed(Str),
    /// No overload takes the arguments.
    #[error("{0}")]
    NoSuchOverload(Str),
    /// The cost limit was reached.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
}

impl EvalError {
    /// An operation that failed, with its text.
    pub fn new(text: impl Into<Str>) -> EvalError {
        EvalError::Failed(text.into())
    }

    /// No overload takes the arguments, without saying which.
    pub fn no_overload() -> EvalError {
        EvalError::NoSuchOverload(Str::new_static("no such overload"))
    }
}
