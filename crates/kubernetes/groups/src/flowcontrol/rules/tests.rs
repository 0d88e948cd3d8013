//! Tests of the rules of flow control on single objects.
use pintle_schema::gates::ALL_GATES;

use crate::rules::tests::validate_as;
use pintle_schema::{ApiType, Struct, Value, value};
use pintle_types::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use pintle_validation::{Operation, Request};

fn validate(schema: &'static Struct, object: Value) -> Vec<String> {
    validate_as(
        schema,
        &object,
        None,
        Request {
            api_version: "flowcontrol.apiserver.k8s.io/v1",
            namespaced: false,
            gates: &ALL_GATES,
            ..Request::new(Operation::Create)
        },
    )
}

fn flow_schema(name: &str, rule: Value) -> Vec<String> {
    let spec = value!({"priorityLevelConfiguration": {"name": "a"}, "matchingPrecedence": 5, "rules": [(rule)]});
    validate(FlowSchema::schema(), value!({"metadata": {"name": name}, "spec": spec}))
}

#[test]
fn errors_of_subjects_are_in_the_field_of_their_kind() {
    let of = |subject: Value| {
        let urls = value!([{"verbs": ["get"], "nonResourceURLs": ["/a"]}]);
        flow_schema("x", value!({"subjects": [(subject)], "nonResourceRules": urls}))
    };
    assert!(of(value!({"kind": "Group", "group": {"name": "g"}})).is_empty());
    assert_eq!(
        of(value!({"kind": "Group", "user": {"name": "u"}})),
        [
            "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
            "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
        ]
    );
    assert_eq!(
        of(value!({"kind": "User", "user": {"name": ""}, "serviceAccount": {"name": "", "namespace": ""}})),
        [
            "spec.rules[0].subjects[0].user.name: Required value",
            "spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
        ]
    );
    assert_eq!(
        of(value!({"kind": "x"})),
        [
            "spec.rules[0].subjects[0].kind: Unsupported value: \"x\": supported values: \"Group\", \"ServiceAccount\", \"User\""
        ]
    );
}

#[test]
fn what_flow_control_needs_stays() {
    let reported = flow_schema("exempt", value!({}));
    assert!(
        reported.last().is_some_and(|last| last.ends_with("spec of 'exempt' must equal the fixed value")),
        "{reported:?}"
    );
    let level = |shares: i32| {
        validate(
            PriorityLevelConfiguration::schema(),
            value!({"metadata": {"name": "catch-all"}, "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": shares, "limitResponse": {"type": "Reject"}, "lendablePercent": 0
            }}}),
        )
    };
    assert!(level(5).is_empty(), "{:?}", level(5));
    assert!(matches!(&level(6)[..], [only] if only.starts_with("spec: Invalid value: {")), "{:?}", level(6));
}

#[test]
fn what_a_level_does_not_use_is_not_validated() {
    let level = |spec: Value| {
        validate(PriorityLevelConfiguration::schema(), value!({"metadata": {"name": "a"}, "spec": spec})).len()
    };
    let queuing = value!({"queues": 1, "handSize": 2, "queueLengthLimit": (-1)});
    let limited = |response: Value| value!({"nominalConcurrencyShares": (-1), "limitResponse": (response)});
    let of = |kind: &str, response: Value| level(value!({"type": kind, "limited": (limited(response))}));
    assert_eq!(of("Limited", value!({"type": "Queue", "queuing": (queuing.clone())})), 3);
    assert_eq!(of("Limited", value!({"type": "Reject", "queuing": (queuing.clone())})), 2);
    assert_eq!(of("Limited", value!({"type": "x", "queuing": (queuing)})), 2);
    assert_eq!(of("x", value!({"type": "x"})), 1);
}

#[test]
fn limits_of_an_exempt_level_come_before_its_shares() {
    let spec =
        value!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": (-1), "lendablePercent": 101}, "limited": {}});
    let found = validate(PriorityLevelConfiguration::schema(), value!({"metadata": {"name": "a"}, "spec": spec}));
    let fields: Vec<&str> = found.iter().filter_map(|error| error.split(": ").next()).collect();
    let shares = ["spec.exempt.nominalConcurrencyShares", "spec.exempt.lendablePercent"];
    assert_eq!(fields, [&["spec.type", "spec.limited"][..], &shares[..]].concat());
}
