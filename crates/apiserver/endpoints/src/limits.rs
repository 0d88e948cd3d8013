//! Every bound of requests' meaning, with its reason; values are kube-apiserver's where it has one.
//! Guarantees that what the flags do not set is set here.
//! Must never hold limits of connections and bodies: those are the server ring's.

use std::time::Duration;

/// Mutating requests in work at a time: kube-apiserver's 200. Each holds a decoded object and waits for the disk.
pub const MUTATING_REQUESTS_IN_FLIGHT: i64 = 200;

/// Reading requests in work at a time: kube-apiserver's 400.
pub const READ_ONLY_REQUESTS_IN_FLIGHT: i64 = 400;

/// How many users with all that they may hold fill the server: each may hold a quarter of the waits, answers and bytes. So no single
/// user, nor three, can have others turned away.
pub const USERS_PER_LIMIT: u64 = 4;

/// How many times the seats of the server there may be requests in work or being answered, beyond as many as the seats: a user
/// may have once the seats (600 by default). They hold no seat while they are answered, but some 64 KiB each, if the client does
/// not take them. A user who works alone has as many more.
pub const OPEN_ANSWERS: u64 = 4;

/// Connections to kubelets and other backends at a time, for commands, forwarded ports, logs and proxied requests: a user
/// may have 1,000. One holds up to some 300 KiB of both sides' bytes when nobody takes them, so that a user's hold 300 MiB
/// at most. A runner of builds with one service account has a few hundred commands under way, and a collector of metrics
/// asks all of some hundred nodes at once. kube-apiserver has no limit.
pub const STREAMS: u64 = 4000;

/// Watches at a time: a user may have 100,000. An agent that runs on each of 5,000 nodes with one service account, and
/// watches 20 resources, has as many; a kubelet has a few hundred. kube-apiserver has no limit.
pub const WATCHES: u64 = 400_000;

/// Bytes that all watches hold of what was asked for with them: selectors, paths, names of clients and users, and events that are joined
/// to be sent. A user may have a quarter, so that their 100,000 watches may hold 1.3 KiB each; an ordinary one holds 300 bytes to
/// 600. The largest selector that a URL has room for takes 130 KiB. What every watch takes besides, whatever is asked for, is
/// bounded by their number. kube-apiserver has no limit.
pub const WATCH_BYTES: u64 = 512 << 20;

/// Reads that wait at a time until a revision of the future has come, each for three seconds at most, or until a store that
/// others write to has said what there is: they hold a request's head and a timer, so there may be more of them than slots.
pub const FRESHNESS_WAITS: u64 = 2000;

/// Bytes of bodies that are being received: 85 of the largest at a time, or tens of thousands of usual size. Bodies of
/// requests that have a slot count no more: there are as many as slots.
pub const RECEIVED_BYTES: u64 = 256 << 20;

/// What a body counts for before a byte of it has come: about what its stream and its task hold in memory.
pub const BODY_BASE_BYTES: u64 = 16 << 10;

/// Bytes of answers that are held in memory while they are sent. Lists are encoded piece by piece as they are sent, in every form, and
/// small answers are let be: what counts is what is encoded as a whole, as single objects and documents are.
pub const RESPONSE_BYTES: u64 = 512 << 20;

/// Bytes of objects of a list, or of a watch's events, that are sent to a conversion webhook together, and are decoded in memory until
/// they have been encoded: some hundred objects of usual size, which a webhook converts in a few milliseconds. An object that is larger
/// goes alone. kube-apiserver sends a list as one review, or each object as its own where it has a cache.
pub const CONVERSION_BATCH_BYTES: usize = 512 << 10;

/// How large an answer is that counts as held in memory; it is sent in one piece below.
pub const PIECE_BYTES: usize = 64 << 10;

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

/// Responses of up to this size are recorded whole in audit events; the objects of larger ones are left out, and the event says so.
/// All that events keep is bounded besides (`KEPT_BYTES` of the audit crate).
pub const AUDITED_BODY_BYTES: usize = 64 * 1024 * 1024;

/// All warnings of an answer together, in characters, before they are cut: kube-apiserver's 4096. Clients and proxies
/// bound headers.
pub const WARNINGS_CHARACTERS: usize = 4096;

/// What is left of a warning where there are too many: kube-apiserver's 256 characters.
pub const TRUNCATED_WARNING_CHARACTERS: usize = 256;
