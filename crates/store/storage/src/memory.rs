//! The store without a disk: the same writer, run on the caller's thread, without persistence.
//! Guarantees the semantics of the embedded store except durability.
//! Must never keep a value: the observer has them.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::api::{CommitError, Observer, Revision, Started, Store, StoreError, Transaction};
use crate::clock::SystemClock;
use crate::committer::{Committer, NoLog, Replayed};
use crate::fatal_signal::{EndedFuture, FatalSignal};
use crate::key_index::{self, KeyIndex};
use crate::queue::{CommitFuture, CompactFuture};

/// A [`Store`] that loses everything when it is dropped. It starts empty, without files, and without a thread unless
/// it compacts itself.
#[derive(Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    fatal_signal: FatalSignal,
    /// Dropped with the store, which ends the compaction thread.
    _compaction: Option<Sender<()>>,
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

    /// An empty store that is compacted every `interval`, up to its revision of one interval before: superseded
    /// values can be read for one to two intervals.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn compacting(interval: Duration) -> std::io::Result<MemoryStore> {
        let (ends, ended) = channel();
        let store = MemoryStore { _compaction: Some(ends), ..MemoryStore::default() };
        let state = Arc::downgrade(&store.state);
        let compact = move || compact_every(interval, &ended, &state);
        std::thread::Builder::new().name("store-compaction".to_owned()).spawn(compact)?;
        Ok(store)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A panic while the lock was held came from the observer: its state is incomplete, so the store ends.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
        let mut state = poisoned.into_inner();
        *state = State::Closed;
        state
    })
}

/// Compacts up to the revision of the previous interval, until it is dropped.
fn compact_every(interval: Duration, ended: &Receiver<()>, state: &Weak<Mutex<State>>) {
    let mut before = None;
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let Some(state) = state.upgrade() else { return };
        if let State::Running(committer) = &mut *lock(&state) {
            if let Some(revision) = before {
                committer.request_compaction(revision);
                // Without a log nothing can fail, and one step reaches the target.
                let _ = committer.compact_step();
            }
            before = Some(committer.started().current);
        }
    }
}

impl Store for MemoryStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let mut state = self.state();
        if !matches!(*state, State::New) {
            return Err(StoreError::AlreadyStarted);
        }
        let key_index = KeyIndex::new(false, Revision::EMPTY);
        let replayed = Replayed { key_index, marks: Vec::new() };
        let committer = Committer::new(NoLog, observer, Arc::new(SystemClock), None, replayed);
        let started = committer.started();
        *state = State::Running(Box::new(committer));
        Ok(started)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        if let Err(error) = key_index::check(&transaction) {
            return CommitFuture::ready(Err(error));
        }
        let _guard = self.fatal_signal.guard("the store");
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

    fn makes_several_revisions(&self) -> bool {
        true
    }

    fn ended(&self) -> EndedFuture {
        self.fatal_signal.ended()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Expect, Record};
    use bytes::Bytes;

    /// Passes compactions to the observer.
    struct Compactions(Sender<Revision>);

    impl Observer for Compactions {
        fn replay(&mut self, _: Record, _: bool) {}

        fn publish(&mut self, _: &[Record], _: Revision) {}

        fn compacted(&mut self, revision: Revision) {
            // The test may have dropped the receiver.
            let _ = self.0.send(revision);
        }
    }

    #[test]
    fn it_compacts_itself_while_nothing_is_written() {
        let store = MemoryStore::compacting(Duration::from_millis(20)).unwrap();
        let (sender, receiver) = channel();
        store.start(Box::new(Compactions(sender))).unwrap();
        let put = |key: &str| store.commit(Transaction::one(key.into(), Expect::Any, Some(Bytes::new()))).wait();
        put("/a").unwrap();
        let last = put("/b").unwrap();
        let guard = Duration::from_secs(30);
        while receiver.recv_timeout(guard).expect("compacted") < last {}
        drop(store);
        assert!(receiver.recv_timeout(guard).is_err(), "nobody compacts a store that is gone");
    }
}
