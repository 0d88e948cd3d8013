//! The built-in API groups: resources, strategies, defaults, columns, conversions and rules; one folder for each group.
//!
//! What a schema cannot say about a kind stands here and nowhere else. No I/O, and no knowledge of requests.

pub mod defaulting;
mod group;
pub mod printing;
pub mod rules;
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

<<<<<<< HEAD:crates/kubernetes/groups/src/lib.rs
pub use core::internal;
=======
pub use apiextensions::CLEANUP_FINALIZER;

>>>>>>> 305d8c2 (controllers: delete the objects of a definition before it goes):crates/kubernetes/kinds/src/lib.rs
pub use core::qos::class as qos_class;
pub use group::{all, find, groups, resources, table};
