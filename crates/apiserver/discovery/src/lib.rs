//! Discovery and OpenAPI documents, generated from the served resources and their schemas.
//!
//! Pure functions from a [`Catalog`] to documents: no HTTP, no cache, no clock. Nothing here may know a kind by name; callers
//! cache documents.
//!
//! - [`discovery`][] has `/api`, `/apis` and the paths below them, in the legacy form and the aggregated one.
//! - [`openapi`][] has `/openapi/v3` and `/openapi/v2`, in JSON and in protobuf.
//! - [`version`][] has `/version`.

pub mod catalog;
pub mod conversion;
pub mod discovery;
pub mod extension;
pub mod openapi;
pub mod peers;
pub mod version;

mod document;

pub use catalog::{
    AggregatedVersion, Catalog, DiscoveredResource, DiscoveredSubresource, GroupEntry, KnownVersions, PublishedPath,
    ServerDescription, VersionEntry, storage_version_hash,
};
pub use document::{Document, etag};

#[cfg(test)]
mod tests;
