//! Fields that are switched off leave what is written, for all kinds alike.
//! Guarantees that what a schema has behind gates is worked out once. Must never look at a kind's name.

use crate::{Registry, Target};
use pintle_schema::Value;
use pintle_schema::gates::DisabledFields;

impl Registry {
    /// Takes out of an object of the storage version what is switched off and was not in use.
    pub(crate) fn drop_switched_off(&self, target: &Target, object: &mut Value, old: Option<&Value>) {
        // Gates keep their value as long as the server lives, and so do what it worked out from the versions of a resource.
        let off = target.stored.compiled.get_or_insert_with(0, || {
            let enabled = |gate: &str| self.environment.feature_enabled(gate);
            DisabledFields::of(&target.storage().schema, &enabled)
        });
        if let Some(off) = &*off {
            off.drop_from(object, old);
        }
    }
}
