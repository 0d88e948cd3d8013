//! Pintle: a Kubernetes API server as a library.
//!
//! A [`Builder`] has the settings of a server. `Builder::open` reads the store and installs the features, which makes an [`Opened`];
//! `Opened::serve` makes a [`Serving`]. Each feature is a module with a function `prepare`, if it decides about requests or writes, and
//! a function `install`, which adds its tasks, metrics, health checks and handlers. [`TestServer`] starts a server in memory within a
//! test.

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
pub mod etcd;
pub mod external_signer;
mod first_writes;
mod flow_control;
mod hooks;
mod identity_lease;
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
pub use pintle_kubernetes_auth::Mode;
pub use pintle_server::backends::{KUBELET_TIMEOUT, SocketConnector};
pub use pintle_server::sources::storage_size;
pub use pintle_server::{ShutdownOptions, StoreOptions};
pub use pintle_server::{certs, cors, extension_servers, follow, kubeconfig, private_files};
pub use service_accounts::DEFAULT_ISSUER;
pub use service_network::ServiceNetwork;
pub use serving::Serving;
pub use sources::{encryption as encryption_metrics, etcd as etcd_metrics};
pub use start_error::StartError;
pub use test_server::TestServer;
