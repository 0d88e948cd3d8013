//! The types that every API server needs, whatever kinds it serves: metadata, lists, options, status, discovery, tables.
//! A type is the single statement of a shape; its schema, codecs and documentation derive from it.
//! Nothing here decides behaviour or names a kind of one group, and no crate of the workspace but the schema is used.
//!
//! - [`meta`] holds what all objects share; its versions are at the root too, as [`v1`] and [`v1beta1`].
//! - [`apidiscovery`] and [`version`] describe the API and the program that serves it.
//! - [`autoscaling`] holds the scale subresource, which any resource can have.
//! - [`config_kubeconfig`] holds the file with which a server reaches other servers.
//! - [`gates`] holds the feature gates of an API server as such.
//! - [`config_zpages`] holds the documents of `/statusz` and `/flagz`.

// A struct may have lost more than one field: each is a `reserved` of its own.
#![allow(clippy::duplicated_attributes)]

pub mod apidiscovery;
pub mod autoscaling;
pub mod config_kubeconfig;
pub mod config_zpages;
pub mod gates;
pub mod meta;
pub mod version;

pub use meta::{v1, v1beta1};
