//! Connections of the server: sockets, TLS, HTTP/1.1 and HTTP/2, bounded bodies and graceful shutdown.
//! Guarantees that every connection, handshake, header block and body has a bound, and that a shutdown ends.
//! Must never know what a request means: that is the service's matter, reached through one trait.

mod body;
mod connection;
pub mod limits;
mod server;
mod shutdown;
mod tls;

pub use body::{BodyError, LongRunning, read_body};
pub use connection::{Connection, Incoming, Service};
pub use rustls::pki_types::CertificateDer;
pub use server::{ServerConfig, serve};
pub use shutdown::Shutdown;
pub use tls::{TlsConfig, TlsError, TlsMaterial};
