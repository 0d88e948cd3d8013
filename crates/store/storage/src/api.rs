//! The words of the store: keys, revisions, transactions, records, the `Store` and `Observer` traits, the errors.
//! Guarantees nothing by itself; the contract that each store must keep is written here.
//! Must never name an engine: whoever uses these types cannot tell where the bytes are kept.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::ending::Ended;
use crate::queue::{CommitFuture, CompactFuture};
use crate::transform::{TransformError, Unreadable};
use crate::value_codec::ValueCodec;

/// A state of the whole store. One counter, one step per transaction (etcd's mod revision).
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a store that nothing was ever written to.
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

/// The name under which a value is kept, such as `/registry/pods/default/web`. Shared, not copied.
pub type Key = Arc<str>;

/// What must hold of a key for its write, and with it the whole transaction, to take place.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Any,
    /// The key has no value.
    Absent,
    /// The key has a value and its last change made this revision.
    At(Revision),
}

/// One change of one key.
#[derive(Debug, Clone)]
pub struct Write {
    /// The key that changes.
    pub key: Key,
    /// The precondition, checked before any write of the same transaction takes place.
    pub expect: Expect,
    /// The new value; `None` deletes the key.
    pub value: Option<Bytes>,
    /// The new value as the store keeps it, where that [is another form](Store::form) and it is at hand.
    pub stored: Option<Bytes>,
}

impl Write {
    /// Gives the key a value.
    #[must_use]
    pub fn put(key: Key, expect: Expect, value: Bytes) -> Write {
        Write { key, expect, value: Some(value), stored: None }
    }

    /// Deletes the key.
    #[must_use]
    pub fn delete(key: Key, expect: Expect) -> Write {
        Write { key, expect, value: None, stored: None }
    }
}

/// Writes that take place together or not at all, under one revision. Each key may occur once.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// The writes, in the order in which their records are published.
    pub writes: Vec<Write>,
}

impl Transaction {
    /// A transaction of one write.
    #[must_use]
    pub fn one(key: Key, expect: Expect, value: Option<Bytes>) -> Transaction {
        Transaction { writes: vec![Write { key, expect, value, stored: None }] }
    }

    /// Checks the transaction against the bounds that hold whatever the store contains, and tells its size in bytes.
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
    /// The key that changed. The same allocation as the store's own.
    pub key: Key,
    /// The new value; `None` is a tombstone: the key was deleted.
    pub value: Option<Bytes>,
}

/// Where a store stands after it has replayed what it kept.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Started {
    /// History begins after this revision: the state here and at each later revision was replayed.
    pub compacted: Revision,
    /// The revision of the last transaction.
    pub current: Revision,
}

/// Receives what is durable. Called by one thread at a time, in the order of revisions, without gaps.
pub trait Observer: Send + 'static {
    /// A record that was kept. First, with `history` false, the values of the keys as they were at the compaction
    /// revision (never a tombstone); then, with `history` true, each change made after it, tombstones included. A value
    /// given here may be a part of something larger: keep a copy of it, not it.
    fn replay(&mut self, record: Record, history: bool);

    /// The replay is over: everything that was kept has been given, and the store stands here. Called once.
    fn replayed(&mut self, _started: Started) {}

    /// The records of one or more whole transactions, in order; `revision` is the last one's. They are durable,
    /// and nobody has been answered yet: what this call makes visible is seen by every reader that starts after an
    /// answer. Runs on the path of every write, so it must be short and must not call back into the store.
    fn publish(&mut self, records: &[Record], revision: Revision);

    /// History has a gap that nobody can tell any more: `records` are the values of all keys as they are at
    /// `revision`, and history begins anew after it; that can be an earlier one than was published last, where the store
    /// was put back. Only stores that others write too ever call this.
    fn replace(&mut self, _records: Vec<Record>, _revision: Revision) {}

    /// A value is kept that cannot be read; what was there under its key before is gone. Called in the place of
    /// `replay`, before the `publish` that would have had it, or after the `replace`.
    fn unreadable(&mut self, _unreadable: Unreadable) {}

    /// What was unreadable can be read now. Called between two publications, out of the order of revisions.
    fn restored(&mut self, _records: Vec<Record>) {}

    /// The store was compacted up to this revision: no earlier state can be told any more. Called after `replayed` and
    /// between two publications. Who shows history gives it up to here too, so that all servers over one store agree.
    fn compacted(&mut self, _revision: Revision) {}
}

/// A durable, ordered, transactional map with a short history.
pub trait Store: Send + Sync + 'static {
    /// Replays everything retained to `observer`, and from then on publishes every durable batch to it before its
    /// committers are answered. Called once, before the first commit; blocks while it reads.
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError>;

    /// Hands a transaction to the writer. Unless the queue is full it is in line when this returns, in the order of
    /// calls, and takes place even if the future is dropped. If the queue is full the future waits for room.
    fn commit(&self, transaction: Transaction) -> CommitFuture;

    /// Forgets history up to and with `revision` (at most the current one): values that were superseded and keys
    /// that were deleted by then. Resolves, when it is no more part of the history, to the revision after which history
    /// now begins (a disk's space is given back some time later); that is later than asked for if it already was. The embedded store also does this by itself.
    fn compact(&self, revision: Revision) -> CompactFuture;

    /// Whether the value under this key is kept otherwise than a write would keep it now, so that writing the same
    /// value again is no waste: it was sealed with a key that is being rotated out.
    fn is_stale(&self, key: &str) -> bool {
        self.inner().is_some_and(|inner| inner.is_stale(key))
    }

    /// The store that this one stands before, if it does. It answers whatever has a default here.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Carries out what waits, makes everything durable, stops the writer and gives the data directory free. Blocks
    /// meanwhile. Later calls are answered [`CommitError::Closed`]. Closing twice is harmless.
    fn close(&self);

    /// Resolves, to why, if the store ends although nobody closed it: nothing is written or published any more, so who
    /// shows what the observer knows would go on showing it for ever.
    fn ended(&self) -> Ended {
        self.inner().map_or_else(|| Box::pin(std::future::pending()) as Ended, Store::ended)
    }

    /// In a store that others write too: resolves when the observer has been given everything that anybody was
    /// acknowledged before this call, to the revision that the store had reached. `None`: that is always so.
    fn catch_up(&self) -> Option<CommitFuture> {
        self.inner()?.catch_up()
    }

    /// Whether others may write to it too, so that there is something to [catch up](Store::catch_up) with.
    fn is_shared(&self) -> bool {
        self.inner().is_some_and(Store::is_shared)
    }

    /// Whether keys of a limited lifetime go by themselves.
    fn expires(&self) -> bool {
        self.inner().is_some_and(Store::expires)
    }

    /// The form that values are kept in, where that is another than they are written in.
    fn form(&self) -> Option<&dyn ValueCodec> {
        self.inner()?.form()
    }

    /// How many writes a transaction may have.
    fn transaction_writes_max(&self) -> usize {
        self.inner().map_or(crate::limits::TRANSACTION_WRITES_MAX, Store::transaction_writes_max)
    }

    /// Tells at once, and again and again, how long the store took to answer, or why it did not, where it can be out of
    /// reach.
    fn on_health(&self, tell: Box<dyn Fn(Result<Duration, String>) + Send + Sync>) {
        if let Some(inner) = self.inner() {
            inner.on_health(tell);
        }
    }
}

/// Why a transaction did not take place.
#[derive(Debug, Clone)]
pub enum CommitError {
    /// A precondition did not hold. Nothing of the transaction was written.
    Conflict {
        /// The first write whose precondition failed.
        index: usize,
        /// Its key.
        key: Key,
        /// The key's revision at that moment; `None` if it has no value.
        actual: Option<Revision>,
    },
    /// The transaction is malformed: a bound of [`crate::limits`] or a key that occurs twice. The text names it.
    Invalid(String),
    /// The store was not started or has been closed. The transaction was not written.
    Closed,
    /// The value could not be sealed. The transaction was not written.
    Transform(TransformError),
    /// The disk failed. Nothing was published; whether the transaction will be there after a restart is unknown.
    Storage(Arc<dyn Error + Send + Sync>),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Conflict { key, actual: Some(actual), .. } => {
                write!(f, "precondition failed: {key} is at revision {actual}")
            }
            CommitError::Conflict { key, actual: None, .. } => write!(f, "precondition failed: {key} does not exist"),
            CommitError::Invalid(what) => write!(f, "invalid transaction: {what}"),
            CommitError::Closed => f.write_str("the store is closed"),
            CommitError::Transform(error) => error.fmt(f),
            CommitError::Storage(error) => write!(f, "the store could not be written: {error}"),
        }
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CommitError::Storage(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

/// Why a store could not be opened or started.
#[derive(Debug)]
pub enum StoreError {
    /// Another process (or another store of this one) holds the data directory.
    Locked(PathBuf),
    /// The directory holds data of a format that this program does not read.
    Format {
        /// The data directory.
        path: PathBuf,
        /// The version found there.
        found: u32,
        /// The version that this program writes.
        expected: u32,
    },
    /// The directory holds something that this store did not write, or that was damaged since.
    Corrupt {
        /// The data directory.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// A file is not what was written to it: what was acknowledged may be missing or changed there.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What does not fit.
        detail: String,
    },
    /// The operating system refused.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its words.
        error: std::io::Error,
    },
    /// `start` was called a second time, or after `close`.
    AlreadyStarted,
    /// A store elsewhere could not be reached or refused; its words.
    Remote(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Locked(path) => {
                write!(f, "data directory {} is in use by another process", path.display())
            }
            StoreError::Format { path, found, expected } => write!(
                f,
                "data directory {} has format version {found}, this program reads version {expected}",
                path.display()
            ),
            StoreError::Corrupt { path, detail } => {
                write!(f, "data directory {} is damaged: {detail}", path.display())
            }
            StoreError::Damaged { file, offset, detail } => write!(
                f,
                "store file {} is damaged at offset {offset}: {detail}; nothing was changed, and writes that were \
                 acknowledged may be lost there: put the data directory back from a copy, or make a copy of it and ask for help",
                file.display()
            ),
            StoreError::Io { path, error } => write!(f, "{}: {error}", path.display()),
            StoreError::AlreadyStarted => f.write_str("the store was already started"),
            StoreError::Remote(why) => f.write_str(why),
        }
    }
}

impl StoreError {
    /// The same error of a directory of which `copy` is a copy.
    pub(crate) fn of(self, copy: &std::path::Path, original: &std::path::Path) -> StoreError {
        let place = |path: PathBuf| path.strip_prefix(copy).map_or(path.clone(), |rest| original.join(rest));
        match self {
            StoreError::Locked(path) => StoreError::Locked(place(path)),
            StoreError::Format { path, found, expected } => StoreError::Format { path: place(path), found, expected },
            StoreError::Corrupt { path, detail } => StoreError::Corrupt { path: place(path), detail },
            StoreError::Damaged { file, offset, detail } => StoreError::Damaged { file: place(file), offset, detail },
            StoreError::Io { path, error } => StoreError::Io { path: place(path), error },
            other => other,
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StoreError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
