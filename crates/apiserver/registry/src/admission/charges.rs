//! `Charges`: what a write costs besides itself, such as a share of a quota, recorded in the write's own transaction.
//! Guarantees that what is charged is stored if and only if the object is, and that a charge is computed again when what it
//! was computed from has changed.
//! Must never know what is charged.

use crate::Registry;
use crate::status::Result;
use pintle_resource::MaybeReady;
use pintle_storage::Write;
use std::sync::{Mutex, PoisonError};

/// A charge of one write. It is dropped when the outcome of the commit is known.
pub trait Charge: Send + Sync {
    /// The writes that record the charge. Each must have a precondition on the state that it was computed from: when it no
    /// longer holds, the object's write is tried again from the beginning. May wait for charges that came earlier.
    ///
    /// # Errors
    /// The write cannot be charged any more, and is refused.
    fn writes<'a>(&'a mut self, registry: &'a Registry) -> MaybeReady<'a, Result<Vec<Write>>>;
}

/// The charges of one write, which admission plugins add. A dry run drops them.
#[derive(Default)]
pub struct Charges(Mutex<Vec<Box<dyn Charge>>>);

impl Charges {
    /// Adds a charge.
    pub fn add(&self, charge: Box<dyn Charge>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(charge);
    }

    /// The charges in the order in which they were added; they have to be kept until the commit has ended.
    pub(crate) fn take(&self) -> Vec<Box<dyn Charge>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Registry {
    /// The writes of all charges.
    pub(crate) async fn charge_writes(&self, charges: &mut [Box<dyn Charge>]) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        for charge in charges {
            writes.extend(charge.writes(self).get().await?);
        }
        Ok(writes)
    }
}
