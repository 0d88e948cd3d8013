//! Fills a new store with values that keep their revisions, to copy a cluster.
//! Guarantees that the store is the same as one that was written and compacted normally.
//! Must never change a store that is not empty.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::fill::Filler;
use super::format::{LOG, NEW_LOG, UNFINISHED};
use super::{EmbeddedOptions, NullObserver, lock, prepare};
use crate::api::{Record, Revision, StoreError};
use crate::files::{self, Storage, sync_parent};

/// Creates a store in `directory` with these values, in the order of their revisions, at revision `current`, without
/// earlier history.
///
/// # Errors
/// The directory contains a store that is not empty, or cannot be written.
pub fn import(directory: &Path, records: &[Record], current: Revision) -> Result<(), StoreError> {
    let corrupt = |detail: &str| StoreError::Corrupt { path: directory.to_owned(), detail: detail.to_owned() };
    if !records.is_sorted_by_key(|record| record.revision) || records.last().is_some_and(|it| it.revision > current) {
        return Err(corrupt("the values to be filled in are not in the order of their revisions"));
    }
    let options = EmbeddedOptions::default();
    let storage = &options.storage;
    let _lock = lock(storage.as_ref(), directory, Duration::ZERO)?;
    check_finished(storage.as_ref(), directory)?;
    let there = prepare(directory, &options)?.read(&mut NullObserver)?;
    if there.key_index.current() > Revision::EMPTY {
        return Err(corrupt("there is something in it already"));
    }
    let unfinished = directory.join(UNFINISHED);
    let io = |error| StoreError::Io { path: unfinished.clone(), error };
    files::replace(storage.as_ref(), &unfinished, &[]).map_err(|error| io(error.into()))?;
    let new = directory.join(NEW_LOG);
    let mut filler = Filler::new(storage, &new, options.log())?;
    records.iter().try_for_each(|record| filler.add(record.clone()))?;
    filler.finish(current, current, &[])?;
    let log = directory.join(LOG);
    let switched = storage.remove_dir(&log).and_then(|()| storage.rename(&new, &log));
    let switched = switched.and_then(|()| storage.sync_dir(directory)).and_then(|()| storage.remove(&unfinished));
    switched.and_then(|()| sync_parent(storage.as_ref(), &unfinished)).map_err(io)
}

/// Rejects a store whose import was not completed: it is valid, but incomplete.
pub(super) fn check_finished(storage: &dyn Storage, directory: &Path) -> Result<(), StoreError> {
    let path = directory.join(UNFINISHED);
    let there = storage.exists(&path).map_err(|error: io::Error| StoreError::Io { path, error })?;
    if there {
        let detail = "a copy to it was not finished; it is to be removed, and the copy made anew".to_owned();
        return Err(StoreError::Corrupt { path: directory.to_owned(), detail });
    }
    Ok(())
}
