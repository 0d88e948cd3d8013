//! Managed fields: who set which field of an object, and how a write changes that.
//! Guarantees that an update takes the fields that it changes, and an apply reports conflicts first. Must never do
//! I/O, read a clock or know a kind; objects are values in the version of the request.

mod apply;
mod cap;
mod conflict;
mod entry;
pub mod last_applied;
pub mod scale;
#[cfg(test)]
mod tests;
mod update;
mod versions;

pub use apply::Applied;
pub use conflict::{Conflict, Conflicts};
pub use entry::{Entry, InvalidEntry, Managed, Manager, Operation};
pub use versions::{Ignored, Versions};

use crate::PathElement;
use crate::field_set::FieldSet;
use crate::typed::TypedErrors;
use pintle_schema::{Str, Value};
use std::sync::OnceLock;

/// A write: by whom, in which version, when.
pub struct Write<'a> {
    pub versions: &'a dyn Versions,
    /// The version of the request.
    pub api_version: &'a str,
    /// "" for the object itself.
    pub subresource: &'a str,
    /// The manager's name; "" if none was given.
    pub manager: &'a str,
    /// RFC 3339.
    pub now: &'a str,
}

/// Why field ownership could not be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Other managers own fields that would be changed.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The applied configuration does not match the schema.
    #[error("{0}")]
    Configuration(TypedErrors),
    /// The live object, whose fields have no owners yet, does not match the schema.
    #[error("{0}")]
    Untracked(TypedErrors),
    /// An object does not match the schema.
    #[error("{0}")]
    Object(#[from] TypedErrors),
    /// An object does not match the schema of another version; the text says which object it is.
    #[error("{0}: {1}")]
    OtherVersion(&'static str, TypedErrors),
    #[error("{}", InvalidEntry)]
    InvalidEntry,
    /// The version of the request has no schema.
    #[error("no such version")]
    NoSuchVersion,
    /// An object cannot be had in a version that managers wrote, and that the kind does not have any more.
    #[error("request to convert CR to an invalid group/version: {0}")]
    UndefinedVersion(Str),
    /// An object is not there in a version that it is needed in.
    #[error("the object is not there in another version")]
    NotConverted,
    /// An object cannot be had in a version that managers wrote: an update leaves these as they are.
    #[error("the object cannot be converted to another version")]
    Unconvertible,
}

/// Whether `metadata.managedFields` of a request resets tracking.
pub fn is_reset(managed_fields: Option<&Value>) -> bool {
    match managed_fields.and_then(Value::as_list) {
        Some([]) => true,
        Some([only]) => only.as_map().is_some_and(|entry| entry.values().all(Value::is_zero)),
        _ => false,
    }
}

/// Nobody owns fields that identify an object or that only the server sets.
fn unowned() -> &'static FieldSet {
    static UNOWNED: OnceLock<FieldSet> = OnceLock::new();
    UNOWNED.get_or_init(|| {
        let mut set = FieldSet::new();
        for field in ["apiVersion", "kind", "metadata"] {
            set.insert(&[PathElement::field(field)]);
        }
        let metadata = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ];
        for field in metadata {
            set.insert(&[PathElement::field("metadata"), PathElement::field(field)]);
        }
        set
    })
}
