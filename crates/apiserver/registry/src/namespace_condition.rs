//! The namespace of a new object: looked at before admission, and again by the transaction that stores the object.
//! Guarantees that nothing is stored in a namespace that is gone or whose deletion has begun, however long admission took: what
//! the namespace controller finds after the deletion began is all that there will ever be, so that an emptied namespace stays empty.
//! Must never refuse because the namespace has merely changed, such as its labels.

use crate::admission::NamespaceCheck;
use crate::status::{Cause, Result, Status};
use crate::update::ManagedFieldsUpdate;
use crate::{Charge, Registry, Target};
use pintle_cache::Object;
use pintle_schema::{Value, names};
use pintle_storage::{CommitError, Condition, Expect, Transaction, Write};
use std::sync::Arc;

/// A new object, ready to be stored.
pub(crate) struct NewObject<'a> {
    pub target: &'a Target,
    /// Its name in errors: the one that it was sent with, or the prefix of one.
    pub refused_name: &'a str,
    pub owners: ManagedFieldsUpdate,
}

impl Registry {
    /// Nothing is created in a namespace that does not exist or is going away, unless admission is configured to allow it.
    ///
    /// # Errors
    /// The namespace is not there, or is going away.
    pub fn check_namespace(&self, target: &Target, name: &str) -> Result<()> {
        self.admitting_namespace(target, name).map(drop)
    }

    /// The namespace that a new object may be stored in, as it is now. `None` if the object needs none.
    ///
    /// # Errors
    /// The namespace is not there, or is going away.
    pub(crate) fn admitting_namespace(&self, target: &Target, name: &str) -> Result<Option<Arc<Object>>> {
        let check = self.admission.namespace_check;
        let is_checked = target.resource.namespaced && check != NamespaceCheck::None;
        let namespace = target.namespace.as_str();
        // Validation reports a namespace without a name.
        let home = self.namespace(namespace).filter(|_| is_checked && !namespace.is_empty());
        let Some(home) = home else { return Ok(None) };
        let faults = names::path_segment_name(namespace);
        if !faults.is_empty() {
            let why = format!("invalid resource name {}: [{}]", names::quoted(namespace), faults.join(" "));
            return Err(Status::internal(why));
        }
        let found = home.get()?;
        if !found.encoded.terminating || check == NamespaceCheck::Exists {
            return Ok(Some(found));
        }
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut status = Status::forbidden(&target.resource, name, &why);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
            });
        }
        Err(status)
    }

    /// Stores a new object together with other writes, if its namespace is unchanged since it was found to be `namespace`. If it has
    /// changed, it is looked at again, and the commit is repeated as long as it may have the object: admission is not asked again. If
    /// there is another one of its name instead, its condition has failed.
    ///
    /// # Errors
    /// The namespace has gone meanwhile, or is going away.
    pub(crate) async fn store_new(
        &self,
        new: &NewObject<'_>,
        namespace: Option<Arc<Object>>,
        object: &mut Value,
        others: Vec<Write>,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        let NewObject { target, refused_name, owners } = *new;
        let mut namespace = namespace;
        loop {
            let condition = namespace.as_deref().map(unchanged);
            let others = Transaction { writes: others.clone(), conditions: condition.into_iter().collect() };
            let outcome = self.commit_object(target, Expect::Absent, object, owners, others, charges).await?;
            match (outcome, &namespace) {
                (Err(CommitError::ConditionFailed { key, actual }), Some(found)) if key == found.key => {
                    // The cache has the change already: a store answers only what it has published.
                    let now = self.admitting_namespace(target, refused_name)?;
                    if now.as_ref().is_none_or(|now| now.encoded.uid() != found.encoded.uid()) {
                        return Ok(Err(CommitError::ConditionFailed { key, actual }));
                    }
                    namespace = now;
                }
                (Ok(stored), Some(found)) if !self.is_in_same_store(&found.key, &stored.key) => {
                    return self.check_stored(new, object, stored).await;
                }
                (outcome, _) => return Ok(outcome),
            }
        }
    }

    /// Where namespaces are in another store, which no condition can be about, the object is stored first, and removed if its
    /// namespace turns out to be gone or going away then. If it is deleted later, the controller finds the object: it looks at the
    /// object's store as it is after the deletion began. What expires by itself is let be.
    ///
    /// # Errors
    /// The namespace is not there any more, or is going away.
    async fn check_stored(
        &self,
        new: &NewObject<'_>,
        object: &Value,
        stored: Arc<Object>,
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        let NewObject { target, refused_name, .. } = *new;
        let home = self.namespace(&target.namespace).filter(|_| target.resource.ttl_seconds == 0);
        let Some(home) = home else { return Ok(Ok(stored)) };
        self.catch_up(&home.cache).await?;
        let Err(refused) = self.check_namespace(target, refused_name) else { return Ok(Ok(stored)) };
        let mut revision = stored.revision;
        loop {
            let mut writes = vec![Write::delete(stored.key.clone(), Expect::At(revision))];
            writes.extend(self.allocation_writes(target, None, Some(object))?);
            match self.store.commit(Transaction::of(writes)).await {
                Ok(_) => return Err(refused),
                Err(CommitError::Conflict { index: 0, .. }) => match target.cache.get(&stored.key) {
                    Some(now) if now.encoded.uid() == stored.encoded.uid() => revision = now.revision,
                    _ => return Err(refused),
                },
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

/// Holds if the namespace is as it was found.
fn unchanged(namespace: &Object) -> Condition {
    Condition { key: namespace.key.clone(), at: namespace.revision }
}

#[cfg(test)]
mod tests;
