//! The built-in kinds as data: resources, strategies, defaults, columns and conversions; one module per group.
//!
//! What a schema cannot say about a kind stands here and nowhere else. No I/O, and no knowledge of requests.

pub mod columns;
pub mod defaults;

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod dynamic_resources;
mod events;
mod flowcontrol;
pub mod groups;
pub mod internal;
mod networking;
mod node;
mod policy;
mod rbac;
mod scheduling;
mod storage;
mod storagemigration;
#[cfg(test)]
mod tests;
pub mod unserved;
mod views;

pub use core::qos::class as qos_class;
pub use groups::{GROUPS, Group, GroupVersion, all, find, group_order, resources, table};
