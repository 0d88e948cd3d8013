//! Columns of the group `discovery.k8s.io`.
//!
//! Long lists are truncated, with the number of the other items.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::{Value, View};
use pintle_types::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

printers! {
    ENDPOINT_SLICE: EndpointSlice |slice, now| {
        NAME => name(slice),
        string("AddressType", "What the addresses are.") => text(slice.to(EndpointSlice::ADDRESS_TYPE)),
        string("Ports", "Ports of every endpoint.") => ports(slice),
        string("Endpoints", "Addresses of the endpoints.") => endpoints(slice),
        AGE => age(slice, now),
    }
}

fn ports(slice: View<'_, EndpointSlice>) -> Value {
    let port = |port: View<'_, EndpointPort>| match port.to(EndpointPort::PORT).get() {
        Some(number) => number.to_string(),
        None => port.to(EndpointPort::NAME).get().unwrap_or_else(|| "*".to_owned()),
    };
    more3(slice.to(EndpointSlice::PORTS).iter().map(port).collect())
}

fn endpoints(slice: View<'_, EndpointSlice>) -> Value {
    let endpoints = slice.to(EndpointSlice::ENDPOINTS).iter();
    more3(endpoints.flat_map(|endpoint| strings(endpoint.to(Endpoint::ADDRESSES))).map(str::to_owned).collect())
}
