//! The store without a disk: the same writer, run in the caller's thread, with nothing to persist.
//! Guarantees the semantics of the embedded store but durability.
//! Must never keep a value: the observer has them all.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{CommitError, Observer, Revision, Started, Store, StoreError, Transaction};
use crate::clock::SystemClock;
use crate::committer::{Committer, NoLog, Replayed};
use crate::ending::{Ended, Ending};
use crate::ledger::{self, Ledger};
use crate::queue::{CommitFuture, CompactFuture};

/// A [`Store`] that forgets everything when it is dropped. Starts empty, without a thread and without a file.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    ending: Ending,
}

#[derive(Default)]
enum State {
    #[default]
    New,
    Running(Box<Committer<NoLog>>),
    Closed,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// A panic while the lock was held came from the observer: its view is incomplete, so the store ends.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut state = poisoned.into_inner();
            *state = State::Closed;
            state
        })
    }
}

impl Store for MemoryStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let mut state = self.state();
        if !matches!(*state, State::New) {
            return Err(StoreError::AlreadyStarted);
        }
        let ledger = Ledger::new(false, Revision::EMPTY);
        let replayed = Replayed { ledger, marks: Vec::new() };
        let committer = Committer::new(NoLog, observer, Arc::new(SystemClock), None, replayed);
        let started = committer.started();
        *state = State::Running(Box::new(committer));
        Ok(started)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        if let Err(error) = ledger::check(&transaction) {
            return CommitFuture::ready(Err(error));
        }
        let _guard = self.ending.guard("the store");
        let State::Running(committer) = &mut *self.state() else {
            return CommitFuture::ready(Err(CommitError::Closed));
        };
        CommitFuture::ready(committer.run(vec![transaction]).pop().unwrap_or(Err(CommitError::Closed)))
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        let State::Running(committer) = &mut *self.state() else {
            return CompactFuture::ready(Err(CommitError::Closed));
        };
        committer.request_compaction(revision);
        // Without a log a single step always reaches the target.
        CompactFuture::ready(committer.compact_step().map(|()| committer.compacted()).map_err(CommitError::Storage))
    }

    fn close(&self) {
        *self.state() = State::Closed;
    }

    fn ended(&self) -> Ended {
        self.ending.ended()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}
