//! The bounds of every queue, batch, key, value and cache of this crate, each with its reason.
//! Guarantees that no caller can make the store hold unbounded memory or hold up others without end.
//! Must never be read from input: these are constants.

use std::time::Duration;

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

/// Bytes after which the log begins a new segment. Space is given back by segments, and the last one is read again and
/// maybe written again after a power loss; small ones make many files.
pub const SEGMENT_BYTES: u64 = 32 * 1024 * 1024;

/// The part of a segment that is written ahead with zeros, so that most syncs leave the length of the file as it is: 512 KiB.
pub const FILL_PART: u64 = 64;

/// Bytes of a manifest that are read: that of a store of some 100,000 segments.
pub const MANIFEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Bytes of a frame buffer that is kept for the next frame.
pub const BUFFER_BYTES: usize = 1024 * 1024;

/// Bytes of a frame of a rewritten segment, and the last source frame.
pub const REWRITE_FRAME_BYTES: usize = 128 * 1024;

/// Bytes of a rewritten segment that are synced together, so that the writer's syncs never wait for more.
pub const REWRITE_SYNC_BYTES: u64 = 1024 * 1024;

/// Small segments in a row that are made one.
pub const SMALL_SEGMENTS: usize = 4;

/// How long an idle writer waits until it looks for the end of a rewrite.
pub const REWRITE_POLL: Duration = Duration::from_millis(20);

/// How long after a failure the disk is left in peace.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Bytes of the block cache with which a store of format 1 is read.
pub const ENGINE_CACHE_BYTES: u64 = 1024 * 1024;

/// Bytes of values after which a batch is written when a store is filled from another one.
pub const FILL_BYTES: usize = 4 * 1024 * 1024;
