//! Creates a log from records that already have revisions: of another store, or of an older format.
//! Guarantees that the log is durable when it is finished. Must never write to a log that is in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layout;
use super::log::{Log, LogOptions};
use crate::api::{Record, Revision, StoreError};
use crate::committer::BackendError;
use crate::files::Storage;
use crate::limits;
use crate::retention::Mark;

/// Fills a new log.
pub(crate) struct Filler {
    path: PathBuf,
    log: Log,
    batch: Vec<Record>,
    bytes: usize,
    /// The revision before the batch.
    base: Revision,
}

impl Filler {
    /// Creates an empty log in the directory `path`, after removing its content.
    pub fn new(storage: &Arc<dyn Storage>, path: &Path, options: LogOptions) -> Result<Filler, StoreError> {
        let io = |error| StoreError::Io { path: path.to_owned(), error };
        layout::create(storage, path, Revision::EMPTY).map_err(io)?;
        let log = Log::open_new(storage, path.to_owned(), LogOptions { background: false, ..options })?;
        Ok(Filler { path: path.to_owned(), log, batch: Vec::new(), bytes: 0, base: Revision::EMPTY })
    }

    /// Adds a record. Its revision is not lower than that of the record before.
    pub fn add(&mut self, record: Record) -> Result<(), StoreError> {
        let last = self.batch.last().map_or(self.base, |last| last.revision);
        // The records of a revision are written together, and a revision is stored as a 32-bit difference.
        let far = record.revision.0.saturating_sub(self.base.0) > u64::from(u32::MAX);
        if record.revision > last && (far || self.bytes >= limits::FILL_BYTES) {
            self.write()?;
            if far {
                let before = Revision(record.revision.0 - 1);
                self.log.append(&[], before, None, None).map_err(|error| self.failed(&error))?;
                self.base = before;
            }
        }
        self.bytes += record.key.len() + record.value.as_ref().map_or(0, bytes::Bytes::len);
        self.batch.push(record);
        Ok(())
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        if let Some(last) = batch.last() {
            self.log.append(&batch, last.revision, None, None).map_err(|error| self.failed(&error))?;
            self.base = last.revision;
        }
        Ok(())
    }

    /// Ends the log at `current`, with history after `compacted`.
    pub fn finish(mut self, current: Revision, compacted: Revision, marks: &[Mark]) -> Result<(), StoreError> {
        self.write()?;
        let ended = self.log.append(&[], current.max(self.base), Some(compacted), Some(marks));
        ended.and_then(|()| self.log.sync()).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &BackendError) -> StoreError {
        StoreError::Io { path: self.path.clone(), error: std::io::Error::other(error.to_string()) }
    }
}
