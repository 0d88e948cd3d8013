//! What rules may ask for besides the object: what was sent, the namespace it goes to, and what its writer may do.
//!
//! Found out when a rule asks, once, and read from what is published: nothing here waits.

use crate::{Registry, Requester, Target};
use pintle_schema::Value;
use pintle_validation::{Refusal, Right, ValidationEnvironment};
use std::cell::OnceCell;

/// The surroundings of an object that is written.
pub(crate) struct Around<'a> {
    registry: &'a Registry,
    target: &'a Target,
    requester: &'a Requester,
    find_empties: &'a dyn Fn() -> Option<Value>,
    empties: OnceCell<Option<Value>>,
}

impl<'a> Around<'a> {
    /// What was empty in what was sent is told as the target's version has it.
    pub fn new(
        registry: &'a Registry,
        target: &'a Target,
        requester: &'a Requester,
        find_empties: &'a dyn Fn() -> Option<Value>,
    ) -> Self {
        Around { registry, target, requester, find_empties, empties: OnceCell::new() }
    }
}

impl ValidationEnvironment for Around<'_> {
    fn empties(&self) -> Option<&Value> {
        let find = || {
            let mut sent = (self.find_empties)()?;
            if let Some(convert) = &self.target.storage().convert {
                (convert.to_storage)(&mut sent);
            }
            Some(sent)
        };
        self.empties.get_or_init(find).as_ref()
    }

    fn namespace_label(&self, key: &str) -> Option<String> {
        let home = self.registry.namespace(&self.target.namespace)?;
        home.get().ok()?.image.label(key).map(str::to_owned)
    }

    fn refusal(&self, right: &Right<'_>) -> Option<Refusal> {
        self.registry.admission.refusal(self.target, self.requester, right)
    }
}
