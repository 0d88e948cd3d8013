//! The bounds of every queue, batch, key, value and cache of this crate, with their reasons.
//! Guarantees that no caller can make the store use unbounded memory or delay others without end.
//! Must never be read from input: these are constants.

use std::time::Duration;

/// Longest key in bytes. Kubernetes names have at most 253 bytes, namespaces 63, groups and resources 253 each; with
/// prefix and slashes that is less than 1 KiB. The rest is for other path segments.
pub const KEY_BYTES_MAX: usize = 4 * 1024;

/// How long a start waits for the lock of a data directory. The system releases that of a killed process with the process, which on
/// a busy machine may be after its parent was told. A process that stays keeps it longer than anyone would wait.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The time between two attempts to take the lock.
pub const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Largest value in bytes. An object may be as large as etcd's default request, 1.5 MiB of protobuf; its JSON can be
/// six times as large (control characters are written as `\u0001`), and lists of nearly empty items somewhat more.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most writes in one transaction. etcd allows 128; the initial objects of a new store are written in one.
pub const TRANSACTION_WRITES_MAX: usize = 16 * 1024;

/// Most key and value bytes in one transaction; also the size at which a batch is closed.
pub const TRANSACTION_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most transactions that share one sync. Large enough for a slow disk, small enough that the first one does not wait
/// noticeably for the last to be written.
pub const BATCH_TRANSACTIONS_MAX: usize = 512;

/// Size in bytes after which a batch accepts no further transaction: an engine writes it in a few milliseconds.
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Units of [`QUEUE_UNIT_BYTES`] that may be queued or in progress: 64 MiB. Later requests wait (backpressure).
pub const QUEUE_UNITS: usize = 64 * 1024;

/// The size of one unit of the queue in bytes.
pub const QUEUE_UNIT_BYTES: usize = 1024;

/// Units that any transaction uses whatever its size, so that at most 16,384 transactions are queued.
pub const QUEUE_UNITS_PER_TRANSACTION: usize = 4;

/// Dead log entries that one compaction step removes (more only if one transaction made more). Such a step adds well
/// under a millisecond to its batch.
pub const COMPACTION_STEP_ENTRIES: usize = 512;

/// Default seconds between two compactions, as in kube-apiserver.
pub const RETENTION_SECONDS: u64 = 5 * 60;

/// Size in bytes after which the log begins a new segment. Space is freed by segment, and the last one is read again
/// and possibly rewritten after a power loss; small ones make many files.
pub const SEGMENT_BYTES: u64 = 32 * 1024 * 1024;

/// The part of a segment that is written ahead with zeros, so that most syncs do not change the length of the file:
/// 512 KiB.
pub const FILL_PART: u64 = 64;

/// The part of a segment that the reserve has at least: 1 MiB. It grows with the log up to the size of a segment. A half
/// is for the copies that free space (of a segment that is half dead), a quarter for deletions only, a quarter for deletions
/// and updates.
pub const RESERVE_PART_MIN: u64 = 32;

/// How much larger than what it replaces a value may be on a full disk, in bytes: the deletion of an object begins with an
/// update that adds a time, and that of a namespace with one that adds conditions.
pub const GROWTH_WHEN_FULL: u64 = 2 * 1024;

/// Seconds between two compactions while the disk is full: watches that are later than that begin anew, and what is
/// deleted gives its space back.
pub const RETENTION_SECONDS_WHEN_FULL: u64 = 10;

/// On a full disk, a segment is rewritten if more than this part of it is dead.
pub const DEAD_PART_WHEN_FULL: u64 = 8;

/// The least bytes of the reserve that are given back at a time: some blocks of the file system, for a file's first bytes
/// and a manifest.
pub const RELEASE_BYTES_MIN: u64 = 64 * 1024;

/// A disk has space again when there is space for what was refused last, but at most this part of a segment, 4 MiB: a larger
/// batch must not keep smaller writes waiting.
pub const WANTED_PART: u64 = 8;

/// How often an idle writer looks for space while the disk is full.
pub const FULL_POLL: Duration = Duration::from_secs(1);

/// Largest manifest in bytes: that of a store of about 100,000 segments.
pub const MANIFEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Size of a frame buffer that is kept for the next frame, in bytes.
pub const BUFFER_BYTES: usize = 1024 * 1024;

/// Size of a frame of a rewritten segment in bytes, without the last source frame.
pub const REWRITE_FRAME_BYTES: usize = 128 * 1024;

/// Bytes of a rewritten segment that are synced together, so that the writer's syncs never wait for more.
pub const REWRITE_SYNC_BYTES: u64 = 1024 * 1024;

/// Number of adjacent small segments that are merged.
pub const SMALL_SEGMENTS: usize = 4;

/// How often an idle writer checks for the end of a rewrite.
pub const REWRITE_POLL: Duration = Duration::from_millis(20);

/// The delay before the disk is accessed again after a failure.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Size of values after which a batch is written during an import, in bytes.
pub const FILL_BYTES: usize = 4 * 1024 * 1024;
