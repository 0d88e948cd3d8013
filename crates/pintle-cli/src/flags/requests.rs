//! The flags of limits and timeouts of requests. Must never have a default: it is the library's.

use super::table::{Flag, must, must_last};
use super::values;

/// The flags, in the order of the help.
pub static REQUEST_FLAGS: &[Flag] = &[
    Flag::new(
        "max-requests-inflight",
        |c| &mut c.settings.max_read_only_in_flight,
        "Maximum number of read requests in flight; 0 is no limit.",
    )
    .checked(|c| must(c.settings.max_read_only_in_flight >= 0, "can not be negative value")),
    Flag::new(
        "max-mutating-requests-inflight",
        |c| &mut c.settings.max_mutating_in_flight,
        "Maximum number of write requests in flight; 0 is no limit.",
    )
    .checked(|c| must(c.settings.max_mutating_in_flight >= 0, "can not be negative value")),
    Flag::new(
        "enable-priority-and-fairness",
        |c| &mut c.settings.priority_and_fairness,
        "Whether requests get seats by priority and fairness, as many as the two limits together; if false the limits apply.",
    ),
    Flag::new("request-timeout", |c| &mut c.settings.request_timeout, "Timeout of requests other than watches.")
        .checked(|c| must_last(c.settings.request_timeout)),
    Flag::new(
        "min-request-timeout",
        |c| &mut c.settings.min_request_timeout_seconds,
        "Minimum duration of a watch in seconds; each watch ends at random between this and twice this.",
    ),
    Flag::read(
        "http2-max-streams-per-connection",
        "N",
        "Maximum number of concurrent HTTP/2 streams of a connection; 0 is the default. Default: 100.",
        |c, value| {
            let streams = values::number(value, 0)?;
            let default = pintle_http::ServerConfig::default().max_concurrent_streams;
            c.connections.max_concurrent_streams = if streams > 0 { streams } else { default };
            Ok(())
        },
    ),
];
