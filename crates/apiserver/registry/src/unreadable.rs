//! Stored objects that cannot be decoded: the responses to requests for them, and their deletion on demand. Guarantees that
//! such an object breaks no request for others, and is never reported as missing. Must never read the object: only its key and
//! revision are known.

use crate::status::{Cause, Details, Result, Status};
use crate::{Registry, Selection, Target, commit_failed};
use pintle_cache::State;
use pintle_storage::{CommitError, Expect, Transaction, Unreadable, UnreadableReason};
use pintle_validation::ErrorList;
use std::ops::Bound;

/// The option that enables it for a delete.
pub const UNSAFE_DELETION_OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The verb that allows it.
pub const UNSAFE_DELETION_VERB: &str = "unsafe-delete-ignore-read-errors";

/// The maximum number of unreadable objects in the error of a list.
const MAX_REPORTED: usize = 100;

impl Target {
    /// The error for an object that does not exist or is unreadable.
    pub fn missing(&self) -> Status {
        self.unreadable().unwrap_or_else(|| self.not_found())
    }

    /// The error of a request for this object, if it exists and is unreadable.
    pub(crate) fn unreadable(&self) -> Option<Status> {
        let state = self.cache.state();
        let unreadable = state.unreadable.get(self.key().as_str()).filter(|_| !state.unreadable.is_empty())?;
        Some(match &unreadable.reason {
            _ if self.tells_unreadable => Status::internal(corrupt_object(unreadable)),
            UnreadableReason::Undecryptable(error) => Status::internal(error),
            UnreadableReason::Undecodable(why) => Status::unexplained(why.as_ref()),
        })
    }

    /// Checks that all initial objects of a watch are readable: a client must not take an unreadable object for a deleted
    /// one.
    ///
    /// # Errors
    /// An object is unreadable.
    pub fn check_begin(&self, selection: &Selection, state: &State) -> Result<()> {
        let whole_names = !self.namespace.is_empty() || !self.resource.namespaced;
        let selected = selection.single_name().filter(|_| whole_names && self.name.is_empty());
        self.check_below(state, &format!("{}{}", self.key(), selected.unwrap_or_default()))
    }

    /// Checks that all objects of the target's collection are readable.
    ///
    /// # Errors
    /// An object is unreadable.
    pub fn check_collection(&self, state: &State) -> Result<()> {
        self.check_below(state, &self.key())
    }

    /// Whether everything can be read that has a key, or the path of a collection.
    fn check_below(&self, state: &State, from: &str) -> Result<()> {
        // A collection's path ends in a slash, and the next character bounds its keys.
        let end = from.strip_suffix('/').map_or_else(|| format!("{from}\0"), |path| format!("{path}0"));
        self.check_readable(state, from, &end)
    }

    /// Whether everything can be read between two keys.
    pub(crate) fn check_readable(&self, state: &State, from: &str, end: &str) -> Result<()> {
        if state.unreadable.is_empty() {
            return Ok(());
        }
        let range = (Bound::Included(from), Bound::Excluded(end));
        let unreadable: Vec<_> = state.unreadable.range::<_, str>(range).map(|(_, it)| it.as_ref()).collect();
        let Some(first) = unreadable.first() else { return Ok(()) };
        Err(match &first.reason {
            _ if self.tells_unreadable => self.several(&unreadable),
            UnreadableReason::Undecryptable(error) => {
                Status::internal(format!("unable to transform key {:?}: {error}", first.key))
            }
            UnreadableReason::Undecodable(why) => Status::unexplained(why.as_ref()),
        })
    }

    fn several(&self, unreadable: &[&Unreadable]) -> Status {
        let cause = |it: &&Unreadable| Cause {
            reason: "UnexpectedServerResponse".into(),
            message: corrupt_object(it),
            field: it.key.to_string(),
        };
        let mut causes: Vec<Cause> = unreadable.iter().take(MAX_REPORTED).map(cause).collect();
        if unreadable.len() > MAX_REPORTED {
            let message = "too many errors, the list is truncated".into();
            causes.push(Cause { reason: "FieldValueTooMany".into(), message, field: String::new() });
        }
        let resource = &self.resource;
        let message = format!("failed to read one or more {} from the storage", resource.qualified());
        Status::new(500, "StorageReadError", message).with_details(Details {
            name: "list".into(),
            group: resource.group.to_string(),
            kind: resource.plural.to_string(),
            causes,
            ..Details::default()
        })
    }
}

fn corrupt_object(unreadable: &Unreadable) -> String {
    // An undecryptable object has no revision yet in kube-apiserver.
    let what = match &unreadable.reason {
        UnreadableReason::Undecryptable(error) => {
            format!("data from the storage is not transformable revision=0: {error}")
        }
        UnreadableReason::Undecodable(why) => format!("object not decodable revision={}: {why}", unreadable.revision),
    };
    let key = &unreadable.key;
    format!("StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {what}")
}

impl Registry {
    /// Deletes an object that cannot be read, whatever would hold one that could: finalizers, preconditions, dependents,
    /// admission.
    ///
    /// # Errors
    /// It can be read, or the store fails.
    pub async fn delete_unreadable(&self, target: &Target) -> Result<()> {
        self.catch_up(&target.cache).await?;
        let found = target.cache.state().unreadable.get(target.key().as_str()).cloned();
        let Some(unreadable) = found else {
            let mut errors = ErrorList::default();
            let why = "is exclusively used to delete corrupt object(s), try again by removing this option";
            errors.invalid(UNSAFE_DELETION_OPTION, true, why);
            return Err(Status::invalid(&target.resource.group, &target.resource.plural, &target.name, &errors));
        };
        let transaction = Transaction::one(unreadable.key.clone(), Expect::At(unreadable.revision), None);
        match self.store.commit(transaction).await {
            Ok(_) => Ok(()),
            Err(CommitError::Conflict { .. }) => Err(Status::modified(&target.resource, &target.name)),
            Err(error) => Err(commit_failed(&error)),
        }
    }
}
