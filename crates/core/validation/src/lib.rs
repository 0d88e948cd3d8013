//! Validation: field errors in the reference's words, and the rules for every object's metadata.
//!
//! Rules judge values and never change them. They see the object, and on update the stored one; nothing else.

pub mod error;
pub mod metadata;
pub mod path;

pub use error::{ErrorKind, ErrorList, FieldError};
pub use path::FieldPath;
