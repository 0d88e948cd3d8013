//! Every bound of requests' meaning, with its reason; values are kube-apiserver's where it has one.
//! Guarantees that what the flags do not set is set here.
//! Must never hold limits of connections and bodies: those are the server ring's.

use std::time::Duration;

/// Mutating requests in work at a time: kube-apiserver's 200. Each holds a decoded object and waits for the disk.
pub const MUTATING_REQUESTS_IN_FLIGHT: i64 = 200;

/// Reading requests in work at a time: kube-apiserver's 400.
pub const READ_ONLY_REQUESTS_IN_FLIGHT: i64 = 400;

/// After how many seconds a client that was turned away may come again: kube-apiserver's 1.
pub const RETRY_AFTER_SECONDS: u32 = 1;

/// The same while the server stops: kube-apiserver's 5, in which another server has been found.
pub const RETRY_AFTER_SHUTDOWN_SECONDS: u32 = 5;

/// How often a server that stops looks whether requests are still in work.
pub const IN_FLIGHT_POLL: Duration = Duration::from_millis(10);

/// The longest time for a request that has an end of its own: kube-apiserver's minute.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The least time that a watch without a timeout is kept open: kube-apiserver's half an hour; up to as much again is
/// added at random, so that clients do not come back all at once.
pub const MIN_WATCH_SECONDS: u64 = 1800;

/// All warnings of an answer together, in characters, before they are cut: kube-apiserver's 4096. Clients and proxies
/// bound headers.
pub const WARNINGS_CHARACTERS: usize = 4096;

/// What is left of a warning where there are too many: kube-apiserver's 256 characters.
pub const CUT_WARNING_CHARACTERS: usize = 256;

/// Bodies, and stored objects to be patched, beyond this are worked at beside the worker threads: 128 KiB take a few
/// milliseconds, which is what others may wait.
pub const LARGE_BODY_BYTES: usize = 128 * 1024;

/// How many bytes those that are worked at together may have. An object under work takes up to two hundred times its body;
/// together with that this bounds what all take.
pub const LARGE_REQUESTS_BYTES: usize = 6 * 1024 * 1024;

/// What each of them counts for at the least, so that there are four at most: more would not be done sooner, and would take
/// processors from all others.
pub const LARGE_REQUEST_BYTES: usize = LARGE_REQUESTS_BYTES / 4;
