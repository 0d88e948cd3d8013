//! Patches: how a request changes an object that is there.
//!
//! Each kind of patch is a module with one `apply`. No I/O, no clock; every input gives a value or an error, and the
//! results are as the patch says, not canonical: the caller decodes them anew under the schema.

pub mod error;
pub mod go_text;
pub mod json_patch;
pub mod merge_patch;
pub mod strategic;
#[cfg(test)]
mod test_random;

pub use error::PatchError;
