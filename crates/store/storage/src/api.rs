//! The interface of the store: keys, revisions, transactions, records, the `Store` and `Observer` traits, the errors.
//! Guarantees nothing by itself; it defines the contract that each store must keep.
//! Must never name an engine: users of these types do not depend on where the bytes are stored.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::fatal_signal::EndedFuture;
use crate::partitioned::Partition;
use crate::queue::{CommitFuture, CompactFuture};
use crate::space::DiskSpace;
use crate::transform::{TransformError, Unreadable};
use crate::value_codec::ValueCodec;

/// A state of the whole store. One counter, one step per transaction (etcd's mod revision).
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a store that was never written to.
    pub const EMPTY: Revision = Revision(1);

    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Revision {
        Revision(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key of a value, such as `/registry/pods/default/web`. Shared, not copied.
pub type Key = Arc<str>;

/// The precondition on a key. If it does not hold, no write of the transaction takes place.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Expect {
    /// No precondition.
    Any,
    /// The key has no value.
    Absent,
    /// The key has a value, last changed at this revision.
    At(Revision),
}

/// One change of one key.
#[derive(Debug, Clone)]
pub struct Write {
    /// The key that changes.
    pub key: Key,
    /// The precondition. All preconditions of a transaction are checked before any of its writes takes place.
    pub expect: Expect,
    /// The new value; `None` deletes the key.
    pub value: Option<Bytes>,
    /// The new value in the store's encoding, if [the encoding differs](Store::value_codec) and the caller has it.
    pub stored: Option<Bytes>,
    /// Whether the write and those after it have a revision of their own, the next after that of the writes before it.
    /// Only for [stores that can](Store::makes_several_revisions).
    pub begins_revision: bool,
}

impl Write {
    /// Sets the value of the key.
    #[must_use]
    pub fn put(key: Key, expect: Expect, value: Bytes) -> Write {
        Write { key, expect, value: Some(value), stored: None, begins_revision: false }
    }

    /// Deletes the key.
    #[must_use]
    pub fn delete(key: Key, expect: Expect) -> Write {
        Write { key, expect, value: None, stored: None, begins_revision: false }
    }
}

/// What must hold of a key that a transaction does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The key.
    pub key: Key,
    /// The revision at which it was last changed.
    pub at: Revision,
}

/// Writes that take place together or not at all, under one revision unless a write [begins another](Write::begins_revision).
/// Each key may occur once.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// The writes, in the order in which their records are published.
    pub writes: Vec<Write>,
    /// What must hold besides the preconditions of the writes.
    pub conditions: Vec<Condition>,
}

impl Transaction {
    /// A transaction of writes, without conditions on other keys.
    #[must_use]
    pub fn of(writes: Vec<Write>) -> Transaction {
        Transaction { writes, conditions: Vec::new() }
    }

    /// A transaction of one write.
    #[must_use]
    pub fn one(key: Key, expect: Expect, value: Option<Bytes>) -> Transaction {
        Transaction::of(vec![Write { key, expect, value, stored: None, begins_revision: false }])
    }

    /// Checks the transaction against the bounds that do not depend on the content of the store, and returns its size
    /// in bytes.
    ///
    /// # Errors
    /// A bound is exceeded, or a key occurs twice.
    pub fn check(&self) -> Result<usize, CommitError> {
        crate::key_index::check(self)
    }
}

/// One durable change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The revision that the change's transaction made.
    pub revision: Revision,
    /// The key that changed. The same allocation as in the store.
    pub key: Key,
    /// The new value; `None` is a tombstone: the key was deleted.
    pub value: Option<Bytes>,
}

/// The state of a store after its replay.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Started {
    /// History begins after this revision: the state at this and at each later revision was replayed.
    pub compacted: Revision,
    /// The revision of the last transaction.
    pub current: Revision,
}

/// Receives durable changes. Called by one thread at a time, in the order of revisions, without gaps.
pub trait Observer: Send + 'static {
    /// A stored record. First, with `history` false, the values of the keys at the compaction revision (never a
    /// tombstone); then, with `history` true, each later change, tombstones included. A value may be a slice of a
    /// larger buffer: keep a copy instead of the slice.
    fn replay(&mut self, record: Record, history: bool);

    /// The replay is complete, and the store is at this state. Called once.
    fn replayed(&mut self, _started: Started) {}

    /// The records of one or more whole transactions, in order; `revision` is that of the last one. They are durable
    /// but not acknowledged yet: what this call makes visible is seen by every reader that starts after an
    /// acknowledgement. It is on the path of every write, so it must be fast and must not call the store.
    fn publish(&mut self, records: &[Record], revision: Revision);

    /// History has an unrecoverable gap: `records` are the values of all keys at `revision`, and history begins anew
    /// after it. The revision may be lower than the last published one, if the store was restored. Called only by
    /// stores that other processes write too.
    fn replace(&mut self, _records: Vec<Record>, _revision: Revision) {}

    /// A stored value cannot be read; the previous value of its key is superseded. Called instead of `replay`, before
    /// the `publish` that would have contained it, or after the `replace`.
    fn unreadable(&mut self, _unreadable: Unreadable) {}

    /// Values that were unreadable can be read now. Called between two publications, not in the order of revisions.
    fn restored(&mut self, _records: Vec<Record>) {}

    /// The store was compacted up to this revision: earlier states are no longer available. Called after `replayed`
    /// and between two publications. Observers that serve history drop it up to this revision too, so that all
    /// servers on one store agree.
    fn compacted(&mut self, _revision: Revision) {}
}

/// A durable, ordered, transactional map with a short history.
pub trait Store: Send + Sync + 'static {
    /// Replays everything retained to `observer`, and then publishes every durable batch to it before the commits are
    /// acknowledged. Called once, before the first commit; blocks while it reads.
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError>;

    /// Sends a transaction to the writer. Unless the queue is full, the transaction is enqueued when this returns, in
    /// the order of calls, and takes place even if the future is dropped. If the queue is full, the future waits for
    /// room.
    fn commit(&self, transaction: Transaction) -> CommitFuture;

    /// Drops history up to and including `revision` (at most the current one): superseded values and deleted keys.
    /// Resolves to the revision after which history now begins, which is later than requested if it already was; disk
    /// space is freed later. The embedded store also compacts by itself.
    fn compact(&self, revision: Revision) -> CompactFuture;

    /// Whether the stored value of this key is encrypted with a key that is being rotated out, so that writing the
    /// same value again is useful.
    fn is_stale(&self, key: &str) -> bool {
        self.inner().is_some_and(|inner| inner.is_stale(key))
    }

    /// The store that this one wraps, if any. It implements the methods that have a default here.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Completes enqueued requests, makes everything durable, stops the writer and unlocks the data directory. Blocks
    /// meanwhile. Later calls return [`CommitError::Closed`]. Closing twice has no effect.
    fn close(&self);

    /// Resolves with the reason if the store ends without being closed. After that nothing is written or published,
    /// so that users of the observer's data would serve stale data forever.
    fn ended(&self) -> EndedFuture {
        self.inner().map_or_else(|| Box::pin(std::future::pending()) as EndedFuture, Store::ended)
    }

    /// In a store that other processes write too: resolves, to the revision of the store that has the key, when that
    /// store's observer has received everything that was acknowledged to any client before this call. `None`: this
    /// always holds.
    fn catch_up(&self, key: &str) -> Option<CommitFuture> {
        self.inner()?.catch_up(key)
    }

    /// The keys that are in other stores, which count their own revisions.
    fn partitions(&self) -> &[Partition] {
        self.inner().map_or(&[], Store::partitions)
    }

    /// Whether other processes may write to the store, so that [`Store::catch_up`] is needed.
    fn is_shared(&self) -> bool {
        self.inner().is_some_and(Store::is_shared)
    }

    /// Whether the store deletes keys with a limited lifetime by itself.
    fn expires(&self) -> bool {
        self.inner().is_some_and(Store::expires)
    }

    /// The encoding of stored values, if it differs from that of written ones.
    fn value_codec(&self) -> Option<&dyn ValueCodec> {
        self.inner()?.value_codec()
    }

    /// How many writes a transaction may have.
    fn transaction_writes_max(&self) -> usize {
        self.inner().map_or(crate::limits::TRANSACTION_WRITES_MAX, Store::transaction_writes_max)
    }

    /// The space of its disk, if it has one.
    fn space(&self) -> Option<Arc<DiskSpace>> {
        self.inner()?.space()
    }

    /// Whether a transaction may make several revisions, which are durable and published together. The answer is the last.
    fn makes_several_revisions(&self) -> bool {
        self.inner().is_some_and(Store::makes_several_revisions)
    }

    /// Calls `report` now and after each health check of a remote store, with the duration of the check or the error.
    fn on_health(&self, report: Box<dyn Fn(Result<Duration, String>) + Send + Sync>) {
        if let Some(inner) = self.inner() {
            inner.on_health(report);
        }
    }
}

/// Why a transaction failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// A precondition did not hold. Nothing of the transaction was written.
    #[error("precondition failed: {key} {}", state(*actual))]
    Conflict {
        /// The first write whose precondition failed.
        index: usize,
        /// Its key.
        key: Key,
        /// The key's revision at that moment; `None` if it has no value.
        actual: Option<Revision>,
    },
    /// A condition on another key did not hold, while all preconditions did. Nothing of the transaction was written.
    #[error("condition failed: {key} {}", state(*actual))]
    ConditionFailed {
        /// The key.
        key: Key,
        /// The key's revision at that moment; `None` if it has no value.
        actual: Option<Revision>,
    },
    /// The transaction violates a bound of [`crate::limits`], or a key occurs twice. The text names it.
    #[error("invalid transaction: {0}")]
    Invalid(String),
    /// The store was not started or has been closed. The transaction was not written.
    #[error("the store is closed")]
    Closed,
    /// The value could not be encrypted. The transaction was not written.
    #[error("{0}")]
    Transform(TransformError),
    /// The store could not be written: it is [full](crate::NoSpace), or the disk failed. The transaction was not written,
    /// and does not appear later. A store that other processes write too may return this without knowing.
    #[error("the store could not be written: {0}")]
    Storage(#[source] Arc<dyn Error + Send + Sync>),
    /// The store has [ended](Store::ended) while it wrote the transaction. Nothing was published; whether the transaction
    /// will be present after a restart is unknown.
    #[error("the store has failed, and may have written this or not: {0}")]
    Unknown(#[source] Arc<dyn Error + Send + Sync>),
}

/// The state of a key, for the message of a failed precondition.
fn state(actual: Option<Revision>) -> String {
    actual.map_or_else(|| "does not exist".to_owned(), |revision| format!("is at revision {revision}"))
}

/// Why a store could not be opened or started.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process (or another store of this process) has locked the data directory.
    #[error("data directory {} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// The directory contains a format that this program does not read.
    #[error("data directory {} has format version {found}, this program reads version {expected}", path.display())]
    Format {
        /// The data directory.
        path: PathBuf,
        /// The version of the directory.
        found: u32,
        /// The version that this program writes.
        expected: u32,
    },
    /// The directory contains files that this store did not write, or that are damaged.
    #[error("data directory {} is damaged: {detail}", path.display())]
    Corrupt {
        /// The data directory.
        path: PathBuf,
        /// The inconsistency.
        detail: String,
    },
    /// A file differs from what was written to it: acknowledged writes may be missing or changed.
    #[error(
        "store file {} is damaged at offset {offset}: {detail}; nothing was changed, and writes that were acknowledged may be \
         lost there: put the data directory back from a copy, or make a copy of it and ask for help",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The offset in the file.
        offset: u64,
        /// The inconsistency.
        detail: String,
    },
    /// The operating system returned an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        #[source]
        error: std::io::Error,
    },
    /// `start` was called a second time, or after `close`.
    #[error("the store was already started")]
    AlreadyStarted,
    /// A remote store could not be reached or returned an error.
    #[error("{0}")]
    Remote(String),
}
