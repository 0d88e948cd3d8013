//! Rules of the discovery group that tags cannot say.

pub mod endpoint_slice;

use pintle_schema::ApiType;
use pintle_types::discovery::v1::{Endpoint, EndpointHints, EndpointSlice};
use pintle_validation::{Group, Hand, KindRules, Step, at_field, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

static KINDS: &[KindRules] = &[KindRules {
    update: &[Step::Metadata, Step::Rules, step!(EndpointSlice, endpoint_slice::keeps_address_type)],
    ..KindRules::of(EndpointSlice::schema)
}];

static RULES: &[Hand] = &[
    at_field!(EndpointSlice::PORTS, endpoint_slice::port_names),
    at_field!(Endpoint::ADDRESSES, endpoint_slice::addresses, AFTER),
    at_field!(Endpoint::DEPRECATED_TOPOLOGY, crate::shared::labels, AFTER),
    at_field!(EndpointHints::FOR_ZONES, endpoint_slice::zones_once),
    at_field!(EndpointHints::FOR_NODES, endpoint_slice::nodes_once),
];
