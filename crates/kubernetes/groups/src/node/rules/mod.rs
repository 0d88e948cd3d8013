//! Handwritten rules of the node group.

pub mod runtime_class;

use crate::core::rules::pod::scheduling;
use pintle_schema::ApiType;
use pintle_types::core::v1::Toleration;
use pintle_types::node::v1::{RuntimeClass, Scheduling};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[KindRules {
    create: &[Step::PlainMetadata, Step::Rules],
    update: &[
        Step::PlainMetadata,
        Step::Rules,
        Step::PlainMetadataUpdate,
        step!(RuntimeClass, runtime_class::keeps_handler),
    ],
    ..KindRules::of(RuntimeClass::schema)
}];

static RULES: &[CustomRule] = &[
    at_field!(RuntimeClass::OVERHEAD, runtime_class::overhead),
    at_field!(Scheduling::NODE_SELECTOR, crate::rules::labels),
    at_field!(Scheduling::TOLERATIONS, runtime_class::tolerations_once, AFTER),
    at_type!(Toleration, scheduling::toleration, AFTER),
];
