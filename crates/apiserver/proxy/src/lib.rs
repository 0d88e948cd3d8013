//! Requests that go on to other servers (kubelets, pods, services, extension servers), and connections that no longer
//! speak HTTP.
//!
//! Guarantees that a client's credentials are not forwarded, and that the slower side of a connection limits the rate.
//! Must never open a connection, choose where a request goes, or know a kind.

pub mod backend;
pub mod forward;
mod response;
pub mod rewrite;
pub mod sniff;
pub mod spdy;
pub mod upgrade;
pub mod websocket;

pub use response::{Content, ForwardedResponse};
