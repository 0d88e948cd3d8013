//! `Versions`: what the upkeep of managed fields must be told about a kind: its versions and how they convert.
//!
//! Whoever knows kinds implements it; nothing here knows any.

use super::Error;
use crate::field_set::FieldSet;
use crate::typed::Comparison;
use pintle_schema::{Struct, Value};
use std::borrow::Cow;

/// The versions of a kind.
pub trait Versions: Sync {
    /// The schema of a version; `None` when there is no such version any more.
    fn schema(&self, api_version: &str) -> Option<&Struct>;

    /// An object in another version. Both have a schema.
    ///
    /// # Errors
    /// [`Error::NotConverted`]: the object is not there in the other version.
    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error>;

    /// The fields of a version that nobody comes to own through this request.
    fn ignored(&self, api_version: &str) -> &Ignored;

    /// Whether a set, as it is stored, is in the form that the schema of its version gives it, as `look` finds. Who
    /// implements it may remember what was found.
    fn is_current(&self, _schema: &Struct, _fields: &Value, look: &dyn Fn() -> bool) -> bool {
        look()
    }
}

/// Fields whose owners are not tracked.
#[derive(Clone, Debug)]
pub enum Ignored {
    Nothing,
    /// These and all below them.
    All(FieldSet),
}

impl Ignored {
    /// The fields of a set that are tracked.
    pub fn strip(&self, fields: FieldSet) -> FieldSet {
        match self {
            Ignored::Nothing => fields,
            Ignored::All(ignored) if fields.is_empty() || ignored.is_empty() => fields,
            Ignored::All(ignored) => fields.recursive_difference(ignored),
        }
    }

    /// The changes of tracked fields.
    pub fn strip_changes(&self, changes: Comparison) -> Comparison {
        Comparison {
            added: self.strip(changes.added),
            modified: self.strip(changes.modified),
            removed: self.strip(changes.removed),
        }
    }
}
