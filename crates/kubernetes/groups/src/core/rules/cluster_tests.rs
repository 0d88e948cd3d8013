//! Services, nodes, namespaces and events, as the tables validate them.

use crate::rules::tests::{validate, validate_as};
use pintle_gates as gates;
use pintle_schema::{ApiType, GateSet, Value, value};
use pintle_types::core::v1::{Endpoints, Event, Namespace, Node, Service};
use pintle_validation::{Operation, Request};

fn service() -> Value {
    value!({
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]
        }
    })
}

fn of_service(new: &Value, old: Option<&Value>, part: &str) -> Vec<String> {
    validate(Service::schema(), new, old, part)
}

#[test]
fn of_a_name_elsewhere_the_last_dot_does_not_count() {
    let named = |name: &str| {
        let service = value!({"metadata": {"name": "a", "namespace": "b"},
            "spec": {"type": "ExternalName", "externalName": name, "sessionAffinity": "None"}});
        of_service(&service, None, "")
    };
    assert_eq!(named("example.com."), [""; 0]);
    let lines = named("A..");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("spec.externalName: Invalid value: \"A.\": a lowercase RFC 1123 subdomain"));
}

#[test]
fn a_service_and_its_ports() {
    assert_eq!(of_service(&service(), None, ""), [""; 0]);
    let mut bad = service();
    bad.set_at(
        &["spec", "ports"],
        value!([{"port": 80, "protocol": "TCP", "targetPort": 80}, {"port": 80, "protocol": "TCP", "targetPort": 0}]),
    );
    bad.set_at(&["spec", "type"], "LoadBalancerX");
    assert_eq!(
        of_service(&bad, None, ""),
        [
            "spec.ports[0].name: Required value",
            "spec.ports[1].name: Required value",
            "spec.ports[1].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.type: Unsupported value: \"LoadBalancerX\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
            "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}",
        ]
    );
}

#[test]
fn what_its_type_forbids() {
    let mut alias = service();
    alias.set_at(&["spec", "type"], "ExternalName");
    alias.set_at(&["spec", "clusterIPs"], value!(["10.0.0.1", "10.0.0.2", "10.0.0.3"]));
    alias.set_at(&["spec", "internalTrafficPolicy"], "x");
    alias.set_at(&["spec", "ports"], value!([{"port": 0, "protocol": "TCP", "targetPort": 80}]));
    assert_eq!(
        of_service(&alias, None, ""),
        [
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
            "spec.externalName: Required value",
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.internalTrafficPolicy: Unsupported value: \"x\": supported values: \"Cluster\", \"Local\"",
        ]
    );
    let mut internal = service();
    internal.set_at(&["spec", "ports"], value!([{"port": 0, "protocol": "TCP", "targetPort": 80, "nodePort": 30000}]));
    assert_eq!(
        of_service(&internal, None, ""),
        [
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ]
    );
}

#[test]
fn a_service_keeps_its_address() {
    let mut new = service();
    new.set_at(&["spec", "clusterIP"], "10.0.0.2");
    new.set_at(&["spec", "clusterIPs"], value!(["10.0.0.2"]));
    assert_eq!(
        of_service(&new, Some(&service()), ""),
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"]
    );
    let mut status = service();
    status.set_at(&["status", "loadBalancer", "ingress"], value!([{"ip": "1.2.3.4", "ipMode": "VIP"}]));
    assert_eq!(
        of_service(&status, Some(&service()), "status"),
        ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]
    );
}

#[test]
fn endpoints_have_addresses() {
    let endpoints = |subset: Value| {
        let mut endpoints = value!({"metadata": {"name": "a", "namespace": "b"}});
        endpoints.set_at(&["subsets"], Value::List(vec![subset]));
        validate(Endpoints::schema(), &endpoints, None, "")
    };
    let port = value!({"port": 80, "protocol": "TCP"});
    let mut subset = value!({"addresses": [{"ip": "10.0.0.1"}]});
    subset.set_at(&["ports"], Value::List(vec![port]));
    assert_eq!(endpoints(subset), [""; 0]);
    assert_eq!(
        endpoints(value!({"notReadyAddresses": [{"ip": "127.0.0.1"}]})),
        [
            "subsets[0].notReadyAddresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
        ]
    );
    assert_eq!(
        endpoints(value!({"ports": []})),
        ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]
    );
}

#[test]
fn a_mapped_block_of_a_node_counts_as_the_ipv4_one() {
    let mapped = |at: usize| {
        format!("spec.podCIDRs[{at}]: Invalid value: \"::ffff:1.2.3.0/120\": must not have an IPv4-mapped IPv6 address")
    };
    let rows = [
        (["10.0.0.0/24", "::ffff:1.2.3.0/120"], mapped(1), true),
        (["::ffff:1.2.3.0/120", "10.0.0.0/24"], mapped(0), true),
        (["::ffff:1.2.3.0/120", "fd00::/64"], mapped(0), false),
    ];
    for (blocks, expected, same_family) in rows {
        let node = value!({"metadata": {"name": "a"}, "spec": {"podCIDRs": (blocks.to_vec())}});
        let gates = GateSet::only([&gates::STRICT_IP_CIDR_VALIDATION]);
        let found = validate_as(
            Node::schema(),
            &node,
            None,
            Request { gates: &gates, namespaced: false, ..Request::new(Operation::Create) },
        );
        assert_eq!(found.first(), Some(&expected), "{blocks:?}");
        let last =
            found.last().is_some_and(|line| line.ends_with("may specify no more than one CIDR for each IP family"));
        assert_eq!((last, found.len()), (same_family, 1 + usize::from(same_family)), "{blocks:?}: {found:?}");
    }
}

#[test]
fn a_node_is_not_moved() {
    let node = value!({"metadata": {"name": "a"}, "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}});
    let mut moved = node.clone();
    moved.set_at(&["spec", "podCIDRs"], value!(["10.1.0.0/24"]));
    moved.set_at(&["status", "capacity"], value!({"pods": "1500m", "cpu": "-1"}));
    assert_eq!(
        validate(Node::schema(), &moved, Some(&node), "status"),
        [
            "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0",
            "status.capacity.pods: Invalid value: \"1500m\": must be an integer",
            "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
        ]
    );
    let features = |names: Value| {
        let mut announcing = node.clone();
        announcing.set_at(&["status", "declaredFeatures"], names);
        validate(Node::schema(), &announcing, Some(&node), "status")
    };
    let place = "status.declaredFeatures";
    assert_eq!(features(value!(["A", "B/c"])), [""; 0]);
    assert_eq!(
        features(value!(["B", "A", "A"])),
        [
            format!("{place}[1]: Invalid value: \"A\": list must be sorted alphabetically"),
            format!("{place}[2]: Duplicate value: \"A\""),
        ]
    );
    let malformed =
        format!("{place}[0]: Invalid value: \"a\": invalid feature name \"a\": must start with an UpperCamelCase");
    assert!(features(value!(["a"]))[0].starts_with(&malformed));
    let long = features(value!([("A".repeat(254).as_str())]));
    assert!(long.len() == 1 && long[0].ends_with(": must be no more than 253 characters"), "{long:?}");
    let mut odd = node.clone();
    odd.set_at(&["status", "addresses"], value!([{"type": "a", "address": "b"}, {"type": "a", "address": "b"}]));
    odd.set_at(&["status", "declaredFeatures"], value!(["B", "A", "A", "b"]));
    assert_eq!(
        validate(Node::schema(), &odd, Some(&node), "status"),
        [
            "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically",
            "status.declaredFeatures[2]: Duplicate value: \"A\"",
            "status.declaredFeatures[3]: Invalid value: \"b\": invalid feature name \"b\": must start with an UpperCamelCase \
             segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only \
             alphanumeric characters and slashes",
            "status.addresses[1]: Duplicate value: {\"Type\":\"a\",\"Address\":\"b\"}",
        ]
    );
}

#[test]
fn a_namespace_ends_in_order() {
    let namespace = value!({"metadata": {"name": "a"}, "status": {"phase": "Active"}});
    let mut ended = namespace.clone();
    ended.set_at(&["status", "phase"], "Terminating");
    assert_eq!(
        validate(Namespace::schema(), &ended, Some(&namespace), "status"),
        ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"]
    );
    let mut finalized = namespace.clone();
    finalized.set_at(&["spec", "finalizers"], value!(["foo"]));
    let lines = validate(Namespace::schema(), &finalized, Some(&namespace), "finalize");
    assert!(lines.len() == 1 && lines[0].starts_with("spec.finalizers[0]: Invalid value: \"foo\""), "{lines:?}");
}

#[test]
fn an_event_is_where_its_object_is() {
    let mut event = value!({
        "metadata": {"name": "a", "namespace": "b"}, "involvedObject": {"namespace": "b"}, "eventTime": null
    });
    assert_eq!(validate(Event::schema(), &event, None, ""), [""; 0]);
    event.set_at(&["involvedObject", "namespace"], "c");
    assert_eq!(
        validate(Event::schema(), &event, None, ""),
        ["involvedObject.namespace: Invalid value: \"c\": does not match event.namespace"]
    );
}

#[test]
fn every_plan_is_sound() {
    use pintle_types::{coordination, discovery, networking, node, scheduling};
    let schemas = [
        Service::schema(),
        Endpoints::schema(),
        Node::schema(),
        Namespace::schema(),
        Event::schema(),
        discovery::v1::EndpointSlice::schema(),
        networking::v1::NetworkPolicy::schema(),
        networking::v1::Ingress::schema(),
        networking::v1::IngressClass::schema(),
        networking::v1::IPAddress::schema(),
        networking::v1::ServiceCIDR::schema(),
        coordination::v1::Lease::schema(),
        coordination::v1beta1::LeaseCandidate::schema(),
        node::v1::RuntimeClass::schema(),
        scheduling::v1::PriorityClass::schema(),
    ];
    for schema in schemas {
        assert_eq!(crate::tests::resource_for(schema).rules.plan(schema).problems, [], "{}", schema.name.as_str());
    }
}
