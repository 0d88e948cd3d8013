//! The engine of a store of format 1, fjall, opened to be read once.
//! Guarantees that damage is an error and never a panic, as far as the engine detects it.
//! Must never be used except to migrate the content.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions};

use super::format;
use crate::api::{Record, Revision, StoreError};
use crate::key_index::{KeyIndex, Position};
use crate::limits;
use crate::retention::Mark;

/// An open engine.
pub(crate) struct Engine {
    // Declared before the database: handles have to be dropped first.
    log: Keyspace,
    _database: Database,
}

/// The metadata in the engine besides the records.
pub(crate) struct Content {
    pub compacted: Revision,
    pub current: Revision,
    pub marks: Vec<Mark>,
}

impl Engine {
    /// Opens the engine of the store in `directory`, whose lock the caller holds.
    pub fn open(directory: &Path) -> Result<Engine, StoreError> {
        let corrupt = |detail: String| StoreError::Corrupt { path: directory.to_owned(), detail };
        if directory.join(super::super::format::MARKER).exists() && !has_journal(&directory.join("engine")) {
            // Otherwise the engine would begin a new journal and ignore the missing data.
            return Err(corrupt("the engine's journal is missing".to_owned()));
        }
        guarded(|| {
            let database = Database::builder(directory.join("engine"))
                .cache_size(limits::ENGINE_CACHE_BYTES)
                .worker_threads(1)
                .open()?;
            let options = || KeyspaceCreateOptions::default().with_kv_separation(Some(KvSeparationOptions::default()));
            let log = database.keyspace("log", options)?;
            Ok(Engine { log, _database: database })
        })
        .map_err(corrupt)?
        .map_err(|error| match error {
            fjall::Error::Locked => StoreError::Locked(directory.to_owned()),
            fjall::Error::Io(error) => StoreError::Io { path: directory.join("engine"), error },
            other => corrupt(describe(&other)),
        })
    }

    /// Passes on all records in order, and the metadata. Rejects a log that no correct history produces.
    pub fn read(
        &self,
        directory: &Path,
        record: &mut dyn FnMut(Record) -> Result<(), StoreError>,
    ) -> Result<Content, StoreError> {
        let corrupt = |detail: String| StoreError::Corrupt { path: directory.to_owned(), detail };
        guarded(|| self.read_log(directory, record)).unwrap_or_else(|detail| Err(corrupt(detail)))
    }

    fn read_log(
        &self,
        directory: &Path,
        pass_on: &mut dyn FnMut(Record) -> Result<(), StoreError>,
    ) -> Result<Content, StoreError> {
        let corrupt = |detail: String| StoreError::Corrupt { path: directory.to_owned(), detail };
        let get = |key| self.log.get(key).map_err(|error| corrupt(describe(&error)));
        match get(format::VERSION_KEY)?.as_deref().map(<[u8; 4]>::try_from) {
            Some(Ok(version)) if u32::from_be_bytes(version) == format::VERSION => {}
            Some(Ok(version)) => {
                let found = u32::from_be_bytes(version);
                return Err(StoreError::Format { path: directory.to_owned(), found, expected: format::VERSION });
            }
            Some(Err(_)) => return Err(corrupt("the format version is cut short".to_owned())),
            // A store that was killed while it was created, before anything was written to it.
            None if self.log.first_key_value().is_none() && !directory.join(super::super::format::MARKER).exists() => {}
            None => return Err(corrupt("the log has lost its beginning".to_owned())),
        }
        let compacted = match get(format::COMPACTED_KEY)? {
            Some(bytes) => format::decode_revision(&bytes)
                .ok_or_else(|| corrupt("the compaction revision is cut short".to_owned()))?,
            None => Revision::EMPTY,
        };
        let marks = match get(format::MARKS_KEY)? {
            Some(bytes) => {
                format::decode_marks(&bytes).ok_or_else(|| corrupt("the time marks are cut short".to_owned()))?
            }
            None => Vec::new(),
        };
        let mut key_index = KeyIndex::new(true, Revision(0));
        let mut current = compacted;
        for guard in self.log.range(format::revision_key(Revision(0))..) {
            let (key, entry) = guard.into_inner().map_err(|error| corrupt(describe(&error)))?;
            let position = format::decode_position(&key)
                .ok_or_else(|| corrupt("a log entry's position is malformed".to_owned()))?;
            let wrong = |what: &str| corrupt(format!("log entry {}/{}: {what}", position.revision, position.ordinal));
            let entry = format::decode_entry(position, &entry).map_err(wrong)?;
            if position.revision > current.next() {
                return Err(wrong(&format!("revision {} is missing", current.next())));
            }
            current = current.max(position.revision);
            let value = entry.value.map(Bytes::copy_from_slice);
            let at = Position::new(position.revision, position.ordinal, entry.key, value.as_ref());
            key_index.replay(at, entry.key, value.is_none());
            pass_on(Record { revision: position.revision, key: entry.key.into(), value })?;
        }
        key_index.settle(compacted).map_err(corrupt)?;
        Ok(Content { compacted, current, marks })
    }
}

/// Whether there is a journal. A directory that cannot be read has none; opening it reports why.
fn has_journal(engine: &Path) -> bool {
    let files = std::fs::read_dir(engine).into_iter().flatten().flatten();
    files.map(|file| file.path()).any(|path| path.extension().is_some_and(|extension| extension == "jnl"))
}

/// Runs code that reads files that may be damaged, and turns a panic of the engine into an error.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the engine gave up: {}", text.unwrap_or("no reason given"))
    })
}

fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}
