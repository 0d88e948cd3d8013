//! Pintle: a Kubernetes API server as a library.
//!
//! `Builder` assembles a server from its parts, `TestServer` starts one in memory within a test. The binary is a thin
//! layer of flags over the same builder.

pub mod admission_config;
pub mod advertised;
pub mod browsers;
pub mod certs;
pub mod encryption;
pub mod etcd;
pub mod follow;
pub mod kubeconfig;
pub mod private_files;

mod backends;
mod bootstrap;
mod builder;
mod node_objects;
mod presence;
mod rbac;
mod repair;
mod service;
mod service_accounts;
mod sources;
mod test_server;
mod token_tracking;

pub use backends::{KUBELET_TIMEOUT, SocketConnector};
pub use builder::{Builder, ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD, Server, StartError};
pub use presence::EndpointReconciler;
pub use service_accounts::DEFAULT_ISSUER;
pub use sources::{encryption as encryption_figures, etcd as etcd_figures, storage_size};
pub use test_server::TestServer;
