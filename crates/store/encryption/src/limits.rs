//! The limits on data from key services and on cached seeds, each with its reason. Guarantees that no plugin can make
//! the server hold unbounded memory. Must never be read from input.

/// Bytes of the name of a key, of a seed in its encrypted form, and of all annotations: kube-apiserver's limit, because
/// each is stored with every object.
pub const KEY_ID_BYTES: usize = 1024;
pub const ENCRYPTED_SEED_BYTES: usize = 1024;
pub const ANNOTATIONS_BYTES: usize = 32 * 1024;

/// Bytes of a key service's response: the limits above and the protocol's overhead.
pub const ANSWER_BYTES: usize = 64 * 1024;

/// Decrypted seeds in the cache. Each start of a server adds one for each key of the service; a full cache is cleared,
/// and seeds are decrypted again.
pub const SEEDS: usize = 4096;

/// Calls that may wait for one key service. Each blocks a thread.
pub const CALLS: usize = 64;
