//! Drops disabled fields (feature gates) from written objects, for all kinds. Guarantees that the gated fields of a schema are
//! computed once. Must never depend on a kind's name.

use crate::{Registry, Target};
use pintle_schema::{DisabledFields, Value};

impl Registry {
    /// Drops from an object of the storage version the fields that are disabled and were not in use.
    pub(crate) fn drop_disabled_fields(&self, target: &Target, object: &mut Value, old: Option<&Value>) {
        // Gates do not change while the server runs, so the disabled fields of a resource are cached.
        let fields = || DisabledFields::of(&target.storage().schema, self.environment.gates());
        let off = target.stored.compiled.get_or_insert_with(0, fields);
        if let Some(off) = &*off {
            off.drop_from(object, old);
        }
    }
}
