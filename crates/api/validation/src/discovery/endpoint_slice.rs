//! Rules of EndpointSlice.

use crate::core::endpoints::endpoint_ip;
use crate::shared::{Repeats, immutable, invalid_each, items, legacy_ip, text_in};
use crate::warnings::{Written, address, each};
use pintle_schema::names::{self, ip};
use pintle_schema::{FieldName, Value};
use pintle_types::discovery::v1::{Endpoint, EndpointPort, EndpointSlice, ForNode, ForZone};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, Cx, FieldPath};

/// A slice keeps the kind of its addresses.
pub fn keeps_address_type(slice: At<'_, EndpointSlice>, cx: &mut Cx<'_>) {
    slice.field(EndpointSlice::ADDRESS_TYPE, |kind| immutable(kind, cx));
}

/// Each port has a name of its own, which may be empty.
pub fn port_names(ports: At<'_, Vec<EndpointPort>>, cx: &mut Cx<'_>) {
    let list = items(ports.new);
    let mut repeats = Repeats::new(list.len(), |at| text_in(list, at, EndpointPort::NAME));
    for at in 0..list.len() {
        let name = text_in(list, at, EndpointPort::NAME);
        let path = ports.path.index(at);
        let path = path.to(EndpointPort::NAME);
        if !name.is_empty() {
            invalid_each(name, names::dns1123_label(name), &path, cx);
        }
        if repeats.is_repeated(at) {
            cx.errors.duplicate(path, name);
        }
    }
}

/// Addresses are of the slice's kind.
pub fn addresses(addresses: At<'_, Vec<String>>, cx: &mut Cx<'_>) {
    let kind = cx.root::<EndpointSlice>().field(EndpointSlice::ADDRESS_TYPE).value().as_str().unwrap_or_default();
    for (at, address) in items(addresses.new).iter().enumerate() {
        let text = address.as_str().unwrap_or_default();
        let path = addresses.path.index(at);
        match kind {
            "IPv4" if legacy_ip(text, &path, cx) => of_family(text, true, addresses.path, &path, cx),
            "IPv6" if invalid_each(text, ip::ip(text), &path, cx) => of_family(text, false, addresses.path, &path, cx),
            "FQDN" => domain(text, &path, cx),
            _ => {}
        }
    }
}

fn of_family(address: &str, v4: bool, list: &FieldPath<'_>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    if ip::parse_ip_sloppy(address).is_some_and(|parsed| parsed.is_ipv4() != v4) {
        let detail = if v4 { "must be an IPv4 address" } else { "must be an IPv6 address" };
        cx.errors.invalid(list, address, detail);
    }
    endpoint_ip(address, path, cx);
}

fn domain(name: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    match names::fully_qualified_domain_name(name) {
        Ok(()) => {}
        Err(names::Fault::Required) => cx.errors.required(path, ""),
        Err(names::Fault::Invalid { value, detail }) => cx.errors.invalid(path, value, detail),
    }
}

/// A hint names a zone once.
pub fn zones_once(zones: At<'_, Vec<ForZone>>, cx: &mut Cx<'_>) {
    once(zones, ForZone::NAME, cx);
}

/// A hint names a node once.
pub fn nodes_once(nodes: At<'_, Vec<ForNode>>, cx: &mut Cx<'_>) {
    once(nodes, ForNode::NAME, cx);
}

fn once<T>(list: At<'_, Vec<T>>, name: FieldName<T, String>, cx: &mut Cx<'_>) {
    let hints = items(list.new);
    let mut repeats = Repeats::new(hints.len(), |at| text_in(hints, at, name));
    for at in (0..hints.len()).filter(|at| repeats.is_repeated(*at)) {
        cx.errors.duplicate(list.path.index(at).to(name), text_in(hints, at, name));
    }
}

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGERS: [&str; 2] = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// Names instead of addresses, and addresses that people wrote.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let slice = written.view::<EndpointSlice>();
    if slice.field(EndpointSlice::ADDRESS_TYPE).value().as_str() == Some("FQDN") {
        if written.is_new() {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        return;
    }
    let labels = slice.field(EndpointSlice::METADATA).field(ObjectMeta::LABELS).value();
    if labels.get(MANAGED_BY).and_then(Value::as_str).is_some_and(|manager| MANAGERS.contains(&manager)) {
        return;
    }
    let path = FieldPath::new(EndpointSlice::ENDPOINTS.name());
    for (at, endpoint) in slice.field(EndpointSlice::ENDPOINTS).iter().enumerate() {
        let list = endpoint.field(Endpoint::ADDRESSES);
        each(list, &path.index(at).to(Endpoint::ADDRESSES), warnings, address);
    }
}
