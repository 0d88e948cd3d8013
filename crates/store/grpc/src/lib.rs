//! gRPC's calls over one HTTP/2 connection: nothing between the caller and `h2`.
//! Guarantees that a connection which does not answer is given up, and with it every call on it.
//! Must never know a service, encode a message, or open a socket.

mod connection;
mod frames;
mod status;

pub use connection::{Call, Connection, Settings};
pub use frames::framed;
pub use status::{Code, Status};
