//! The rules of the built-in kinds: what tags cannot say, one module for each group, and the validator of all.
//!
//! Rules judge typed views and never change anything; where they run and in which order is the plan's matter.

use pintle_validation::{Group, Validator};
use std::sync::{Arc, LazyLock};

/// The groups that have rules beyond tags.
static GROUPS: &[&Group] = &[
    &crate::admissionregistration::rules::GROUP,
    &crate::admissionregistration::rules::GROUP_OF_V1BETA1,
    &crate::apiregistration::rules::GROUP,
    &crate::apiserverinternal::rules::GROUP,
    &crate::apps::rules::GROUP,
    &crate::authorization::rules::GROUP,
    &crate::autoscaling::rules::GROUP,
    &crate::batch::rules::GROUP,
    &crate::certificates::rules::GROUP,
    &crate::policy::rules::GROUP,
    &crate::rbac::rules::GROUP,
    &crate::resource::rules::GROUP,
    &crate::core::rules::GROUP,
    &crate::core::rules::pod::GROUP,
    &crate::core::rules::cluster::GROUP,
    &crate::coordination::rules::GROUP,
    &crate::discovery::rules::GROUP,
    &crate::flowcontrol::rules::GROUP,
    &crate::networking::rules::GROUP,
    &crate::node::rules::GROUP,
    &crate::scheduling::rules::GROUP,
    &crate::core::rules::quota::GROUP,
    &crate::core::rules::secret::GROUP,
    &crate::core::rules::volume::GROUP,
    &crate::storage::rules::GROUP,
    &crate::storagemigration::rules::GROUP,
];

/// The rules of all built-in kinds.
pub fn validator() -> &'static Arc<Validator> {
    static RULEBOOK: LazyLock<Arc<Validator>> =
        LazyLock::new(|| Arc::new(Validator::new(GROUPS).showing(crate::rules::internal_form::full)));
    &RULEBOOK
}
