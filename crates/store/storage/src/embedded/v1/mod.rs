//! Stores of format 1: migrated to a log at the first start, and read by commands.
//! Guarantees that a crash at any step leaves a store that opens, with all data.
//! Must never remove anything of the old store before the new one is durable and in place.

mod engine;
mod format;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::fill::Filler;
use super::format::{LOG, MARKER, NEW_LOG, VERSION, marker};
use super::layout::exists;
use super::log::LogOptions;
use crate::api::{Observer, Record, Revision, StoreError};
use crate::committer::Replayed;
use crate::files::{self, Storage, sync_parent};
use crate::key_index::{KeyIndex, Position};
use engine::Engine;

/// The directory of the old engine's files.
const ENGINE: &str = "engine";

/// Whether `directory` contains a store of format 1, or the rest of an upgrade.
pub(crate) fn is_there(storage: &dyn Storage, directory: &Path) -> io::Result<bool> {
    storage.exists(&directory.join(ENGINE))
}

/// Upgrades a store of format 1, or completes an interrupted upgrade.
///
/// The new log is created under another name and synced, renamed, then the marker is changed to the new format, and
/// then the old files are removed. After a crash the first complete one is valid: the old store up to the rename, the
/// new one from there.
pub(crate) fn upgrade(storage: &Arc<dyn Storage>, directory: &Path, options: LogOptions) -> Result<(), StoreError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| StoreError::Io { path, error }
    };
    let log = directory.join(LOG);
    if !exists(storage.as_ref(), &log).map_err(at(&log))? {
        migrate(storage, directory, options)?;
        if storage.exists(&log).map_err(at(&log))? {
            storage.remove_dir(&log).map_err(at(&log))?;
        }
        let switched = storage.rename(&directory.join(NEW_LOG), &log);
        switched.and_then(|()| storage.sync_dir(directory)).map_err(at(&log))?;
    }
    let path = directory.join(MARKER);
    files::replace(storage.as_ref(), &path, marker(VERSION).as_bytes()).map_err(|error| at(&path)(error.into()))?;
    let engine = directory.join(ENGINE);
    let removed = storage.remove_dir(&engine).and_then(|()| sync_parent(storage.as_ref(), &engine));
    removed.map_err(at(&engine))
}

/// Creates a new log from the content of the old store.
fn migrate(storage: &Arc<dyn Storage>, directory: &Path, options: LogOptions) -> Result<(), StoreError> {
    let engine = Engine::open(directory)?;
    let mut filler = Filler::new(storage, &directory.join(NEW_LOG), options)?;
    let content = engine.read(directory, &mut |record| filler.add(record))?;
    filler.finish(content.current, content.compacted, &content.marks)
}

/// Passes on the content of a store of format 1 without changing it: the engine repairs what it opens, so it is given
/// a copy.
pub(crate) fn read(directory: &Path, observer: &mut dyn Observer) -> Result<Replayed, StoreError> {
    let copy = Copy::of(directory)?;
    let engine = Engine::open(&copy.0).map_err(|error| error.of(&copy.0, directory))?;
    let mut key_index = KeyIndex::new(true, Revision(0));
    // The compaction revision is known only at the end, and decides which records are history.
    let mut records: Vec<Record> = Vec::new();
    let content = engine
        .read(&copy.0, &mut |record| {
            records.push(record);
            Ok(())
        })
        .map_err(|error| error.of(&copy.0, directory))?;
    let mut at = (Revision(0), 0);
    for record in records {
        at = (record.revision, if record.revision == at.0 { at.1 + 1 } else { 0 });
        let position = Position::new(at.0, at.1, &record.key, record.value.as_ref());
        key_index.replay(position, &record.key, record.value.is_none());
        let history = record.revision > content.compacted;
        observer.replay(record, history);
    }
    let settled = key_index.settle(content.compacted);
    settled.map_err(|detail| StoreError::Corrupt { path: directory.to_owned(), detail })?;
    Ok(Replayed { key_index, marks: content.marks })
}

/// A temporary copy of a store's files, readable only by its owner.
struct Copy(std::path::PathBuf);

impl Copy {
    fn of(directory: &Path) -> Result<Copy, StoreError> {
        use std::os::unix::fs::DirBuilderExt;
        let nanos =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |it| it.subsec_nanos());
        let path = std::env::temp_dir().join(format!("pintle-store-{}-{nanos}", std::process::id()));
        let io = |error| StoreError::Io { path: path.clone(), error };
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(io)?;
        let copy = Copy(path.clone());
        copy_files(directory, &path).map_err(|error| StoreError::Io { path: directory.to_owned(), error })?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed is in a temporary directory, readable only by its owner.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&target)?;
            copy_files(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
