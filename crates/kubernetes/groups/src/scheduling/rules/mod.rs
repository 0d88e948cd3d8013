//! Handwritten rules of the scheduling group.

pub mod priority_class;

use pintle_types::scheduling::v1::PriorityClass;
use pintle_validation::{CustomRule, Group, at_type};

/// The group's rules; its kinds have the usual passes.
pub static GROUP: Group = Group { kinds: &[], custom_rules: RULES, ..Group::NONE };

static RULES: &[CustomRule] = &[
    at_type!(PriorityClass, priority_class::create, ON_CREATE),
    at_type!(PriorityClass, priority_class::update, ON_UPDATE),
];
