//! Pintle: a Kubernetes API server as a library.
//!
//! `Builder` assembles a server from its parts, `TestServer` starts one in memory within a test. The binary is a thin
//! layer of flags over the same builder.

pub mod certs;
pub mod kubeconfig;

mod bootstrap;
mod builder;
mod rbac;
mod service;
mod test_server;

pub use builder::{Builder, Server, StartError};
pub use test_server::TestServer;
