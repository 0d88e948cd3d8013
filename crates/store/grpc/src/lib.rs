//! gRPC calls over one HTTP/2 connection: `tonic`'s client on `hyper`'s connection, over a stream that the caller opens.
//! Guarantees that a connection to an unresponsive peer is closed, and with it every call on it. Must never know a service,
//! open a socket, reconnect, or retry a call.

mod connection;
mod service;
mod status;

pub use connection::{Call, Connection, Executor, Settings};
pub use status::{Code, Status, code_name};
