//! The bounds of the cache, each with its reason.

/// Events a resource keeps for watches and old snapshots. The reference's watch cache grows to 102,400 a resource.
pub const HISTORY_EVENTS: usize = 100_000;

/// Bytes of replaced and removed images a resource's history may hold alive.
pub const HISTORY_BYTES: usize = 64 << 20;

/// After how many events the map itself is kept, so that reaching an old snapshot undoes at most this many.
pub const CHECKPOINT_EVENTS: u64 = 512;

/// Bytes of derived encodings (protobuf, other versions, frames) kept for all resources together.
pub const DERIVED_BYTES: u64 = 24 << 20;

/// Bytes of the encoding that a thread keeps because it was asked for last: far more than nearly any object has.
pub const REMEMBERED_BYTES: usize = 64 << 10;
