//! The bounds of every queue, batch, key, value and cache of this crate, each with its reason.
//! Guarantees that no caller can make the store hold unbounded memory or hold up others without end.
//! Must never be read from input: these are constants.

/// Longest key in bytes. Kubernetes names end at 253 bytes, namespaces at 63, groups and resources at 253 each;
/// with prefix and slashes that stays below 1 KiB. The rest is for custom path segments.
pub const KEY_BYTES_MAX: usize = 4 * 1024;

/// Largest value in bytes. An object may be as large as etcd's default request, 1.5 MiB of protobuf; the same object in JSON can take six
/// times as much (control characters are written as `\u0001`), and lists of nearly empty items somewhat more.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most writes in one transaction. etcd allows 128; the objects that a new store begins with go in at once.
pub const TRANSACTION_WRITES_MAX: usize = 16 * 1024;

/// Most key and value bytes in one transaction; also what a batch may hold before it is closed.
pub const TRANSACTION_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most transactions that share one sync. Large enough for a slow disk, small enough that the first of them does
/// not wait noticeably for the last to be written.
pub const BATCH_TRANSACTIONS_MAX: usize = 512;

/// Bytes after which a batch takes no further transaction: what an engine writes in a few milliseconds.
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Units of [`QUEUE_UNIT_BYTES`] that may wait or be written at once: 64 MiB. Who comes later waits (backpressure).
pub const QUEUE_UNITS: usize = 64 * 1024;

/// Bytes that one unit of the queue stands for.
pub const QUEUE_UNIT_BYTES: usize = 1024;

/// Units that any transaction takes whatever its size, so that at most 16,384 transactions wait.
pub const QUEUE_UNITS_PER_TRANSACTION: usize = 4;

/// Dead log entries that one compaction step removes (more only if one transaction made more). A step of this size
/// adds well under a millisecond to the batch that carries it.
pub const COMPACTION_STEP_ENTRIES: usize = 512;

/// Seconds between two compactions if nothing else is said: kube-apiserver's default.
pub const RETENTION_SECONDS: u64 = 5 * 60;

/// Bytes of the engine's in-memory table before it is written out. Bounds memory: see the next.
pub const ENGINE_MEMTABLE_BYTES: u64 = 4 * 1024 * 1024;

/// Full in-memory tables that may wait to be written out; the writer waits for the disk when there are more. The
/// engine's own bound is one above.
pub const ENGINE_SEALED_MEMTABLES_MAX: usize = 3;

/// Bytes of the engine's block cache. All reads come from the layer above; the store is read once, at start.
pub const ENGINE_CACHE_BYTES: u64 = 1024 * 1024;

/// Files that the engine keeps open.
pub const ENGINE_OPEN_FILES: usize = 64;

/// Bytes of journal that the engine may keep; the engine allows no less.
pub const ENGINE_JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Threads of the engine that write out and merge tables. They sleep unless there is something to do. Of two, the one that
/// is kept for writing out spins while the other merges.
pub const ENGINE_WORKERS: usize = 1;

/// Bytes by which it is found out whether a disk has room: more than what is left in the last block of a file.
pub const PROBE_BYTES: usize = 64 * 1024;

/// Log entries that are handed on together at start: enough that handing over costs nothing.
pub const REPLAY_BATCH: usize = 128;

/// Batches that may be read ahead of those who take stock of them.
pub const REPLAY_BATCHES: usize = 4;
