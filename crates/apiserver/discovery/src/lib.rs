//! Discovery documents and OpenAPI, published from the resources that a server serves and from their schemas.
//!
//! Pure functions from a [`Catalog`] to documents: no HTTP, no cache, no clock. Nothing here may know a kind by name,
//! and a document is never kept: who serves it decides for how long.
//!
//! - [`discovery`][] holds `/api`, `/apis` and what is below them, in the old form and the aggregated one.
//! - [`openapi`][] holds `/openapi/v3` and `/openapi/v2`, the latter in JSON and in its protobuf form.
//! - [`version`][] holds `/version`.

pub mod catalog;
pub mod conversion;
pub mod discovery;
pub mod extension;
pub mod openapi;
pub mod peers;
pub mod version;

mod document;

pub use catalog::{
    AggregatedVersion, Catalog, DiscoveredResource, DiscoveredSubresource, GroupEntry, VersionEntry,
    storage_version_hash,
};
pub use document::{Document, etag};

#[cfg(test)]
mod tests;
