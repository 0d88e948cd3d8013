//! `TypedErrors`: why a value does not match its schema, with kube-apiserver's messages.
//! Must never name the object: paths are relative to the root of the walk.

use std::fmt;

/// One field that does not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TypedError {
    /// The path as in conflicts, empty for the root.
    pub path: String,
    pub message: String,
}

/// All errors of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct TypedErrors(pub Vec<TypedError>);

impl TypedErrors {
    pub(super) fn push(&mut self, path: impl fmt::Display, message: impl Into<String>) {
        self.0.push(TypedError { path: path.to_string(), message: message.into() });
    }

    /// An error unless there are none.
    pub(super) fn checked(self) -> Result<(), TypedErrors> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl fmt::Display for TypedErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => only.fmt(f),
            several => {
                f.write_str("errors:")?;
                several.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}
