//! The bounds of what a key service may give and of what is kept of it, each with its reason.
//! Guarantees that no plugin can make the server hold unbounded memory. Must never be read from input.

/// Bytes of the name of a key, of a seed in its encrypted form, and of all annotations: what kube-apiserver accepts,
/// since each stands in every object that is kept.
pub const KEY_ID_BYTES: usize = 1024;
pub const ENCRYPTED_SEED_BYTES: usize = 1024;
pub const ANNOTATIONS_BYTES: usize = 32 * 1024;

/// Bytes of an answer of a key service: the bounds above with room for what the protocol adds.
pub const ANSWER_BYTES: usize = 64 * 1024;

/// Seeds that are remembered in plain. There is one for each key of the service and start of a server that wrote with
/// it; beyond this all are forgotten and asked for again.
pub const SEEDS: usize = 4096;

/// Calls that may wait for one key service. Each belongs to a thread that waits for its answer.
pub const CALLS: usize = 64;
