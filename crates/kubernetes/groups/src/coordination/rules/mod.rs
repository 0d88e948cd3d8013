//! Handwritten rules of the coordination group.

pub mod lease;
pub mod lease_candidate;

use pintle_schema::ApiType;
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        create: &[Step::PlainMetadata, Step::Rules],
        update: &[Step::PlainMetadataUpdate, Step::Rules],
        ..KindRules::of(Lease::schema)
    },
    KindRules {
        create: &[Step::PlainMetadata, Step::Rules],
        update: &[Step::PlainMetadataUpdate, Step::Rules],
        ..KindRules::of(LeaseCandidate::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_field!(LeaseSpec::STRATEGY, lease::optional_strategy),
    at_field!(LeaseCandidateSpec::BINARY_VERSION, lease_candidate::not_older, ALWAYS),
    at_type!(LeaseCandidateSpec, lease_candidate::strategy, AFTER),
];
