//! API aggregation: group-versions that API services delegate to other servers, and resources that only other servers over the
//! same store have.
//!
//! Requests are forwarded with the headers of a front proxy; discovery and OpenAPI of these servers are fetched and
//! cached; their availability is checked. Must never proxy a version that this server serves itself, nor let a slow or
//! faulty extension server harm requests to others.

mod availability;
mod content;
mod documents;
mod fetch;
mod forward;
mod identity;
mod metrics;
mod peers;
mod resolve;
mod services;

pub use availability::DiscoveryCheck;
pub use content::ExtensionContent;
pub use peers::{PeerServers, PeerSettings};
pub use services::ApiServices;
