//! Handwritten rules of the coordination group.

pub mod lease;
pub mod lease_candidate;

use pintle_schema::ApiType;
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        create: &[Pass::PlainMetadata, Pass::Rules],
        update: &[Pass::PlainMetadataUpdate, Pass::Rules],
        ..KindRules::of(Lease::schema)
    },
    KindRules {
        create: &[Pass::PlainMetadata, Pass::Rules],
        update: &[Pass::PlainMetadataUpdate, Pass::Rules],
        ..KindRules::of(LeaseCandidate::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] =
    &[field_order!(LeaseCandidateSpec: [LEASE_NAME, EMULATION_VERSION, BINARY_VERSION, STRATEGY])];

static RULES: &[CustomRule] = &[
    at_field!(LeaseSpec::STRATEGY, lease::optional_strategy),
    at_field!(LeaseCandidateSpec::BINARY_VERSION, lease_candidate::not_older, ALWAYS),
    at_type!(LeaseCandidateSpec, lease_candidate::strategy, phase = After),
];
