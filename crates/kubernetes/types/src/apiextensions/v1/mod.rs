//! Types of `apiextensions.k8s.io/v1`: custom resource definitions and conversion webhooks.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod conversion;
mod definition;
mod schema;

pub use conversion::*;
pub use definition::*;
pub use schema::*;
