//! The built-in API groups: resources, strategies, defaults, columns, conversions and rules; one folder for each group.
//!
//! What a schema cannot express about a kind is here and nowhere else. No I/O, and no knowledge of requests.

mod built_in;
pub mod defaulting;
mod group;
mod known_versions;
pub mod printing;
pub mod rules;
mod sent_empties;
mod views;

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
pub mod certificates;
pub mod config;
mod coordination;
pub mod core;
mod discovery;
mod events;
mod flowcontrol;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;

#[cfg(test)]
mod tests;

pub use admissionregistration::rules::STATIC_SUFFIX;
pub use apiextensions::CLEANUP_FINALIZER;
pub use built_in::{all, find, groups, resources, table};
pub use core::internal;
pub use core::qos::class as qos_class;
pub use known_versions::{KNOWN_VERSIONS, NOT_OF_CUSTOM};
