//! gRPC calls over one HTTP/2 connection: `tonic`'s client on `hyper`'s connection, over a stream that the caller opens.
//! Guarantees that a connection whose other side stops answering is closed, and with it every call on it.
//! Must never know a service, open a socket, connect again by itself, or try a call twice.

mod connection;
mod service;
mod status;

pub use connection::{Call, Connection, Executor, Settings};
pub use status::{Code, Status, code_name};
