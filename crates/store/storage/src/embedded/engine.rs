//! The engine under the embedded store: fjall, set up to be small, and the way back when the disk has failed.
//! Guarantees that a step is one atomic, synced batch, and that what is damaged is an error and never a panic.
//! Must never decide anything about keys or revisions: steps come from the committer, meanings from `format`.

use std::fs::File;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};

use super::format::{self, Checked};
use crate::api::{Observer, Record, Revision, StoreError};
use crate::committer::{Backend, BackendError, Replayed, Step, positions};
use crate::ledger::{Ledger, Position};
use crate::limits;

/// How long after a failure the disk is left in peace.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// How long the engine may take to write out a table before it is taken for failed.
const STALLED_AFTER: Duration = Duration::from_secs(30);

/// An open engine, or one that failed and is to be opened again.
pub(crate) struct Engine {
    directory: PathBuf,
    memtable_bytes: u64,
    state: State,
    /// Why nothing could be written since the last write, as it was told.
    fault: Option<String>,
}

enum State {
    Open(Open),
    /// After a failed write only the files know what was written, so they are read again.
    Failed {
        since: Instant,
        error: BackendError,
    },
}

struct Open {
    // Declared before the database: handles go first.
    log: Keyspace,
    database: Database,
}

impl Open {
    fn new(directory: &Path, memtable_bytes: u64) -> fjall::Result<Open> {
        let database = Database::builder(directory.join("engine"))
            .cache_size(limits::ENGINE_CACHE_BYTES)
            .worker_threads(limits::ENGINE_WORKERS)
            .max_journaling_size(limits::ENGINE_JOURNAL_BYTES)
            .max_cached_files(Some(limits::ENGINE_OPEN_FILES))
            .open()?;
        // Large values in files of their own: merging tables does not copy them.
        let log = database.keyspace("log", || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(memtable_bytes)
                .with_kv_separation(Some(KvSeparationOptions::default()))
        })?;
        Ok(Open { log, database })
    }

    /// Checks the format version, and writes it into a new store.
    fn check_version(&self, directory: &Path) -> Result<(), StoreError> {
        let corrupt = |detail: String| StoreError::Corrupt { path: directory.to_owned(), detail };
        let read = |error: fjall::Error| corrupt(describe(&error));
        let marker = directory.join(format::MARKER);
        let known = marker.exists();
        let version = self.log.get(format::VERSION_KEY).map_err(read)?;
        match version.as_deref().map(<[u8; 4]>::try_from) {
            Some(Ok(version)) if u32::from_be_bytes(version) == format::VERSION => {}
            Some(Ok(version)) => {
                let found = u32::from_be_bytes(version);
                return Err(StoreError::Format { path: directory.to_owned(), found, expected: format::VERSION });
            }
            Some(Err(_)) => return Err(corrupt("the format version is cut short".to_owned())),
            None if known || self.log.first_key_value().is_some() => {
                return Err(corrupt("the log has lost its beginning".to_owned()));
            }
            None => {
                let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
                batch.insert(&self.log, format::VERSION_KEY, format::VERSION.to_be_bytes());
                batch.commit().map_err(read)?;
            }
        }
        if !known {
            write_durably(&marker, &format::marker()).map_err(|error| StoreError::Io { path: marker, error })?;
        }
        Ok(())
    }

    /// Removes what a failed step may have left behind: nobody was told that it exists.
    fn trim(&self, base: Revision) -> fjall::Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for guard in self.log.range(format::revision_key(base.next())..) {
            batch.remove(&self.log, guard.key()?);
        }
        batch.commit()
    }

    /// Waits until the engine has written out what it holds in memory. Left to itself it sleeps in steps of a tenth of
    /// a second, and for ever once its own threads have failed.
    fn wait_for_room(&self) -> Result<(), BackendError> {
        let since = Instant::now();
        while self.log.sealed_memtable_count() >= limits::ENGINE_SEALED_MEMTABLES_MAX {
            if since.elapsed() > STALLED_AFTER {
                return Err(Arc::new(io::Error::other("the disk does not take what has been written")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Budget: one allocation and two copies per record, one system call and one sync per step.
    fn persist(&self, step: &Step<'_>) -> fjall::Result<()> {
        // A removal that is lost is done again, so it need not be waited for; order is kept in any case.
        let durability = if step.records.is_empty() { PersistMode::Buffer } else { PersistMode::SyncData };
        let writes = step.records.len() + step.removal.map_or(0, |removal| removal.entries.len() + 1) + 1;
        let mut batch =
            fjall::OwnedWriteBatch::with_capacity(self.database.clone(), writes).durability(Some(durability));
        for (position, record) in positions(step.records) {
            let entry = format::encode_entry(position, &record.key, record.value.as_ref());
            batch.insert(&self.log, format::position_key(position), entry);
        }
        if let Some(removal) = step.removal {
            for position in &removal.entries {
                batch.remove(&self.log, format::position_key(*position));
            }
            batch.insert(&self.log, format::COMPACTED_KEY, removal.compacted.0.to_be_bytes());
        }
        if let Some(marks) = step.marks {
            batch.insert(&self.log, format::MARKS_KEY, format::encode_marks(marks));
        }
        batch.commit()
    }

    /// Hands on the whole log, in order: one thread reads and checks while this one takes stock. Budget: one read per
    /// record and no copy.
    fn replay(&self, observer: &mut dyn Observer) -> Result<Replayed, String> {
        let read = |error: fjall::Error| describe(&error);
        let compacted = match self.log.get(format::COMPACTED_KEY).map_err(read)? {
            Some(bytes) => format::decode_revision(&bytes).ok_or("the compaction revision is cut short")?,
            None => Revision::EMPTY,
        };
        let marks = match self.log.get(format::MARKS_KEY).map_err(read)? {
            Some(bytes) => format::decode_marks(&bytes).ok_or("the time marks are cut short")?,
            None => Vec::new(),
        };
        let mut ledger = Ledger::new(true, compacted);
        let (batches, read_batches) = mpsc::sync_channel(limits::REPLAY_BATCHES);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.read_log(batches));
            for (position, entry) in read_batches.into_iter().flatten() {
                let value = entry.value();
                // Made here, as between the short-lived buffers that the other thread fills it would leave holes.
                let key = ledger.replay(position, entry.key(), value.is_none());
                let key = key.map_err(|what| wrong_entry(position, what))?;
                observer.replay(Record { revision: position.revision, key, value }, position.revision > compacted);
            }
            reader.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        Ok(Replayed { ledger, marks })
    }

    /// Reads the log in batches, until the end or until nobody wants more.
    fn read_log(&self, batches: mpsc::SyncSender<Vec<(Position, Checked)>>) -> Result<(), String> {
        let mut batch = Vec::with_capacity(limits::REPLAY_BATCH);
        for guard in self.log.range(format::revision_key(Revision(0))..) {
            let (key, bytes) = guard.into_inner().map_err(|error| describe(&error))?;
            let position = format::decode_position(&key).ok_or("a log entry's position is malformed")?;
            let entry = Checked::new(position, bytes.into()).map_err(|what| wrong_entry(position, what))?;
            batch.push((position, entry));
            if batch.len() == limits::REPLAY_BATCH {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(limits::REPLAY_BATCH));
                if batches.send(full).is_err() {
                    return Ok(()); // The other side has found something wrong, and says so.
                }
            }
        }
        // Whether the rest is still wanted is the other side's matter.
        let _ = batches.send(batch);
        Ok(())
    }
}

fn wrong_entry(position: Position, what: &str) -> String {
    format!("log entry {}/{}: {what}", position.revision, position.ordinal)
}

impl Engine {
    /// Opens the engine in `directory`, whose lock the caller holds.
    pub fn open(directory: PathBuf, memtable_bytes: u64) -> Result<Engine, StoreError> {
        if directory.join(format::MARKER).exists() && !has_journal(&directory.join("engine")) {
            // The engine would begin a new one and take what is left for everything.
            return Err(StoreError::Corrupt { path: directory, detail: "the engine's journal is missing".to_owned() });
        }
        let open = guarded(|| Open::new(&directory, memtable_bytes).map_err(|error| open_error(&directory, error)))
            .unwrap_or_else(|detail| Err(StoreError::Corrupt { path: directory.clone(), detail }))?;
        guarded(|| open.check_version(&directory))
            .unwrap_or_else(|detail| Err(StoreError::Corrupt { path: directory.clone(), detail }))?;
        Ok(Engine { directory, memtable_bytes, state: State::Open(open), fault: None })
    }

    /// Hands everything in the log to `observer` and takes stock.
    pub fn replay(&mut self, observer: &mut dyn Observer) -> Result<Replayed, StoreError> {
        let corrupt = |detail: String| StoreError::Corrupt { path: self.directory.clone(), detail };
        match &self.state {
            State::Open(open) => guarded(|| open.replay(observer)).and_then(|result| result).map_err(corrupt),
            State::Failed { error, .. } => Err(corrupt(error.to_string())),
        }
    }

    /// The open engine; opened again if it failed long enough ago.
    fn open_again(&mut self, base: Revision) -> Result<&Open, BackendError> {
        if let State::Failed { since, error } = &self.state {
            if since.elapsed() < REOPEN_AFTER {
                return Err(error.clone());
            }
            let open = guarded(|| {
                let open = Open::new(&self.directory, self.memtable_bytes)?;
                open.trim(base).map(|()| open)
            });
            match self.explained(open) {
                Ok(open) => self.state = State::Open(open),
                Err(error) => return Err(self.fail(error)),
            }
        }
        match &self.state {
            State::Open(open) => Ok(open),
            State::Failed { error, .. } => Err(error.clone()),
        }
    }

    /// What went wrong, told once: nothing is written until the engine has been opened again.
    fn fail(&mut self, error: BackendError) -> BackendError {
        let text = error.to_string();
        if self.fault.as_ref() != Some(&text) {
            eprintln!("warning: the store cannot be written: {text}");
            self.fault = Some(text);
        }
        self.state = State::Failed { since: Instant::now(), error: error.clone() };
        error
    }

    /// An outcome of the engine's. When one of its own threads has failed it does not say why: then the disk is asked.
    fn explained<T>(&self, outcome: Result<fjall::Result<T>, String>) -> Result<T, BackendError> {
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(fjall::Error::Io(error))) => Err(Arc::new(error)),
            Ok(Err(error @ fjall::Error::Poisoned)) => match probe(&self.directory) {
                Ok(()) => Err(Arc::new(error)),
                Err(error) => Err(Arc::new(error)),
            },
            Ok(Err(error)) => Err(Arc::new(error)),
            Err(panic) => Err(Arc::new(io::Error::other(panic))),
        }
    }
}

/// Whether the disk takes what an engine at rest needs.
fn probe(directory: &Path) -> io::Result<()> {
    let path = directory.join("probe");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; limits::PROBE_BYTES])?;
        file.sync_all()
    });
    // Where it could not be made there is nothing to remove.
    let _ = std::fs::remove_file(&path);
    written
}

impl Backend for Engine {
    fn persist(&mut self, step: &Step<'_>) -> Result<(), BackendError> {
        let open = self.open_again(step.base)?;
        let written = open.wait_for_room().map(|()| guarded(|| open.persist(step)));
        written.and_then(|outcome| self.explained(outcome)).map_err(|error| self.fail(error))?;
        if self.fault.take_if(|_| !step.records.is_empty()).is_some() {
            eprintln!("warning: the store can be written again");
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let State::Open(open) = &self.state {
            // Everything acknowledged is synced already; this makes the last removals durable. If it fails, they
            // are done again after the next start.
            let _ = open.database.persist(PersistMode::SyncAll);
        }
    }
}

/// Whether there is a journal. A directory that cannot be read has none; opening it will say why.
fn has_journal(engine: &Path) -> bool {
    let files = std::fs::read_dir(engine).into_iter().flatten().flatten();
    files.map(|file| file.path()).any(|path| path.extension().is_some_and(|extension| extension == "jnl"))
}

pub(super) fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync_directory(path)
}

pub(super) fn remove_durably(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)?;
    sync_directory(path)
}

/// A name is durable when its directory is. Not every system lets a directory be opened; none of those needs it.
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent().map(File::open) {
        Some(Ok(directory)) => directory.sync_all(),
        _ => Ok(()),
    }
}

/// Runs what reads files that may be damaged: where the engine panics over them, that is an error like any other.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the engine gave up: {}", text.unwrap_or("no reason given"))
    })
}

fn open_error(directory: &Path, error: fjall::Error) -> StoreError {
    match error {
        fjall::Error::Locked => StoreError::Locked(directory.to_owned()),
        fjall::Error::Io(error) => StoreError::Io { path: directory.join("engine"), error },
        other => StoreError::Corrupt { path: directory.to_owned(), detail: describe(&other) },
    }
}

fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
