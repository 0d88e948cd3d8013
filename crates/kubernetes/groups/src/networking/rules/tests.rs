//! Tests of the rules of policies, ingresses and service CIDRs.

use crate::rules::tests::validate;
use pintle_schema::{ApiType, Value, value};
use pintle_types::networking::v1::{Ingress, NetworkPolicy, ServiceCIDR};

fn named(spec: Value) -> Value {
    let mut object = value!({"metadata": {"name": "a", "namespace": "b"}});
    object.set_at(&["spec"], spec);
    object
}

#[test]
fn what_a_policy_leaves_out_lies_inside() {
    let policy = |block: Value| {
        let mut peer = Value::map();
        peer.set_at(&["ipBlock"], block);
        let mut rule = Value::map();
        rule.set_at(&["from"], Value::List(vec![peer]));
        let mut spec = value!({"podSelector": {}, "policyTypes": ["Ingress"]});
        spec.set_at(&["ingress"], Value::List(vec![rule]));
        validate(NetworkPolicy::schema(), &named(spec), None, "")
    };
    assert_eq!(policy(value!({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]})), [""; 0]);
    assert_eq!(
        policy(value!({"cidr": "10.0.0.0/8", "except": ["11.1.0.0/16"]})),
        [
            "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.1.0.0/16\": must be a strict subset of `cidr`"
        ]
    );
    assert_eq!(policy(value!({})), ["spec.ingress[0].from[0].ipBlock.cidr: Required value"]);
}

#[test]
fn an_ingress_leads_somewhere() {
    let validate = |spec: Value| validate(Ingress::schema(), &named(spec), None, "");
    let backend = value!({"service": {"name": "s", "port": {"number": 80}}});
    let mut good = Value::map();
    good.set_at(&["defaultBackend"], backend);
    assert_eq!(validate(good), [""; 0]);
    assert_eq!(
        validate(Value::Null),
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
    );
    let rule = value!({"http": {"paths": [{"path": "a", "pathType": "Exact", "backend": {}}, {"path": "/"}]}});
    let mut bad = Value::map();
    bad.set_at(&["rules"], Value::List(vec![rule]));
    assert_eq!(
        validate(bad),
        [
            "spec.rules[0].http.paths[0].path: Invalid value: \"a\": must be an absolute path",
            "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
            "spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
        ]
    );
}

#[test]
fn a_range_only_grows() {
    let range = |cidrs: Value| {
        let mut range = value!({"metadata": {"name": "a"}, "spec": {}});
        range.set_at(&["spec", "cidrs"], cidrs);
        range
    };
    let old = range(value!(["10.0.0.0/24"]));
    let update = |cidrs: Value| validate(ServiceCIDR::schema(), &range(cidrs), Some(&old), "");
    assert_eq!(update(value!(["10.0.0.0/24", "fd00::/64"])), [""; 0]);
    assert_eq!(update(value!(["10.1.0.0/24"])), ["spec.cidrs[0]: Invalid value: \"10.1.0.0/24\": field is immutable"]);
    assert_eq!(update(value!([])), ["spec.cidrs: Invalid value: null: field is immutable"]);
}

#[test]
fn errors_of_a_port_come_in_the_order_of_its_validation() {
    let rule = value!({"ports": [{"protocol": "X", "port": "!", "endPort": 3}]});
    let policy = named(value!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [rule]}));
    let lines = validate(NetworkPolicy::schema(), &policy, None, "");
    let mut fields: Vec<&str> =
        lines.iter().filter_map(|line| line.split("ports[0].").nth(1)?.split(':').next()).collect();
    fields.dedup();
    assert_eq!(fields, ["protocol", "endPort", "port"]);
}

/// An empty selector chooses all pods: it is not the same as none.
#[test]
fn an_update_adds_no_second_way_to_choose_peers() {
    let policy = |peer: Value| {
        let mut rule = Value::map();
        rule.set_at(&["from"], Value::List(vec![peer]));
        let mut spec = value!({"podSelector": {}, "policyTypes": ["Ingress"]});
        spec.set_at(&["ingress"], Value::List(vec![rule]));
        named(spec)
    };
    let old = policy(value!({"ipBlock": {"cidr": "10.0.0.0/8"}}));
    let new = policy(value!({"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}));
    assert_eq!(
        validate(NetworkPolicy::schema(), &new, Some(&old), ""),
        ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"]
    );
}
