//! Pintle: a Kubernetes API server as a library.
//!
//! `Builder` assembles a server from its parts, `TestServer` starts one in memory within a test. The binary is a thin
//! layer of flags over the same builder.

pub mod advertised;
pub mod authorizers;
pub mod digest;
pub mod etcd;

mod bootstrap;
mod builder;
pub mod external_signer;
mod first_writes;
mod flow_control;
mod hooks;
mod identity_lease;
mod node_objects;
mod own_thread;
mod rbac;
mod repair;
mod service_accounts;
mod sources;
mod static_manifests;
mod storage_versions;
mod test_server;
mod token_tracking;
pub mod trace_export;
pub mod webhooks;

/// The `User-Agent` of the server's own requests.
pub const USER_AGENT: &str = concat!("pintle/", env!("CARGO_PKG_VERSION"));

pub use builder::{
    AdmissionOptions, AdvertisedServer, AggregationOptions, AuthenticationOptions, AuthorizationOptions, Builder,
    HealthOptions, ReloadAuthorizers, Server, ServiceNetwork, StartError,
};
pub use hooks::{ENCRYPTION_RELOAD, PROXY_CERTIFICATE_RELOAD};
pub use identity_lease::EndpointReconciler;
pub use pintle_aggregation::PeerSettings;
pub use pintle_kubernetes_auth::Mode;
pub use pintle_server::backends::{KUBELET_TIMEOUT, SocketConnector};
pub use pintle_server::sources::storage_size;
pub use pintle_server::{certs, cors, extension_servers, follow, kubeconfig, private_files};
pub use service_accounts::DEFAULT_ISSUER;
pub use sources::{encryption as encryption_metrics, etcd as etcd_metrics};
pub use test_server::TestServer;
