//! Metrics of parts that only the whole server has: encryption, etcd, pod security, work queues. Guarantees that each
//! is read at a scrape. Must never be read otherwise.

mod conditions;
mod conversions;
#[cfg(feature = "kms")]
mod encryption;
#[cfg(feature = "etcd")]
mod etcd;
mod manifests;
mod pod_security;
mod policies;
mod rest_clients;
mod rules;
mod service_accounts;
mod webhooks;
mod work_queues;

pub use conditions::render as conditions;
pub use conversions::render as conversions;
#[cfg(feature = "kms")]
pub use encryption::render as encryption;
#[cfg(feature = "etcd")]
pub use etcd::render as etcd;
pub use manifests::render as manifests;
pub use pod_security::render as pod_security;
pub use policies::render as policies;
pub use rest_clients::render as rest_clients;
pub use rules::render as rules;
pub use service_accounts::render as service_accounts;
pub use webhooks::render as webhooks;
pub use work_queues::render as work_queues;
