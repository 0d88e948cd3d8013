//! The bounds of this crate, each with its reason.

use std::time::Duration;

/// Timeout of opening a connection; another endpoint is tried after that.
pub const CONNECT: Duration = Duration::from_secs(2);

/// Timeout of the first attempt at a call, which grows later: calls in progress at the death of a leader are answered late or
/// never, while a slow cluster must not get the same call again and again.
pub const ATTEMPT: Duration = Duration::from_millis(500);
pub const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// How long a call is retried, on all endpoints. Shorter than the request timeout, so that clients learn the reason.
pub const CALL: Duration = Duration::from_secs(30);

/// Timeout of the first response of the cluster.
pub const START: Duration = Duration::from_secs(20);

/// The pause before an endpoint that failed is followed by the next; doubled after every round of all.
pub const PAUSE: Duration = Duration::from_millis(50);
pub const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The interval of keepalive pings on an idle connection, and their timeout.
pub const KEEP_ALIVE: Duration = Duration::from_secs(5);
pub const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);

/// Bytes that may be under way to this side of a connection: enough that a page or a burst of events does not wait.
pub const WINDOW: u32 = 8 << 20;

/// Keys of a page when everything is read: some MB.
pub const PAGE_KEYS: i64 = 2_000;

/// The number of past revisions that are read at the start, so that earlier watches can continue.
pub const HISTORY_REVISIONS: u64 = 10_000;

/// Writes of a transaction: etcd's own bound when nothing else is configured.
pub const TRANSACTION_WRITES: usize = 128;

/// Transactions under way at a time; later ones wait. etcd commits in batches and is not faster with more.
pub const TRANSACTIONS: usize = 512;

/// How long a waiter waits for a revision before progress is requested from etcd, and the interval of requests.
pub const PROGRESS_AFTER: Duration = Duration::from_millis(5);
pub const PROGRESS_PERIOD: Duration = Duration::from_millis(50);

/// How long a waiter waits for an event before the watch is checked: half a second, because a timer is set this often
/// while there are writes.
pub const EVENT_LATE: Duration = Duration::from_millis(500);

/// How long a watch may be silent while a waiter waits for a committed revision, before it is opened at another
/// endpoint.
pub const SILENCE: Duration = Duration::from_millis(1_500);

/// How much longer than its keys a lease may live, as a share of their lifetime and by default in seconds, so that many
/// keys share one; and how many keys may. kube-apiserver's numbers.
pub const LEASE_REUSE_SHARE: f64 = 0.05;
pub const LEASE_REUSE_SECONDS: u32 = 60;
pub const LEASE_KEYS: usize = 1_000;

/// The interval of health checks, and their default timeout.
pub const HEALTH_PERIOD: Duration = Duration::from_secs(2);
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a read of the newest revision waits for the requests that came together the last time, and the maximum
/// number of reads without waiting after waiting was useless. The first is the resolution of timers.
pub const GATHER: Duration = Duration::from_millis(1);
pub const ALONE_MAX: u32 = 256;

/// Maximum number of changes that are published together.
pub const BATCH_RECORDS: usize = 1_000;

/// Bytes of a request: the bound of the Go client, whatever the server is configured to take.
pub const MESSAGE_BYTES: usize = 2 * 1024 * 1024;
