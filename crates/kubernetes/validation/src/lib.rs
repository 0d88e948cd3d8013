//! The rules of the built-in kinds: what tags cannot say, one module for each group, and the validator of all.
//!
//! Rules judge typed views and never change anything; where they run and in which order is the plan's matter.

pub mod admissionregistration;
pub mod apiregistration;
pub mod apiserverinternal;
pub mod apps;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod difference;
pub mod discovery;
pub mod flowcontrol;
pub mod meta;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod share;
pub mod shared;
pub mod shown;
pub mod storage;
pub mod storagemigration;
pub mod template_warnings;
#[cfg(test)]
mod warning_tests;
pub mod warnings;

use pintle_validation::{Group, Validator};
use std::sync::{Arc, LazyLock};

/// The groups that have rules beyond tags.
static GROUPS: &[&Group] = &[
    &crate::admissionregistration::GROUP,
    &crate::admissionregistration::GROUP_OF_V1BETA1,
    &crate::apiregistration::GROUP,
    &crate::apiserverinternal::GROUP,
    &crate::apps::GROUP,
    &crate::authorization::GROUP,
    &crate::autoscaling::GROUP,
    &crate::batch::GROUP,
    &crate::certificates::GROUP,
    &crate::policy::GROUP,
    &crate::rbac::GROUP,
    &crate::resource::GROUP,
    &crate::core::GROUP,
    &crate::core::pod::GROUP,
    &crate::core::cluster::GROUP,
    &crate::coordination::GROUP,
    &crate::discovery::GROUP,
    &crate::flowcontrol::GROUP,
    &crate::networking::GROUP,
    &crate::node::GROUP,
    &crate::scheduling::GROUP,
    &crate::core::quota::GROUP,
    &crate::core::secret::GROUP,
    &crate::core::volume::GROUP,
    &crate::storage::GROUP,
    &crate::storagemigration::GROUP,
];

/// The rules of all built-in kinds.
pub fn validator() -> &'static Arc<Validator> {
    static RULEBOOK: LazyLock<Arc<Validator>> =
        LazyLock::new(|| Arc::new(Validator::new(GROUPS).showing(crate::shown::full)));
    &RULEBOOK
}

#[cfg(test)]
mod tests;
