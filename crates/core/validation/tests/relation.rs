//! Tags that refer to other fields: on create, and on updates that change one or the other.

mod common;

use pintle_schema::gates::ALL_GATES;
use pintle_schema::{ApiType, Struct, Value, value};
use pintle_validation::{Group, KindRules, Pass};
use std::collections::BTreeMap;

/// A port.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Port {
    /// Its name.
    #[k8s(proto = 1, optional)]
    name: String,
    /// Its number at nodes.
    #[k8s(proto = 2, optional)]
    node: i32,
}

/// A pair.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    message(invalid = "one is needed")(at_least_one("left", "right", "third")),
    at_most_one("flag", "third"),
    when(flag = "true")(subfield(left)(required = "with a flag"))
)]
struct Pair {
    /// One.
    #[k8s(proto = 1, optional)]
    left: Option<i32>,
    /// Two.
    #[k8s(proto = 2, optional)]
    right: Option<i32>,
    /// Three.
    #[k8s(proto = 3, optional)]
    third: String,
    /// Flag.
    #[k8s(proto = 4, optional)]
    flag: bool,
}

/// A thing.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Thing {
    /// What it is.
    #[k8s(proto = 1, optional)]
    kind: String,
    /// An address.
    #[k8s(
        proto = 2,
        when(kind = "Near|Far")(required = "near or far"),
        unless(kind = "Near|Far")(forbidden),
        message(detail = "not a label")(format = "dns1123-label")
    )]
    address: Option<String>,
    /// Ports.
    #[k8s(
        proto = 3,
        optional,
        list_type = atomic,
        distinct(name),
        each_val(when_several(subfield(name)(message(detail = "of several")(required)))),
        when(kind = "Near")(each_val(subfield(node)(forbidden = "never near")))
    )]
    ports: Vec<Port>,
    /// Low.
    #[k8s(proto = 4, optional, not_above(high = "higher than high"))]
    low: Option<i32>,
    /// High.
    #[k8s(proto = 5, optional, when_unset(low)(message(invalid = "alone")(forbidden)))]
    high: Option<i32>,
    /// Labels.
    #[k8s(proto = 6, optional, labels, each_entry_key(max_bytes = 2))]
    labels: BTreeMap<String, String>,
    /// Settled.
    #[k8s(proto = 8, optional, fixed = "stays", max_length = 3)]
    settled: String,
    /// Counted.
    #[k8s(proto = 9, monotonic)]
    count: Option<i32>,
    /// Owner.
    #[k8s(proto = 10, message(invalid = "nobody's", value = "")(forbidden))]
    owner: String,
    /// Checked in turn.
    #[k8s(proto = 12, optional, when_unset(low)(min_length = 3))]
    absent: String,
    /// Checked in turn.
    #[k8s(proto = 11, optional, first(min_length = 2), max_length = 1, last(neq = "abc"))]
    turn: Option<String>,
    /// Pair.
    #[k8s(proto = 7, optional, when_set(low)(subfield(right)(not_above(left = "right of left"))))]
    pair: Option<Pair>,
}

/// A part of a place.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Room {
    /// Its name.
    #[k8s(proto = 1, optional, max_length = 2)]
    name: String,
}

/// A struct whose rules read its own fields.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    subfield(left)(required = "both"),
    subfield(right)(required = "both"),
    when(left = "l")(message(invalid = "not with l", value = "it")(at_most_one("left", "right")))
)]
struct Place {
    /// Left.
    #[k8s(proto = 1, optional)]
    left: String,
    /// Right.
    #[k8s(proto = 2, optional, when(left = "a")(forbidden))]
    right: String,
    /// Rooms.
    #[k8s(proto = 3, optional, list_type = atomic, distinct_items(name))]
    rooms: Vec<Room>,
    /// Doors.
    #[k8s(proto = 4, optional, list_type = atomic, distinct_with_absent(name))]
    doors: Vec<Room>,
}

/// A holder of a place.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Holder {
    /// The place.
    #[k8s(proto = 1)]
    place: Place,
}

static GROUP: Group = Group {
    kinds: &[
        KindRules { create: &[Pass::Rules], update: &[Pass::Rules], parts: &[], of: Thing::schema },
        KindRules { create: &[Pass::Rules], update: &[Pass::Rules], parts: &[], of: Holder::schema },
    ],
    custom_rules: &[],
    ..Group::NONE
};

fn validate(new: &Value, old: Option<&Value>) -> Vec<String> {
    validate_as(Thing::schema(), new, old)
}

fn validate_as(schema: &'static Struct, new: &Value, old: Option<&Value>) -> Vec<String> {
    let verdict = common::validate(&GROUP, schema, new, old, &ALL_GATES);
    verdict.errors.0.iter().map(|error| error.line()).collect()
}

fn created(new: Value) -> Vec<String> {
    validate(&new, None)
}

const NONE: [&str; 0] = [];

#[test]
fn conditions() {
    assert_eq!(created(value!({})), NONE);
    assert_eq!(created(value!({"kind": "Far"})), ["address: Required value: near or far"]);
    assert_eq!(created(value!({"kind": "Other", "address": "a"})), ["address: Forbidden"]);
    assert_eq!(created(value!({"high": 1})), ["high: Invalid value: 1: alone"]);
    assert_eq!(
        created(value!({"kind": "Near", "address": "a", "ports": [{"name": "a"}, {"name": "b", "node": 1}]})),
        ["ports[1].node: Forbidden: never near"]
    );
}

#[test]
fn words() {
    // Two messages about one field are one.
    let long = format!("{}-", "A".repeat(70));
    let errors = created(value!({"kind": "Far", "address": (long.clone())}));
    assert_eq!(errors, [format!("address: Invalid value: {long:?}: not a label")]);
}

#[test]
fn numbers() {
    assert_eq!(created(value!({"low": 3, "high": 3})), NONE);
    assert_eq!(created(value!({"low": 3, "high": 2})), ["low: Invalid value: 3: higher than high"]);
    let pair = |left: i64, right: i64| value!({"low": 1, "pair": {"left": left, "right": right}});
    assert!(created(pair(1, 2)).contains(&"pair.right: Invalid value: 2: right of left".to_owned()));
}

#[test]
fn fields_together() {
    assert_eq!(created(value!({"pair": {}})), ["pair: Invalid value: {}: one is needed"]);
    assert_eq!(
        created(value!({"pair": {"left": 1, "right": 2, "third": "x", "flag": true}})),
        [
            "pair: Invalid value: {\"left\":1,\"right\":2,\"third\":\"x\",\"flag\":true}: must specify at most one of: `flag`, `third`",
        ]
    );
    assert_eq!(created(value!({"pair": {"right": 2, "flag": true}})), ["pair.left: Required value: with a flag"]);
}

#[test]
fn items() {
    let ports = value!({"ports": [{"name": "a"}, {}, {"name": "a"}]});
    assert_eq!(created(ports), ["ports[1].name: Required value: of several", "ports[2].name: Duplicate value: \"a\""]);
    let label = format!("labels: Invalid value: {:?}", "a b");
    let errors = created(value!({"labels": {"x": "a b"}}));
    assert!(errors.len() == 1 && errors[0].starts_with(&label), "{errors:?}");
    assert_eq!(created(value!({"labels": {"long": ""}})), ["labels[long]: Too long: may not be more than 2 bytes"]);
}

#[test]
fn turns() {
    let short = created(value!({"turn": ""}));
    assert_eq!(short, ["turn: Too short: must be at least 2 characters"]);
    let long = created(value!({"turn": "abc"}));
    assert_eq!(
        long,
        [
            "turn: Too long: may not be more than 1 character",
            "turn: Invalid value: \"abc\": must not be equal to \"abc\""
        ]
    );
    assert_eq!(created(value!({"owner": "me"})), ["owner: Invalid value: \"\": nobody's"]);
}

#[test]
fn what_stays() {
    let old = value!({"settled": "a", "count": 2});
    assert_eq!(
        validate(&value!({"settled": "abcd", "count": 1}), Some(&old)),
        [
            "settled: Invalid value: \"abcd\": stays",
            "settled: Too long: may not be more than 3 characters",
            "count: Invalid value: 1: cannot be decremented",
        ]
    );
    assert_eq!(validate(&value!({"settled": "a"}), Some(&old)), ["count: Invalid value: 0: cannot be decremented"]);
    assert_eq!(
        validate(&value!({"settled": "a", "count": 2}), Some(&value!({}))),
        ["settled: Invalid value: \"a\": stays"]
    );
}

#[test]
fn what_a_rule_depends_on_changes() {
    let old = value!({"kind": "Far", "address": "A", "ports": [{"node": 1}], "low": 1, "high": 1});
    assert_eq!(validate(&old, Some(&old)), NONE);
    // Neither the label nor the ports changed, but their parent did.
    let near = value!({"kind": "Near", "address": "A", "ports": [{"node": 1}], "low": 1, "high": 1});
    assert_eq!(validate(&near, Some(&old)), ["ports[0].node: Forbidden: never near"]);
    let other = value!({"kind": "Other", "address": "A", "ports": [{"node": 1}], "low": 2, "high": 1});
    assert_eq!(validate(&other, Some(&old)), ["address: Forbidden", "low: Invalid value: 2: higher than high"]);
    // An unset value is validated no more than before.
    assert_eq!(validate(&value!({"high": 0}), Some(&value!({"low": 0, "high": 0}))), ["high: Invalid value: 0: alone"]);
}

#[test]
fn rules_of_the_struct_and_of_its_fields() {
    let place = |place: Value| validate_as(Holder::schema(), &value!({ "place": place }), None);
    assert_eq!(
        place(value!({"left": "l", "right": "r"})),
        ["place: Invalid value: \"it\": not with l"],
        "of the struct"
    );
    assert_eq!(place(value!({"left": "a", "right": "r"})), ["place.right: Forbidden"], "of a field");
    // The second room is reported once as an item, and each name as a field.
    assert_eq!(
        place(value!({"left": "x", "right": "y", "rooms": [{"name": "abc"}, {"name": "abc"}, {}, {}]})),
        [
            "place.rooms[1]: Duplicate value: \"abc\"",
            "place.rooms[3]: Duplicate value: \"\"",
            "place.rooms[0].name: Too long: may not be more than 2 characters",
            "place.rooms[1].name: Too long: may not be more than 2 characters",
        ]
    );
    assert_eq!(
        place(value!({"left": "x", "right": "y", "doors": [{"name": "ab"}, {}, {"name": "ab"}, {}]})),
        ["place.doors[2].name: Duplicate value: \"ab\"", "place.doors[3].name: Duplicate value: \"\""]
    );
}

#[test]
fn each_of_several_fields() {
    let errors = validate_as(Holder::schema(), &value!({"place": {}}), None);
    assert_eq!(errors, ["place.left: Required value: both", "place.right: Required value: both"]);
}

#[test]
fn a_rule_runs_again_if_the_field_that_it_reads_changed() {
    let place = |left: &str| value!({"place": {"left": left, "right": "r"}});
    assert_eq!(validate_as(Holder::schema(), &place("a"), Some(&place("b"))), ["place.right: Forbidden"]);
    assert_eq!(validate_as(Holder::schema(), &place("a"), Some(&place("a"))), NONE);
}
