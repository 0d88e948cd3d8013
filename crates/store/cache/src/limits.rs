//! The bounds of the cache, with their reasons.

/// Events that a resource retains for watches and old snapshots. kube-apiserver's watch cache grows to 102,400 per
/// resource.
pub const HISTORY_EVENTS: usize = 100_000;

/// Bytes of replaced and deleted objects that the history of a resource may keep alive.
pub const HISTORY_BYTES: usize = 64 << 20;

/// The number of events between checkpoints, so that reading an old snapshot undoes at most this many.
pub const CHECKPOINT_EVENTS: u64 = 512;

/// Bytes of other encodings (protobuf, other versions, frames) that are kept for all resources together.
pub const DERIVED_BYTES: u64 = 24 << 20;

/// Largest encoding in bytes that a thread keeps because it was requested last: larger than almost any object.
pub const REMEMBERED_BYTES: usize = 64 << 10;
