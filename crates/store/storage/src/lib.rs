//! The durable store: transactions over keys and opaque bytes, one revision per transaction, with a limited history.
//! Guarantees that an acknowledged transaction survives the death of the process and was published before.
//! Must never look into a value, know a kind, or let a reader see a revision that is not durable.
//!
//! # How it works
//!
//! ```text
//!  commit() ─▶ bounded queue ─▶ one writer: check preconditions ─▶ persist (one sync) ─▶ publish ─▶ answer
//!                               a whole batch at a time            EmbeddedStore only    Observer   CommitFuture
//! ```
//!
//! Two stores share that writer: [`EmbeddedStore`] writes a log to disk, [`MemoryStore`] keeps only what preconditions
//! need. In memory, the store keeps the key and the revision of each live object, about 50 bytes each (the key is shared
//! with the holder of the [`Record`]); values are kept by the observer and on disk. [`TranscodingStore`] wraps a store that
//! keeps values in another encoding; [`PartitionedStore`] keeps some keys in other stores.
//!
//! # Revisions
//!
//! As in etcd: one counter for the whole store, one step per transaction that changes something. An empty store is
//! at revision 1, so the first transaction makes revision 2. A transaction that changes nothing (it only deletes
//! absent keys) makes no revision and returns the current one.

mod api;
mod clock;
mod committer;
mod embedded;
mod encrypted;
mod fatal_signal;
mod files;
mod key_index;
pub mod limits;
mod memory;
mod partitioned;
mod queue;
mod retention;
mod space;
mod transform;
mod value_codec;

pub use api::{
    CommitError, Condition, Expect, Key, Observer, Record, Revision, Started, Store, StoreError, Transaction, Write,
};
pub use clock::{Clock, SystemClock};
pub use embedded::{EmbeddedOptions, EmbeddedStore, format, import};
pub use encrypted::EncryptedStore;
pub use fatal_signal::{EndedFuture, FatalSignal, Guard};
pub use files::{OsStorage, Storage, StorageFile};
pub use memory::MemoryStore;
pub use partitioned::{Partition, PartitionedStore};
pub use queue::{CommitFuture, CompactFuture};
pub use space::{DiskSpace, NoSpace};
pub use transform::{
    Changed, DecryptedValue, KeyFingerprint, TransformError, Transformer, Unreadable, UnreadableReason,
};
pub use value_codec::{TranscodingStore, ValueCodec, ValueCodecError};
