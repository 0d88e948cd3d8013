//! The durable store of one machine: a directory, one writer thread, one sync per batch.
//! Guarantees that acknowledged writes survive a kill at any instant, and that one process at a time writes.
//! Must never publish or acknowledge what is not synced.

mod active;
mod background;
mod fill;
pub mod format;
mod frames;
mod full;
mod import;
mod layout;
mod log;
mod recovery;
mod reserve;
mod rewrite;
mod tail;

pub use import::import;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::{debug, warn};

use crate::api::{CommitError, Observer, Revision, Started, Store, StoreError, Transaction};
use crate::clock::{Clock, SystemClock};
use crate::committer::{Committer, Replayed};
use crate::fatal_signal::{EndedFuture, FatalSignal};
use crate::files::{self, OsStorage, Storage};
use crate::limits;
use crate::queue::{CommitFuture, CompactFuture, Queue, Request, Wait};
use crate::space::DiskSpace;
use format::{LOG, MARKER, VERSION, marked_version, marker};
use log::{Log, LogOptions, OpenLog};

/// The options of an [`EmbeddedStore`].
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// How long history is kept. `None` keeps it until [`Store::compact`] is called.
    pub retention: Option<Duration>,
    /// The clock for `retention`.
    pub clock: Arc<dyn Clock>,
    /// The size in bytes after which the log begins a new file.
    pub segment_bytes: u64,
    /// How long to wait for a lock that another process holds: that of a process that has just ended may last a moment longer.
    pub lock_wait: Duration,
    /// The delay before the disk is accessed again after a failed write.
    pub retry_after: Duration,
    /// Whether space is freed on a thread of its own, which is the default, or by the writer between two batches, so
    /// that tests are deterministic.
    pub background: bool,
    /// The file system.
    pub storage: Arc<dyn Storage>,
}

impl EmbeddedOptions {
    fn log(&self) -> LogOptions {
        let EmbeddedOptions { segment_bytes, retry_after, background, .. } = *self;
        LogOptions { segment_bytes, retry_after, background }
    }
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            retention: Some(Duration::from_secs(limits::RETENTION_SECONDS)),
            clock: Arc::new(SystemClock),
            segment_bytes: limits::SEGMENT_BYTES,
            lock_wait: limits::LOCK_WAIT,
            retry_after: limits::RETRY_AFTER,
            background: true,
            storage: Arc::new(OsStorage::default()),
        }
    }
}

impl fmt::Debug for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedOptions").field("retention", &self.retention).finish_non_exhaustive()
    }
}

/// A [`Store`] in a directory. Closes itself when dropped.
pub struct EmbeddedStore {
    queue: Arc<Queue>,
    options: EmbeddedOptions,
    state: Mutex<State>,
    fatal_signal: FatalSignal,
    space: Arc<DiskSpace>,
}

/// The lock on a data directory, while it is held.
type Lock = Box<dyn Send + Sync>;

enum State {
    /// Open, not yet read.
    DecryptedValue(Box<OpenLog>, Lock),
    /// Open for reading only.
    Reading(Box<OpenLog>, Option<Lock>),
    /// The writer owns the log.
    Running(JoinHandle<()>, Lock),
    Closed,
}

impl EmbeddedStore {
    /// Opens the store in `directory`, which is created if it does not exist, and locks it.
    ///
    /// # Errors
    /// The directory is in use, cannot be written, or contains something else or a damaged store.
    pub fn open(directory: &Path, options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let lock = lock(options.storage.as_ref(), directory, options.lock_wait)?;
        import::check_finished(options.storage.as_ref(), directory)?;
        let log = prepare(directory, &options)?;
        Ok(EmbeddedStore::new(State::DecryptedValue(Box::new(log), lock), options))
    }

    /// Opens the store in `directory` for reading: no byte, name or time there is changed. It can be started, which
    /// verifies everything; every write returns that the store is closed.
    ///
    /// # Errors
    /// The directory is in use, or does not contain a valid store.
    pub fn open_read_only(directory: &Path) -> Result<EmbeddedStore, StoreError> {
        let storage: Arc<dyn Storage> = Arc::new(OsStorage::read_only());
        let path = directory.join("lock");
        let lock = match storage.lock(&path) {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(locked(directory, path, error)),
        };
        import::check_finished(storage.as_ref(), directory)?;
        let options = EmbeddedOptions { storage, ..EmbeddedOptions::default() };
        find(directory, options.storage.as_ref())?;
        let log = OpenLog::open(options.storage.clone(), directory.join(LOG), options.log())?;
        Ok(EmbeddedStore::new(State::Reading(Box::new(log), lock), options))
    }

    fn new(state: State, options: EmbeddedOptions) -> EmbeddedStore {
        EmbeddedStore {
            queue: Arc::new(Queue::new()),
            options,
            state: Mutex::new(state),
            fatal_signal: FatalSignal::default(),
            space: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic under the lock happens only after the state was taken out: it is `Closed` then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for EmbeddedStore {
    fn start(&self, mut observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let mut state = self.state();
        let (log, lock) = match std::mem::replace(&mut *state, State::Closed) {
            State::DecryptedValue(log, lock) => (log, lock),
            State::Reading(log, _lock) => {
                let Replayed { key_index, .. } = log.read(observer.as_mut())?;
                let started = Started { compacted: key_index.compacted(), current: key_index.current() };
                observer.replayed(started);
                self.queue.abandon();
                return Ok(started);
            }
            other => {
                *state = other;
                return Err(StoreError::AlreadyStarted);
            }
        };
        let (replayed, log) = log.replay(observer.as_mut(), self.space.clone())?;
        let retention_seconds = self.options.retention.map(|retention| retention.as_secs());
        let committer = Committer::new(log, observer, self.options.clock.clone(), retention_seconds, replayed);
        let started = committer.started();
        debug!(compacted = started.compacted.0, current = started.current.0, "the store was replayed");
        let (queue, guard) = (self.queue.clone(), self.fatal_signal.guard("the store's writer"));
        let (fatal_signal, space) = (self.fatal_signal.clone(), self.space.clone());
        let run = move || {
            let _guard = guard;
            write(&queue, committer, &fatal_signal, &space);
        };
        let writer = std::thread::Builder::new().name("store-writer".to_owned()).spawn(run);
        let writer = writer.map_err(|error| StoreError::Io { path: PathBuf::from("store-writer"), error })?;
        *state = State::Running(writer, lock);
        Ok(started)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.queue.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.queue.compact(revision)
    }

    fn makes_several_revisions(&self) -> bool {
        true
    }

    fn ended(&self) -> EndedFuture {
        self.fatal_signal.ended()
    }

    fn space(&self) -> Option<Arc<DiskSpace>> {
        Some(self.space.clone())
    }

    fn close(&self) {
        self.queue.close();
        let state = std::mem::replace(&mut *self.state(), State::Closed);
        if let State::Running(writer, lock) = state {
            // The writer itself may drop the last handle, inside the observer; it cannot wait for itself.
            if writer.thread().id() != std::thread::current().id() {
                // A panic of the observer was reported by its thread; the store is closed in any case.
                let _ = writer.join();
            }
            drop(lock);
        } else {
            self.queue.abandon();
        }
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbeddedStore")
    }
}

/// Creates the directory and locks it. The operating system releases the lock with the process; one that is held is waited for.
fn lock(storage: &dyn Storage, directory: &Path, wait: Duration) -> Result<Lock, StoreError> {
    layout::make_dir(storage, directory).map_err(|error| StoreError::Io { path: directory.to_owned(), error })?;
    let path = directory.join("lock");
    let (began, mut has_waited) = (Instant::now(), false);
    loop {
        match storage.lock(&path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && began.elapsed() < wait => {
                if !has_waited {
                    let seconds = wait.as_secs();
                    warn!("{}: waiting up to {seconds} s for another process to end", directory.display());
                }
                has_waited = true;
                std::thread::sleep(limits::LOCK_RETRY);
            }
            outcome => return outcome.map_err(|error| locked(directory, path, error)),
        }
    }
}

fn locked(directory: &Path, path: PathBuf, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked(directory.to_owned()),
        _ => StoreError::Io { path, error },
    }
}

/// The content of a data directory.
enum Found {
    Nothing,
    Log,
}

fn find(directory: &Path, storage: &dyn Storage) -> Result<Found, StoreError> {
    let (log, path) = (directory.join(LOG), directory.join(MARKER));
    let io = |error| StoreError::Io { path: path.clone(), error };
    let text = match files::read(storage, &path, 1024) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(error)),
    };
    let version = text.as_deref().map(marked_version);
    match (layout::exists(storage, &log).map_err(io)?, version) {
        // The files of a store exist. It is enough to check that the marker is unchanged.
        (true, None | Some(Some(VERSION))) => Ok(Found::Log),
        (false, None) => Ok(Found::Nothing),
        (false, Some(Some(VERSION))) => Err(recovery::damaged(&log.join(format::MANIFEST), 0, "the file is missing")),
        (false, Some(Some(found))) => Err(StoreError::Format { path: directory.to_owned(), found, expected: VERSION }),
        _ => Err(recovery::damaged(&path, 0, "the file does not name a known format")),
    }
}

/// Ensures that the directory contains a log of the current format, and opens it.
fn prepare(directory: &Path, options: &EmbeddedOptions) -> Result<OpenLog, StoreError> {
    let storage = &options.storage;
    let log = layout::directory(directory);
    let found = find(directory, storage.as_ref())?;
    let write_marker = || files::replace(storage.as_ref(), &directory.join(MARKER), marker(VERSION).as_bytes());
    match found {
        Found::Nothing => {
            // An earlier attempt may have made the directories, and failed before their names were durable.
            let made = layout::sync_names(storage.as_ref(), directory.ancestors());
            let made = made.and_then(|()| layout::create(storage, &log, Revision::EMPTY));
            let made = made.and_then(|()| storage.sync_dir(directory));
            let made = made.and_then(|()| write_marker().map_err(io::Error::from));
            made.map_err(|error| StoreError::Io { path: log.clone(), error })?;
        }
        Found::Log => {
            let marker = directory.join(MARKER);
            let written = storage.exists(&marker).and_then(|there| match there {
                // What a killed process has renamed is not necessarily durable.
                true => storage.sync_dir(directory),
                false => write_marker().map_err(io::Error::from),
            });
            written.map_err(|error| StoreError::Io { path: marker, error })?;
        }
    }
    warn_if_readable_by_others([directory, &log], storage.as_ref());
    OpenLog::open(storage.clone(), log, options.log())
}

/// Warns if others than the owner can read the data. Existing permissions are not changed.
fn warn_if_readable_by_others(directories: [&Path; 2], storage: &dyn Storage) {
    for directory in directories {
        if let Some(mode) = storage.has_access_for_others(directory) {
            let path = directory.display();
            warn!("{path} has mode {mode:04o}: others than its owner can get at what the store keeps; 0700 is right");
            return;
        }
    }
}

/// An observer that ignores everything.
struct NullObserver;

impl Observer for NullObserver {
    fn replay(&mut self, _: crate::api::Record, _: bool) {}
    fn publish(&mut self, _: &[crate::api::Record], _: Revision) {}
}

/// Answers all requests when the writer ends, for any reason.
struct Abandon<'a>(&'a Queue);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The writer thread. Compaction steps run when the queue is empty; otherwise one runs with each batch.
fn write(queue: &Queue, mut committer: Committer<Log>, fatal_signal: &FatalSignal, space: &DiskSpace) {
    let abandon = Abandon(queue);
    let mut compactions = Vec::new();
    // What was begun by an earlier run, and whether the disk has space.
    committer.tend();
    while !report_end(&committer, fatal_signal) {
        let wait = match committer.sleep() {
            _ if committer.wants_compaction() => Wait::No,
            Some(duration) => Wait::For(duration),
            None => Wait::Forever,
        };
        let Some(requests) = queue.take(wait) else { break };
        if requests.is_empty() {
            idle(&mut committer, &mut compactions);
        } else {
            let results = serve(&mut committer, requests, &mut compactions);
            // The end is reported before the answers are sent, so that the server stops before a client has them.
            report_end(&committer, fatal_signal);
            for (result, answer, _room) in results {
                space.count(&result);
                // A dropped receiver needs no answer.
                let _ = answer.send(result);
            }
        }
        committer.tend();
        let compacted = committer.compacted();
        for (_, answer) in compactions.extract_if(.., |(target, _)| *target <= compacted) {
            // A dropped receiver needs no answer.
            let _ = answer.send(Ok(compacted));
        }
    }
    // First everything is made durable and the engine stopped, then the last requests are answered.
    drop(committer);
    for (revision, answer) in compactions {
        Request::Compact { revision, answer }.close();
    }
    drop(abandon);
}

/// Reports that nothing can be written any more. Returns whether that is so.
fn report_end(committer: &Committer<Log>, fatal_signal: &FatalSignal) -> bool {
    let ended = committer.ended();
    if let Some(why) = &ended {
        fatal_signal.report(format!("the store cannot be written, and what is in it is unknown: {why}"));
    }
    ended.is_some()
}

type Compactions = Vec<(Revision, oneshot::Sender<Result<Revision, CommitError>>)>;

fn idle(committer: &mut Committer<Log>, compactions: &mut Compactions) {
    if !committer.wants_compaction() {
        committer.tick();
    } else if let Err(error) = committer.compact_step() {
        for (_, answer) in compactions.drain(..) {
            let _ = answer.send(Err(CommitError::Storage(error.clone())));
        }
    }
}

type Answers =
    Vec<(Result<Revision, CommitError>, oneshot::Sender<Result<Revision, CommitError>>, OwnedSemaphorePermit)>;

/// Executes requests. Returns the results of the transactions, with those who wait for them.
fn serve(committer: &mut Committer<Log>, requests: Vec<Request>, compactions: &mut Compactions) -> Answers {
    let mut transactions = Vec::with_capacity(requests.len());
    let mut waiting = Vec::with_capacity(requests.len());
    let mut wanted = Vec::new();
    for request in requests {
        match request {
            Request::Commit(commit) => {
                transactions.push(commit.transaction);
                waiting.push((commit.answer, commit.room));
            }
            Request::Compact { revision, answer } => wanted.push((revision, answer)),
        }
    }
    let results = if transactions.is_empty() { Vec::new() } else { committer.run(transactions) };
    // After the batch: a compaction may name a revision of the batch.
    compactions.extend(wanted.into_iter().map(|(revision, answer)| (committer.request_compaction(revision), answer)));
    results.into_iter().zip(waiting).map(|(result, (answer, room))| (result, answer, room)).collect()
}
