//! The flags of the process: its threads, and how it stops. Guarantees that a flag without an effect here says so. Must
//! never start a thread.

use super::config::with_defaults;
use super::table::{Flag, must, no_effect};
use super::values;
use pintle::ShutdownOptions;

with_defaults! {
    /// The threads of the process, and how it stops.
    pub struct ProcessFlags {
        pub shutdown: ShutdownOptions,
        /// One for each processor by default.
        pub worker_threads: Option<u32>,
    }
}

/// How connections and the server end.
pub static SHUTDOWN_FLAGS: &[Flag] = &[
    Flag::new(
        "goaway-chance",
        |c| &mut c.connections.goaway_chance,
        "Probability that an HTTP/2 request makes the server ask the client to reconnect, at most 0.02.",
    )
    .checked(|c| must((0.0..=0.02).contains(&c.connections.goaway_chance), "must be between 0 and 0.02")),
    Flag::new(
        "shutdown-delay-duration",
        |c| &mut c.process.shutdown.delay,
        "How long the server accepts requests after a signal to stop, while /readyz fails.",
    ),
    Flag::new(
        "shutdown-send-retry-after",
        |c| &mut c.process.shutdown.send_retry_after,
        "Whether, after that delay, new requests get 429 and Retry-After until requests in flight are \
         complete; if false, the server closes its port.",
    ),
    Flag::new(
        "shutdown-watch-termination-grace-period",
        |c| &mut c.connections.long_running_grace,
        "Period over which watches are ended when the server stops; 0 is at once.",
    ),
    Flag::read(
        "livez-grace-period",
        "DURATION",
        "How long /livez accepts an incomplete start. It has no effect, because the start is complete before \
         the first request is served. Default: 0s.",
        |_, value| values::duration(value).map(drop),
    ),
];

/// The threads of the server, and what it has not.
pub static PROCESS_FLAGS: &[Flag] = &[
    Flag::only("enable-garbage-collector", "true", "Whether deletions may be left to the garbage collector."),
    Flag::only("enable-logs-handler", "false", "Whether /logs serves the log files of the node."),
    Flag::new(
        "worker-threads",
        |c| &mut c.process.worker_threads,
        "Number of threads that serve requests, at most 1024. Default: the number of processors.",
    )
    .checked(|c| must(c.process.worker_threads.is_none_or(|n| (1..=1024).contains(&n)), "must be between 1 and 1024")),
    Flag::read(
        "storage-initialization-timeout",
        "DURATION",
        "How long the store may take before the server is ready. It has no effect: the store is read before.",
        |c, value| {
            let why = "the server answers after the store has been read";
            no_effect(c, values::duration(value), "--storage-initialization-timeout", why)
        },
    ),
    Flag::read(
        "permit-address-sharing",
        "",
        "Whether an address may be bound while connections of an earlier server linger. It always may.",
        |_, value| values::boolean(value).map(drop),
    ),
];
