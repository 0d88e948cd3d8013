//! Handwritten rules of the node group.

pub mod runtime_class;

use crate::core::rules::pod::scheduling;
use pintle_schema::ApiType;
use pintle_types::core::v1::Toleration;
use pintle_types::node::v1::{RuntimeClass, Scheduling};
use pintle_validation::{CustomRule, Group, KindRules, Pass, at_field, at_type, pass};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    create: &[Pass::PlainMetadata, Pass::Rules],
    update: &[
        Pass::PlainMetadata,
        Pass::Rules,
        Pass::PlainMetadataUpdate,
        pass!(RuntimeClass, runtime_class::keeps_handler),
    ],
    ..KindRules::of(RuntimeClass::schema)
}];

static RULES: &[CustomRule] = &[
    at_field!(RuntimeClass::OVERHEAD, runtime_class::overhead),
    at_field!(Scheduling::NODE_SELECTOR, crate::rules::labels),
    at_field!(Scheduling::TOLERATIONS, runtime_class::tolerations_once, phase = After),
    at_type!(Toleration, scheduling::toleration, phase = After),
];
