//! Pintle: a Kubernetes API server as a library.
//!
//! A [`Builder`] has the settings of a server. `Builder::open` reads the store and installs the features, which makes
//! an [`Opened`]; `Opened::serve` makes a [`Serving`]. Each feature is a module with a function `prepare`, if it
//! decides about requests or writes, and a function `install`, which adds its tasks, metrics, health checks and
//! handlers. [`TestServer`] starts a server in memory within a test.
//!
//! # Features
//! None is on by default: a server keeps its objects in memory or in a directory, and has no kubelets.
//!
//! | feature | what it adds |
//! |---|---|
//! | `etcd` | objects in etcd clusters, in kube-apiserver's format (`etcd`) |
//! | `kms` | services that keep keys: encryption at rest with KMS plugins, and signers of service account tokens (`external_signer`) |
//! | `kubelet` | logs, commands, port forwarding and proxies of pods, nodes and services |
//! | `otlp` | spans of requests, sent to an OpenTelemetry collector (`trace_export`) |

mod admission;
pub mod advertised;
mod aggregation;
pub mod authorizers;
mod bootstrap;
mod builder;
mod built_in_groups;
mod clock;
mod controllers;
pub mod digest;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "kms")]
pub mod external_signer;
mod first_writes;
mod flow_control;
mod hooks;
mod identity_lease;
#[cfg(feature = "kubelet")]
mod kubelets;
mod node_objects;
mod opened;
mod own_thread;
mod rbac;
mod repair;
mod service_accounts;
mod service_network;
mod serving;
mod sources;
mod start_error;
mod static_manifests;
mod storage_versions;
mod test_server;
mod token_tracking;
mod tokens;
#[cfg(feature = "otlp")]
pub mod trace_export;
pub mod webhooks;

/// The `User-Agent` of the server's own requests.
pub const USER_AGENT: &str = concat!("pintle/", env!("CARGO_PKG_VERSION"));

pub use admission::AdmissionOptions;
pub use advertised::{AdvertisedServer, EndpointReconciler};
pub use aggregation::AggregationOptions;
pub use builder::Builder;
pub use hooks::{ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD};
pub use opened::Opened;
pub use pintle_aggregation::PeerSettings;
pub use pintle_gates as gates;
pub use pintle_kubernetes_auth::Mode;
pub use pintle_server::backends::{KUBELET_TIMEOUT, SocketConnector};
pub use pintle_server::sources::storage_size;
pub use pintle_server::{ShutdownOptions, StoreOptions};
pub use pintle_server::{certs, cors, extension_servers, follow, kubeconfig, private_files};
pub use service_accounts::DEFAULT_ISSUER;
pub use service_network::ServiceNetwork;
pub use serving::Serving;
#[cfg(feature = "kms")]
pub use sources::encryption as encryption_metrics;
#[cfg(feature = "etcd")]
pub use sources::etcd as etcd_metrics;
pub use start_error::StartError;
pub use test_server::TestServer;

/// Users and their tokens.
pub mod auth {
    pub use pintle_auth::UserInfo;
    pub use pintle_auth::authentication::TokenFile;
}

/// Stores of objects.
pub mod store {
    pub use pintle_storage::{EmbeddedOptions, EmbeddedStore, MemoryStore, Store, StoreError};
}

/// TLS on the listener.
pub mod tls {
    pub use pintle_http::{TlsConfig, TlsMaterial};
}
