//! Rules of EndpointSlice.

use crate::core::rules::endpoints::endpoint_ip;
use crate::rules::warnings::{Written, address, each};
use crate::rules::{Repeats, invalid_each, items, legacy_ip, text_in};
use pintle_schema::Value;
use pintle_schema::names::{self, ip};
use pintle_types::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext};

/// With more, nothing else of them is validated.
const MAX_PORTS: usize = 20_000;

/// Ports have distinct names; one may have none.
pub fn distinct_ports(ports: At<'_, Vec<EndpointPort>>, cx: &mut ValidationContext<'_>) {
    let items = items(ports.new);
    if items.len() > MAX_PORTS {
        return;
    }
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, EndpointPort::NAME));
    for index in 0..items.len() {
        if repeats.is_repeated(index) {
            let name = text_in(items, index, EndpointPort::NAME);
            cx.errors.duplicate(ports.path.index(index).to(EndpointPort::NAME), name);
        }
    }
}

/// Addresses are of the slice's kind.
pub fn addresses(addresses: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
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

fn of_family(address: &str, v4: bool, list: &FieldPath<'_>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    // An IPv4-mapped address counts as IPv4.
    if ip::parse_ip_sloppy(address).is_some_and(|parsed| parsed.to_canonical().is_ipv4() != v4) {
        let detail = if v4 { "must be an IPv4 address" } else { "must be an IPv6 address" };
        cx.errors.invalid(list, address, detail);
    }
    endpoint_ip(address, path, cx);
}

fn domain(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    match names::fully_qualified_domain_name(name) {
        Ok(()) => {}
        Err(names::Fault::Required) => cx.errors.required(path, ""),
        Err(names::Fault::Invalid { value, detail }) => cx.errors.invalid(path, value, detail),
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

#[cfg(test)]
mod tests {
    use crate::rules::tests::validate_as;
    use pintle_gates as gates;
    use pintle_schema::gates::NO_GATES;
    use pintle_schema::{ApiType, value};
    use pintle_types::discovery::v1::EndpointSlice;
    use pintle_validation::{Operation, Request};

    #[test]
    fn a_repeated_name_is_reported_with_what_is_wrong_with_it() {
        let port = || value!({"name": "A_", "protocol": "X"});
        let slice = value!({
            "metadata": {"name": "a", "namespace": "b"}, "addressType": "IPv4", "endpoints": [],
            "ports": [(port()), (port())]
        });
        let lines = validate_as(EndpointSlice::schema(), &slice, None, Request::new(Operation::Create));
        let starts = |field: &str| lines.iter().position(|line| line.starts_with(field));
        let repeated = lines.iter().position(|line| line.contains("Duplicate"));
        assert!(starts("ports[1].name") < repeated && repeated < starts("ports[1].protocol"), "{lines:?}");
    }

    #[test]
    fn a_mapped_address_counts_as_the_ipv4_one() {
        let validate = |kind: &str, strict: bool| {
            let slice = value!({
                "metadata": {"name": "a", "namespace": "b"}, "addressType": kind, "ports": [],
                "endpoints": [{"addresses": ["::ffff:1.2.3.4"]}],
            });
            let gates = NO_GATES.clone().with(&gates::STRICT_IP_CIDR_VALIDATION, strict);
            validate_as(
                EndpointSlice::schema(),
                &slice,
                None,
                Request { gates: &gates, ..Request::new(Operation::Create) },
            )
        };
        let fault =
            "endpoints[0].addresses[0]: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address";
        for (kind, strict, expected) in
            [("IPv4", false, vec![]), ("IPv4", true, vec![fault]), ("IPv6", false, vec![fault])]
        {
            assert_eq!(validate(kind, strict), expected, "{kind}");
        }
    }
}
