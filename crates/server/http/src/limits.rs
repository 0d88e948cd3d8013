//! Every bound of the connection layer, with its reason; values are kube-apiserver's where it has one.
//! Guarantees that no number that protects the server is written anywhere else in this crate.
//! Must never hold limits of requests' meaning (in flight, timeouts of verbs): those are the api ring's.

use std::time::Duration;

/// Largest request body of a write: 3 MiB, as in kube-apiserver (twice etcd's request limit).
pub const MAX_REQUEST_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Bytes of bodies that are received concurrently on one connection: ten of the largest. A client that is rejected beyond that
/// may retry.
pub const RECEIVED_BYTES_PER_CONNECTION: u64 = 32 * 1024 * 1024;

/// Time before a body's minimum rate applies: a client may look something up, or wait for `100 Continue`, after the head.
pub const BODY_GRACE: Duration = Duration::from_secs(10);

/// The minimum average rate of a body in bytes per second since its head: a tenth of a bad mobile link. kube-apiserver has
/// none, but gives the whole request its minute (`--request-timeout`), in which 3 MiB need 52 KiB per second; that deadline
/// holds here too, and a body that cannot meet it is rejected sooner.
pub const BODY_LEAST_RATE: u64 = 1024;

/// The part of a declared length that is allocated in advance; the rest is allocated as it arrives.
pub const BELIEVED_BODY_BYTES: usize = 256 * 1024;

/// Bytes of a body beyond its limit that are read and discarded, so that a client that sends first and reads later still sees
/// the response and not a reset connection.
pub const MAX_DISCARDED_BODY_BYTES: usize = 8 * 1024 * 1024;

/// How long the rest of a body is awaited after the response: bytes that a client sent with the request arrive sooner.
pub const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Largest header block of an HTTP/1 request: 1 MiB, as in kube-apiserver.
pub const MAX_HEADER_BYTES: u32 = 1 << 20;

/// Largest header block of an HTTP/2 request, 32 bytes added for each field (RFC 9113, section 6.5.2): 64 KiB.
/// kube-apiserver allows 1 MiB. The HTTP library cannot parse a longer URL and resets the stream with `PROTOCOL_ERROR`,
/// which Go clients repeat without end. Beyond this limit they fail at once, because the server advertises it.
pub const MAX_HTTP2_HEADER_BYTES: u32 = 64 * 1024;

/// Header fields of an HTTP/1 request: kube-apiserver bounds only their bytes. A front proxy sends one field for each
/// group of a user, which makes hundreds; about as many fit into [`MAX_HTTP2_HEADER_BYTES`].
pub const MAX_HEADERS: usize = 1000;

/// HTTP/2 streams that one client may have open on a connection: kube-apiserver's 100, the figure that
/// its clients assume; they open another connection beyond it.
pub const MAX_CONCURRENT_STREAMS: u32 = 100;

/// Bytes a client may send on a stream ahead of the reader: 256 KiB holds 99% of objects in one go.
pub const STREAM_WINDOW_BYTES: u32 = 256 * 1024;

/// Bytes a client may send on a connection ahead of the readers; bounds what one connection can hold in memory.
pub const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// Largest HTTP/2 frame of a client, as in kube-apiserver.
pub const MAX_FRAME_BYTES: u32 = 256 * 1024;

/// Bytes of a response buffered per HTTP/2 stream while the network does not accept them: two chunks, so that one is ready
/// while the other is written, and a client that does not read holds little with each stream.
pub const MAX_SEND_BUFFER_BYTES: usize = 128 * 1024;

/// The maximum time from a request's arrival to the end of its response, unless it is long-running: kube-apiserver's minute,
/// after which it, too, resets the stream or closes the connection.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Minimum time for a response that is made at the deadline, such as the timeout error.
pub const ANSWER_GRACE: Duration = Duration::from_secs(1);

/// Time in which a client must accept some bytes of a response. Responses are sent in chunks of 64 KiB, so this is a minimum
/// rate of 4.3 KiB per second: a client as slow as that would get 256 KiB within the response timeout.
pub const ANSWER_STALL: Duration = Duration::from_secs(15);

/// Streams of one connection that a client may have cancelled before the server looked at them: a handful happens when
/// a client gives up many requests at once, more is an attack that costs the server and not the client.
pub const MAX_PENDING_RESETS: usize = 20;

/// Streams of one connection that the server may have to reset for the client's mistakes before it is closed.
pub const MAX_LOCAL_RESETS: usize = 1024;

/// Time between pings to an HTTP/2 client: the interval by which Kubernetes' clients detect dead servers.
pub const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Timeout of a ping; then the client's watches end.
pub const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Buffered bytes of an HTTP/2 connection that are written even though more may follow: four TLS records, beyond which a larger
/// write saves nothing. One frame may come on top.
pub const WRITE_BUFFER_BYTES: usize = 64 * 1024;

/// Time for a client to complete the TLS handshake: seconds even on bad links, so ten are generous.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Idle time after which a connection is closed, as in kube-apiserver. After the same time once more it is dropped with its
/// unsent data.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Time for the head of an HTTP/1 request, from its first byte on, as in kube-apiserver, so that a slow client cannot hold a
/// connection.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(32);

/// Time between TCP keep-alive probes, as in kube-apiserver: finds peers that vanished without a word.
pub const TCP_KEEP_ALIVE: Duration = Duration::from_secs(180);

/// Pause after a failed accept (mostly: no file descriptor left), so that the loop does not spin.
pub const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The share of the time given to long-running requests at shutdown over which their ends are spread; the rest is for
/// their last bytes.
pub const SPREAD_OF_GRACE: f64 = 0.8;

/// Time for requests in flight to finish after shutdown begins.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(60);
