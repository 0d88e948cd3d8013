//! Handwritten rules of the discovery group.

pub mod endpoint_slice;

use pintle_schema::ApiType;
use pintle_types::discovery::v1::{Endpoint, EndpointSlice};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] =
    &[KindRules { update: &[Step::Metadata, Step::Rules], ..KindRules::of(EndpointSlice::schema) }];

static RULES: &[CustomRule] = &[
    at_field!(Endpoint::ADDRESSES, endpoint_slice::addresses, AFTER),
    at_field!(EndpointSlice::PORTS, endpoint_slice::distinct_ports, AFTER),
];
