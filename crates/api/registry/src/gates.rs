//! Fields that are switched off leave what is written, for all kinds alike.
//! Guarantees that what a schema has behind gates is worked out once. Must never look at a kind's name.

use crate::{Registry, Target};
use pintle_schema::Value;
use pintle_schema::gates::SwitchedOff;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What is switched off, by storage prefix. Gates keep their value as long as the server lives.
#[derive(Default)]
pub(crate) struct Gates(RwLock<HashMap<&'static str, Option<Arc<SwitchedOff>>>>);

impl Registry {
    /// Takes out of an object of the storage version what is switched off and was not in use.
    pub(crate) fn drop_switched_off(&self, target: &Target, object: &mut Value, old: Option<&Value>) {
        let prefix = target.storage.prefix;
        let known = self.gates.0.read().unwrap_or_else(PoisonError::into_inner).get(prefix).cloned();
        let off = known.unwrap_or_else(|| {
            let enabled = |gate: &str| self.environment.feature_enabled(gate);
            let off = SwitchedOff::of((target.storage.schema)(), &enabled).map(Arc::new);
            self.gates.0.write().unwrap_or_else(PoisonError::into_inner).insert(prefix, off.clone());
            off
        });
        if let Some(off) = off {
            off.drop_from(object, old);
        }
    }
}
