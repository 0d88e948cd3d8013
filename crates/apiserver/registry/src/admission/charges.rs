//! `Charges`: what a write costs besides itself, such as a share of a quota, recorded in the write's own transaction.
//! Guarantees that what is charged is stored if and only if the object is, unless the object is in a store of its own, and that a
//! charge is computed again when what it was computed from has changed.
//! Also annotations that validating plugins give to what they admit. Must never know what is charged.

use crate::Registry;
use crate::status::Result;
use pintle_resource::MaybeReady;
use pintle_schema::Value;
use pintle_storage::{CommitError, Revision, Transaction, Write};
use std::sync::{Mutex, PoisonError};

/// A charge of one write. It is dropped when the outcome of the commit is known.
pub trait Charge: Send + Sync {
    /// The writes that record the charge. Each must have a precondition on the state that it was computed from: when it no
    /// longer holds, the object's write is retried from the beginning. May wait for earlier charges.
    ///
    /// # Errors
    /// The charge is no longer possible, and the write is rejected.
    fn writes<'a>(&'a mut self, registry: &'a Registry) -> MaybeReady<'a, Result<Vec<Write>>>;

    /// Commits the writes of an object together with its charge, and perhaps with other charged writes that wait.
    /// Preconditions of the charge count as conflicts behind the object's writes.
    ///
    /// # Errors
    /// The write cannot be charged any more, and is refused.
    fn commit<'a>(&'a mut self, registry: &'a Registry, transaction: Transaction) -> MaybeReady<'a, Result<Committed>> {
        MaybeReady::wait(async move {
            let mut transaction = transaction;
            transaction.writes.extend(self.writes(registry).get().await?);
            Ok(registry.store.commit(transaction).await)
        })
    }
}

/// What a store answers: the revision of the object.
pub type Committed = std::result::Result<Revision, CommitError>;

/// The charges of one write, which admission plugins add. A dry run drops them.
#[derive(Default)]
pub struct Charges {
    charges: Mutex<Vec<Box<dyn Charge>>>,
    annotations: Mutex<Vec<(&'static str, String)>>,
}

impl Charges {
    /// Adds a charge.
    pub fn add(&self, charge: Box<dyn Charge>) {
        self.charges.lock().unwrap_or_else(PoisonError::into_inner).push(charge);
    }

    /// Has the object stored with an annotation. For plugins that see the object when it does not change any more.
    pub fn annotate(&self, key: &'static str, value: impl Into<String>) {
        self.annotations.lock().unwrap_or_else(PoisonError::into_inner).push((key, value.into()));
    }

    /// Gives the object its annotations. Returns whether there are any.
    pub(crate) fn write_annotations(&self, object: &mut Value) -> bool {
        let annotations = std::mem::take(&mut *self.annotations.lock().unwrap_or_else(PoisonError::into_inner));
        for (key, value) in &annotations {
            object.set_at(&["metadata", "annotations", key], value.as_str());
        }
        !annotations.is_empty()
    }

    /// The charges in the order in which they were added; they have to be kept until the commit has ended.
    pub(crate) fn take(&self) -> Vec<Box<dyn Charge>> {
        std::mem::take(&mut *self.charges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Registry {
    /// Commits the writes of an object with its charges.
    pub(crate) async fn commit_charged(
        &self,
        mut transaction: Transaction,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<Committed> {
        if transaction.writes.first().is_some_and(|write| self.is_apart(&write.key)) {
            return self.commit_after_charges(transaction, charges).await;
        }
        if let [charge] = charges {
            return charge.commit(self, transaction).get().await;
        }
        for charge in charges {
            transaction.writes.extend(charge.writes(self).get().await?);
        }
        Ok(self.store.commit(transaction).await)
    }

    /// The same for an object in a store of its own: what it costs is recorded before, as by kube-apiserver. If the object is
    /// not stored then, the next recount corrects that.
    async fn commit_after_charges(
        &self,
        transaction: Transaction,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<Committed> {
        let mut writes = Vec::new();
        for charge in charges {
            writes.extend(charge.writes(self).get().await?);
        }
        if !writes.is_empty() {
            match self.store.commit(Transaction::of(writes)).await {
                Ok(_) => {}
                Err(CommitError::Conflict { index, key, actual }) => {
                    let index = index + transaction.writes.len();
                    return Ok(Err(CommitError::Conflict { index, key, actual }));
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(self.store.commit(transaction).await)
    }
}
