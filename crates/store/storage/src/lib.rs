//! The durable store: transactions over keys and opaque bytes, one revision per transaction, history for a while.
//! Guarantees that an acknowledged transaction survives the death of the process and that it was published before.
//! Must never look into a value, know a kind, or let a reader see a revision that is not durable.
//!
//! # How it works
//!
//! ```text
//!  commit() ─▶ bounded queue ─▶ one writer: check preconditions ─▶ persist (one sync) ─▶ publish ─▶ answer
//!                               a whole batch at a time            EmbeddedStore only    Observer   CommitFuture
//! ```
//!
//! Two stores share that writer: [`EmbeddedStore`] keeps a log on disk, [`MemoryStore`] keeps nothing but what the
//! preconditions need. What the store itself holds in memory is the key and the revision of each live object, some
//! 50 bytes each (the key is shared with whoever keeps the [`Record`]); values live with the observer and on disk.
//! [`TranscodingStore`] stands before a store that keeps values in another form than its users.
//!
//! # What a revision means
//!
//! As in etcd: one counter for the whole store, one step per transaction that changes something. An empty store is
//! at revision 1, so the first transaction makes revision 2. A transaction that changes nothing (it only deletes
//! keys that are not there) makes no revision and answers the current one.

mod api;
mod clock;
mod committer;
mod embedded;
mod encrypted;
mod ending;
mod files;
mod key_index;
pub mod limits;
mod memory;
mod queue;
mod retention;
mod transform;
mod value_codec;

pub use api::{CommitError, Expect, Key, Observer, Record, Revision, Started, Store, StoreError, Transaction, Write};
pub use clock::{Clock, SystemClock};
pub use embedded::{EmbeddedOptions, EmbeddedStore, format, import};
pub use encrypted::EncryptedStore;
pub use ending::{Ended, Ending, Guard};
pub use files::{OsStorage, Storage, StorageFile};
pub use memory::MemoryStore;
pub use queue::{CommitFuture, CompactFuture};
pub use transform::{Changed, Opened, Seal, TransformError, Transformer, Unreadable, UnreadableReason};
pub use value_codec::{TranscodingStore, ValueCodec, ValueCodecError};
