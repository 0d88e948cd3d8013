//! Incoming and outgoing connections: sockets, TLS, HTTP/1.1 and HTTP/2, upgrades, bounded bodies and graceful shutdown.
//! Guarantees that every connection, handshake, header block and body has a bound, and that a shutdown ends. Must never
//! interpret a request: the service, behind one trait, does.

mod activity;
mod body;
mod buffered_writer;
mod client;
mod client_tls;
mod connection;
mod head;
mod jitter;
pub mod limits;
mod send_progress;
mod server;
mod shutdown;
mod tls;
mod upgrade;

pub use body::{BodyError, BodyLimits, LongRunning, RequestBody, pieces, read_body};
pub use client::{ClientError, Upstream, send};
pub use client_tls::{ClientTlsMaterial, client_config};
pub use connection::{Connection, Incoming, Service};
pub use hyper::body::Incoming as ResponseBody;
pub use hyper::upgrade::on as on_upgrade;
pub use rustls::ClientConfig;
pub use rustls::pki_types::CertificateDer;
pub use server::{ServerConfig, serve};
pub use shutdown::Shutdown;
pub use tls::{NamedCertificate, TlsConfig, TlsError, TlsMaterial, TlsVersion, cipher_suites, curves};
pub use upgrade::{Takeover, UpgradedConnection};
