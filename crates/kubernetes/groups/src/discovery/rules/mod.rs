//! Handwritten rules of the discovery group.

pub mod endpoint_slice;

use pintle_schema::ApiType;
use pintle_types::discovery::v1::{Endpoint, EndpointSlice};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, field_order};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] =
    &[KindRules { update: &[Pass::Metadata, Pass::Rules], ..KindRules::of(EndpointSlice::schema) }];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(EndpointSlice: [ADDRESS_TYPE, PORTS, ENDPOINTS]),
    field_order!(Endpoint: [ADDRESSES, NODE_NAME, DEPRECATED_TOPOLOGY, HOSTNAME, HINTS]),
];

static RULES: &[CustomRule] = &[
    at_field!(Endpoint::ADDRESSES, endpoint_slice::addresses, phase = After),
    at_field!(EndpointSlice::PORTS, endpoint_slice::distinct_ports, phase = Inside(2)),
];
