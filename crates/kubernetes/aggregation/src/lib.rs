//! API aggregation: versions of groups that API services give to other servers.
//!
//! Requests are passed on with the headers of a front proxy; discovery and OpenAPI of these servers are fetched and kept;
//! whether they answer is checked. Must never proxy a version that this server serves itself, and never
//! let a slow or faulty extension server harm requests to others.

mod availability;
mod documents;
mod fetch;
mod forward;
mod identity;
mod metrics;
mod resolve;
mod services;

pub use availability::DiscoveryCheck;
pub use services::ApiServices;
