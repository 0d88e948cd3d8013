//! Rules of Endpoints that depend on more than one field.

use crate::shared::{invalid_each, items, text_in};
use pintle_schema::names::ip;
use pintle_types::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};
use pintle_validation::{At, Cx, FieldPath};

/// A subset has addresses, ready or not.
pub fn has_addresses(subset: At<'_, EndpointSubset>, cx: &mut Cx<'_>) {
    let is_empty = |list| items::<EndpointAddress>(list).is_empty();
    let ready = subset.new.field(EndpointSubset::ADDRESSES);
    if is_empty(ready) && is_empty(subset.new.field(EndpointSubset::NOT_READY_ADDRESSES)) {
        cx.errors.required(subset.path, "must specify `addresses` or `notReadyAddresses`");
    }
}

/// An address that packets can be sent to from another node.
pub fn reachable(address: At<'_, EndpointAddress>, cx: &mut Cx<'_>) {
    let ip = address.new.field(EndpointAddress::IP).as_str();
    endpoint_ip(ip, &address.path.to(EndpointAddress::IP), cx);
}

/// Refuses what is no address, too: the reference says so beside what the address's form says.
pub fn endpoint_ip(ip: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    if ip::parse_ip_sloppy(ip).is_none() {
        cx.errors.invalid(path, ip, "must be a valid IP address");
    }
    invalid_each(ip, ip::endpoint_ip(ip), path, cx);
}

/// Ports have names to tell them apart when there are several.
pub fn port_names(ports: At<'_, Vec<EndpointPort>>, cx: &mut Cx<'_>) {
    let list = items(ports.new);
    for at in (0..list.len()).filter(|at| list.len() > 1 && text_in(list, *at, EndpointPort::NAME).is_empty()) {
        cx.errors.required(ports.path.index(at).to(EndpointPort::NAME), "");
    }
}
