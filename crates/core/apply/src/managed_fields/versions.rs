//! `Versions`: the versions of a kind and their conversions, for managed fields.
//! Must never know a kind: the code that knows kinds implements it.

use super::Error;
use crate::field_set::FieldSet;
use crate::typed::Comparison;
use pintle_schema::{Struct, Value};
use std::borrow::Cow;

/// The versions of a kind.
pub trait Versions: Sync {
    /// The schema of a version; `None` if the version no longer exists.
    fn schema(&self, api_version: &str) -> Option<&Struct>;

    /// Whether managers of a version that no longer exists are forgotten, which is so unless the kind says otherwise.
    ///
    /// # Errors
    /// Nobody's fields can be told while there are such managers.
    fn forget(&self, _api_version: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Converts an object to another version. Both have a schema.
    ///
    /// # Errors
    /// [`Error::NotConverted`]: the object does not exist in the other version yet; [`Error::Unconvertible`]: it never will.
    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error>;

    /// Whether objects may not match the schema, as those of kinds that were defined at run time, so that each is checked.
    fn may_mismatch(&self) -> bool {
        false
    }

    /// The fields of a version that no manager can own through this request.
    fn ignored(&self, api_version: &str) -> &Ignored;

    /// Whether a stored set has the form of its version's schema, as `look` finds. An implementation may cache the
    /// result.
    fn is_current(&self, _schema: &Struct, _fields: &Value, look: &dyn Fn() -> bool) -> bool {
        look()
    }
}

/// Fields whose owners are not tracked.
#[derive(Clone, Debug)]
pub enum Ignored {
    Nothing,
    /// These and all fields below them.
    All(FieldSet),
}

impl Ignored {
    /// The tracked fields of a set.
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
