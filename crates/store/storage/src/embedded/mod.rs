//! The durable store of one machine: a directory, one writer thread, one sync per batch.
//! Guarantees that what was acknowledged is there after a kill at any instant, and that one process at a time writes.
//! Must never publish or acknowledge what is not synced.

mod engine;
pub mod format;
mod import;

pub use import::import;

use std::fmt;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::api::{CommitError, Observer, Revision, Started, Store, StoreError, Transaction};
use crate::clock::{Clock, SystemClock};
use crate::committer::Committer;
use crate::ending::{Ended, Ending};
use crate::limits;
use crate::queue::{CommitFuture, CompactFuture, Queue, Request, Wait};
use engine::Engine;

/// How an [`EmbeddedStore`] behaves.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// How long history is kept. `None` keeps it until [`Store::compact`] is called.
    pub retention: Option<Duration>,
    /// What time it is, for `retention`.
    pub clock: Arc<dyn Clock>,
    /// Bytes that the engine gathers in memory before it writes a table. Holds for a new store; one that exists
    /// keeps what it was made with.
    pub memtable_bytes: u64,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            retention: Some(Duration::from_secs(limits::RETENTION_SECONDS)),
            clock: Arc::new(SystemClock),
            memtable_bytes: limits::ENGINE_MEMTABLE_BYTES,
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
    ending: Ending,
}

enum State {
    /// Open, not yet read.
    Opened(Box<Engine>, File),
    /// The writer has the engine. The file is the lock on the directory.
    Running(JoinHandle<()>, File),
    Closed,
}

impl EmbeddedStore {
    /// Opens the store in `directory`, which is made if it does not exist, and takes the directory's lock.
    pub fn open(directory: &Path, options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let lock = lock(directory)?;
        import::check_finished(directory)?;
        let engine = Engine::open(directory.to_owned(), options.memtable_bytes)?;
        let state = Mutex::new(State::Opened(Box::new(engine), lock));
        Ok(EmbeddedStore { queue: Arc::new(Queue::new()), options, state, ending: Ending::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whatever panicked under the lock had taken the state out: it is `Closed` then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for EmbeddedStore {
    fn start(&self, mut observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let mut state = self.state();
        let (mut engine, lock) = match std::mem::replace(&mut *state, State::Closed) {
            State::Opened(engine, lock) => (engine, lock),
            other => {
                *state = other;
                return Err(StoreError::AlreadyStarted);
            }
        };
        let replayed = engine.replay(observer.as_mut())?;
        let retention_seconds = self.options.retention.map(|retention| retention.as_secs());
        let committer = Committer::new(*engine, observer, self.options.clock.clone(), retention_seconds, replayed);
        let started = committer.started();
        let (queue, guard) = (self.queue.clone(), self.ending.guard("the store's writer"));
        let run = move || {
            let _guard = guard;
            write(&queue, committer);
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

    fn ended(&self) -> Ended {
        self.ending.ended()
    }

    fn close(&self) {
        self.queue.close();
        let state = std::mem::replace(&mut *self.state(), State::Closed);
        if let State::Running(writer, lock) = state {
            // The writer itself may drop the last handle, inside the observer; it cannot wait for itself.
            if writer.thread().id() != std::thread::current().id() {
                // A panic of the observer has been reported by its thread; the store is closed either way.
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

/// Makes the directory and takes its lock, which the operating system gives up with the process.
fn lock(directory: &Path) -> Result<File, StoreError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| StoreError::Io { path, error }
    };
    std::fs::create_dir_all(directory).map_err(io(directory))?;
    let path = directory.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(directory.to_owned())),
        Err(TryLockError::Error(error)) => Err(io(&path)(error)),
    }
}

/// Answers everyone when the writer ends, however it ends.
struct Abandon<'a>(&'a Queue);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The writer thread. Compaction steps run when nothing waits, and one rides along with each batch otherwise.
fn write(queue: &Queue, mut committer: Committer<Engine>) {
    let abandon = Abandon(queue);
    let mut compactions = Vec::new();
    loop {
        let wait = match committer.sleep() {
            _ if committer.wants_compaction() => Wait::No,
            Some(duration) => Wait::For(duration),
            None => Wait::Forever,
        };
        let Some(requests) = queue.take(wait) else { break };
        if requests.is_empty() {
            idle(&mut committer, &mut compactions);
        } else {
            serve(&mut committer, requests, &mut compactions);
        }
        let compacted = committer.compacted();
        for (_, answer) in compactions.extract_if(.., |(target, _)| *target <= compacted) {
            // Who no longer listens need not be told.
            let _ = answer.send(Ok(compacted));
        }
    }
    // First everything is on disk and the engine is down, then the last ones are answered.
    drop(committer);
    drop(abandon);
}

type Compactions = Vec<(Revision, oneshot::Sender<Result<Revision, CommitError>>)>;

fn idle(committer: &mut Committer<Engine>, compactions: &mut Compactions) {
    if !committer.wants_compaction() {
        committer.tick();
    } else if let Err(error) = committer.compact_step() {
        for (_, answer) in compactions.drain(..) {
            let _ = answer.send(Err(CommitError::Storage(error.clone())));
        }
    }
}

fn serve(committer: &mut Committer<Engine>, requests: Vec<Request>, compactions: &mut Compactions) {
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
    if !transactions.is_empty() {
        for (result, (answer, _room)) in committer.run(transactions).into_iter().zip(waiting) {
            let _ = answer.send(result);
        }
    }
    // After the batch: a compaction may name a revision that the batch made.
    compactions.extend(wanted.into_iter().map(|(revision, answer)| (committer.request_compaction(revision), answer)));
}
