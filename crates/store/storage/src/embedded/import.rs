//! Filling a new store with values that keep their revisions: how a cluster moves here from elsewhere.
//! Guarantees that a store which was filled cannot be told from one that was written that way and compacted since.
//! Must never touch a store that holds anything.

use std::path::Path;

use super::engine::{Engine, remove_durably, write_durably};
use super::{EmbeddedOptions, format, lock};
use crate::api::{Observer, Record, Revision, StoreError};
use crate::committer::{Backend, Step};
use crate::ledger::Removal;

/// Bytes of values after which a batch is written. The records of one revision go together in any case.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Is told what a store holds, and cares for none of it.
struct Nobody;

impl Observer for Nobody {
    fn replay(&mut self, _: Record, _: bool) {}
    fn publish(&mut self, _: &[Record], _: Revision) {}
}

/// Makes a store in `directory` that holds these values, in the order of their revisions, and stands at `current`. It has
/// no history before that.
///
/// # Errors
/// There is a store that holds something, or the directory cannot be written.
pub fn import(directory: &Path, records: &[Record], current: Revision) -> Result<(), StoreError> {
    let corrupt = |detail: &str| StoreError::Corrupt { path: directory.to_owned(), detail: detail.to_owned() };
    if !records.is_sorted_by_key(|record| record.revision) || records.last().is_some_and(|it| it.revision > current) {
        return Err(corrupt("the values to be filled in are not in the order of their revisions"));
    }
    let _lock = lock(directory)?;
    check_finished(directory)?;
    let mut engine = Engine::open(directory.to_owned(), EmbeddedOptions::default().memtable_bytes)?;
    if engine.replay(&mut Nobody)?.ledger.current() > Revision::EMPTY {
        return Err(corrupt("there is something in it already"));
    }
    let unfinished = directory.join(format::UNFINISHED);
    let io = |error| StoreError::Io { path: unfinished.clone(), error };
    write_durably(&unfinished, "").map_err(io)?;
    let removal = Removal { entries: Vec::new(), compacted: current };
    let mut rest = records;
    let mut first = true;
    while first || !rest.is_empty() {
        let (batch, after) = rest.split_at(batch_end(rest));
        let step = Step { base: current, records: batch, removal: Some(&removal), marks: None };
        engine.persist(&step).map_err(|error| StoreError::Io {
            path: directory.to_owned(),
            error: std::io::Error::other(error.to_string()),
        })?;
        (rest, first) = (after, false);
    }
    // All of it is on the disk when the engine has gone.
    drop(engine);
    remove_durably(&unfinished).map_err(io)
}

/// Refuses a store that was not filled to the end: it is whole, but for what is missing.
pub(super) fn check_finished(directory: &Path) -> Result<(), StoreError> {
    if directory.join(format::UNFINISHED).exists() {
        let detail = "a copy to it was not finished; it is to be removed, and the copy made anew".to_owned();
        return Err(StoreError::Corrupt { path: directory.to_owned(), detail });
    }
    Ok(())
}

/// How many records make a batch: enough bytes, and whole revisions.
fn batch_end(records: &[Record]) -> usize {
    let mut bytes = 0;
    for (at, pair) in records.windows(2).enumerate() {
        bytes += pair[0].value.as_ref().map_or(0, bytes::Bytes::len);
        if bytes >= BATCH_BYTES && pair[0].revision < pair[1].revision {
            return at + 1;
        }
    }
    records.len()
}
