//! gRPC calls over one HTTP/2 connection: `tonic`'s client on `hyper`'s connection, over a stream that the caller opens, or a
//! socket of this machine.
//! Guarantees that a connection to an unresponsive peer is closed, and with it every call on it. Must never know a service,
//! reconnect, or retry a call.

mod connection;
pub mod local_socket;
mod service;
mod status;

pub use connection::{Call, Connection, Executor, Settings};
pub use status::{Code, Status, code_name};
