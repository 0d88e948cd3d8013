//! The engine on the test's own types: every tag, updates, stages, and ratcheting.

mod common;

use pintle_schema::gates::{DECLARATIVE_VALIDATION, DECLARATIVE_VALIDATION_BETA};
use pintle_schema::rules::{ErrorKind, Fault, Payload, RuleFunction, RuleInput};
use pintle_schema::{ApiType, Gate, GateSet, Type, Value, string_type, value};
use pintle_validation::{At, CustomRule, Group, KindRules, Pass, ValidationContext, at_field, at_type, field_order};
use std::collections::BTreeMap;

const GATE: Gate = Gate::new("Gate", &[pintle_schema::gates::alpha(36)]);

string_type! {
    /// A color.
    pub Color {
        /// Red.
        RED = "Red",
        /// Blue.
        BLUE = "Blue",
    }
}

/// A part.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Part {
    /// Its name.
    #[k8s(proto = 1, required, format = "dns1123-label")]
    name: String,
    /// Its size.
    #[k8s(proto = 2, optional, minimum = 1, maximum = 9)]
    size: i32,
    /// Fixed.
    #[k8s(proto = 3, optional, immutable, max_length = 4)]
    fixed: String,
    /// More of them.
    #[k8s(proto = 4, optional, list_type = map, list_map_keys("name"))]
    parts: Vec<Part>,
}

/// One of two.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Choice {
    /// Which.
    #[k8s(proto = 1, union_discriminator)]
    kind: String,
    /// A.
    #[k8s(proto = 2, union_member)]
    left: Option<i32>,
    /// B.
    #[k8s(proto = 3, union_member(value = "Other"))]
    right: Option<i32>,
    /// At most one.
    #[k8s(proto = 4, zero_or_one_of(union = "z"))]
    x: Option<i32>,
    /// At most one.
    #[k8s(proto = 5, zero_or_one_of(union = "z"))]
    y: Option<i32>,
}

/// Has the name of something that the derive's output needs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Rule {
    /// Its verb.
    #[k8s(proto = 1, optional, max_length = 4)]
    verb: String,
}

/// The whole.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Whole {
    /// Parts.
    #[k8s(proto = 1, optional, list_type = map, list_map_keys("name"), unique, max_items = 3)]
    parts: Vec<Part>,
    /// A color.
    #[k8s(proto = 2, enum)]
    color: Color,
    /// A choice.
    #[k8s(proto = 3, optional)]
    choice: Option<Choice>,
    /// Labels.
    #[k8s(proto = 4, optional, each_key(format = "k8s-label-key"), each_val(max_bytes = 3))]
    labels: BTreeMap<String, String>,
    /// A part without rules of its own, but for one.
    #[k8s(proto = 5, optional, opaque_type, subfield(size)(maximum = 2))]
    loose: Option<Part>,
    /// Numbers.
    #[k8s(proto = 6, optional, each_val(rule(MULTIPLE, 4)), custom = few)]
    numbers: Vec<i32>,
    /// Behind a gate.
    #[k8s(proto = 7, optional, if_disabled(GATE)(forbidden), if_enabled(GATE)(min_length = 3, update(no_unset)))]
    gated: Option<String>,
    /// Compared.
    #[k8s(proto = 8, optional, alpha("1.36")(minimum = 0))]
    alpha: i32,
    /// Answered.
    #[k8s(proto = 9, optional, beta("1.36")(minimum = 0))]
    beta: i32,
    /// One item has more to it.
    #[k8s(proto = 10, optional, list_type = map, list_map_keys("name"), item(name = "first")(subfield(size)(neq = 5)))]
    items: Vec<Part>,
    /// A rule.
    #[k8s(proto = 11, optional)]
    rule: Option<Rule>,
    /// Its rule breaks.
    #[k8s(proto = 12, optional, alpha("1.36")(custom = explode), max_length = 4)]
    fragile: String,
    /// At most one of two items.
    #[k8s(
        proto = 13,
        optional,
        list_type = map,
        list_map_keys("name"),
        item(name = "a")(zero_or_one_of),
        item(name = "b")(zero_or_one_of)
    )]
    one_item: Vec<Part>,
    /// Checked after all else, and by another field.
    #[k8s(proto = 14, optional, last(when(color = "Blue")(forbidden = "never blue")))]
    late: String,
    /// A comparison-only rule never ends the validation.
    #[k8s(proto = 15, optional, alpha("1.36")(forbidden), max_length = 4)]
    compared: String,
}

static MULTIPLE: RuleFunction = RuleFunction {
    name: "multiple",
    doc: "A multiple of the payload.",
    accepts: |ty, _| if matches!(ty, Type::Int32) { Ok(()) } else { Err("for an integer".to_owned()) },
    validate: |RuleInput { value, payload, .. }| match (value.as_i64(), payload) {
        (Some(number), Payload::Int(of)) if number % of != 0 => {
            vec![Fault { kind: ErrorKind::Invalid, detail: format!("must be a multiple of {of}") }]
        }
        _ => Vec::new(),
    },
    published: |payload| match payload {
        Payload::Int(of) => Some(("multipleOf", Value::Int(*of))),
        _ => None,
    },
};

fn explode(_: RuleInput<'_>) -> Vec<Fault> {
    panic!("a staged rule of the test's own")
}

fn few(validated: RuleInput<'_>) -> Vec<Fault> {
    match validated.value.as_list().map_or(0, <[Value]>::len) {
        0..=2 => Vec::new(),
        many => vec![Fault { kind: ErrorKind::Forbidden, detail: format!("{many} are too many") }],
    }
}

fn alpha(at: At<'_, i32>, cx: &mut ValidationContext<'_>) {
    if at.new.get() < -5 {
        cx.errors.invalid(at.path, at.new.get(), "far too small");
    }
}

fn verb(at: At<'_, String>, cx: &mut ValidationContext<'_>) {
    if cx.root::<Whole>().field(Whole::ALPHA).get() == 9 {
        cx.errors.forbidden(at.path, "nine");
    }
}

fn last(at: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if at.new.field(Whole::COLOR).value().as_str() == Some("Panic") {
        panic!("a rule of the test's own");
    }
    if at.new.field(Whole::ALPHA).get() == 7 {
        cx.errors.forbidden(at.path.to(Whole::ALPHA), "seven");
    }
}

static GROUP: Group = Group {
    kinds: &[KindRules { create: &[Pass::Rules], update: &[Pass::Rules], parts: &[], of: Whole::schema }],
    custom_rules: HAND,
    orders: &[field_order!(Whole: [COLOR])],
    ..Group::NONE
};
static HAND: &[CustomRule] = &[
    at_field!(Whole::ALPHA, alpha, COVERED),
    at_field!(Rule::VERB, verb, ALWAYS),
    at_type!(Whole, last, phase = After),
];

struct Validation {
    lines: Vec<String>,
    mismatches: usize,
    panicked: bool,
}

fn validate_with(new: &Value, old: Option<&Value>, gates: &[&'static Gate]) -> Validation {
    let gates = GateSet::only(gates.iter().copied());
    let verdict = common::validate(&GROUP, Whole::schema(), new, old, &gates);
    Validation {
        lines: verdict.errors.0.iter().map(|error| error.line()).collect(),
        mismatches: verdict.mismatches.len(),
        panicked: verdict.panicked,
    }
}

fn validate(new: Value) -> Vec<String> {
    let mut new = new;
    if new.get("color").is_none() {
        new.set_at(&["color"], "Red");
    }
    validate_with(&new, None, &[]).lines
}

fn update(new: &Value, old: &Value) -> Vec<String> {
    validate_with(new, Some(old), &[]).lines
}

#[test]
fn single_values() {
    assert_eq!(validate(value!({})), Vec::<String>::new());
    assert_eq!(
        validate(value!({"color": "Green"})),
        ["color: Unsupported value: \"Green\": supported values: \"Blue\", \"Red\""]
    );
    assert_eq!(
        validate(value!({"parts": [{"name": "A"}, {"name": "b", "size": 10}, {"size": (-1)}]}))[1..],
        [
            "parts[1].size: Invalid value: 10: must be less than or equal to 9",
            "parts[2].name: Required value",
            "parts[2].size: Invalid value: -1: must be greater than or equal to 1",
        ]
    );
    assert_eq!(
        validate(value!({"labels": {"a b": "1", "c": "1234"}}))[1..],
        ["labels[c]: Too long: may not be more than 3 bytes"]
    );
    assert_eq!(
        validate(value!({"loose": {"size": 3}})),
        ["loose.size: Invalid value: 3: must be less than or equal to 2"]
    );
}

#[test]
fn lists() {
    assert_eq!(
        validate(value!({"parts": [{"name": "a"}, {"name": "a"}]})),
        ["parts[1]: Duplicate value: {\"name\":\"a\"}"]
    );
    let many = value!({"parts": [{"name": "A"}, {"name": "B"}, {"name": "C"}, {"name": "D"}]});
    // The items of a list that is too long are not validated.
    assert_eq!(validate(many), ["parts: Too many: 4: must have at most 3 items"]);
    assert_eq!(
        validate(value!({"items": [{"name": "first", "size": 5}, {"name": "second", "size": 5}]})),
        ["items[0].size: Invalid value: 5: must not be equal to 5"]
    );
    let nested = value!({"parts": [{"name": "a", "parts": [{"name": "b", "parts": [{"name": ""}]}]}]});
    assert_eq!(validate(nested), ["parts[0].parts[0].parts[0].name: Required value"]);
}

#[test]
fn unions() {
    assert_eq!(validate(value!({"choice": {"kind": "Left", "left": 0}})), Vec::<String>::new());
    assert_eq!(
        validate(value!({"choice": {"kind": "Left", "right": 1, "x": 1, "y": 2}})),
        [
            "choice.left: Invalid value: \"\": must be specified when `kind` is \"Left\"",
            "choice.right: Invalid value: \"\": may only be specified when `kind` is \"Other\"",
            "choice: Invalid value: \"{x, y}\": must specify at most one of: `x`, `y`",
        ]
    );
}

#[test]
fn functions_and_gates() {
    assert_eq!(
        validate(value!({"numbers": [4, 6, 8]})),
        ["numbers: Forbidden: 3 are too many", "numbers[1]: Invalid value: 6: must be a multiple of 4"]
    );
    assert_eq!(validate(value!({"gated": "abc"})), ["gated: Forbidden"]);
    let short = value!({"color": "Red", "gated": "ab"});
    assert_eq!(validate_with(&short, None, &[&GATE]).lines, ["gated: Too short: must be at least 3 characters"]);
    let unset = value!({"color": "Red"});
    assert_eq!(
        validate_with(&unset, Some(&short), &[&GATE]).lines,
        Vec::<String>::new(),
        "an optional value that is absent is not validated further"
    );
}

#[test]
fn updates() {
    let old =
        value!({"color": "Green", "parts": [{"name": "a", "size": 20, "fixed": "x"}, {"name": "b", "fixed": "y"}]});
    assert_eq!(update(&old, &old), Vec::<String>::new());
    let mut label = old.clone();
    label.set_at(&["labels"], value!({"a": "b"}));
    assert_eq!(update(&label, &old), Vec::<String>::new(), "what was stored is not validated again");
    let moved = value!({"color": "Green", "parts": [{"name": "b", "fixed": "longer"}, {"name": "a", "size": 20, "fixed": "x"}]});
    assert_eq!(
        update(&moved, &old),
        ["parts[0].fixed: Invalid value: null: field is immutable"],
        "items are known by their keys, and what may not change is not validated further"
    );
}

#[test]
fn rules_that_look_elsewhere_run_though_their_own_value_stays() {
    let with = |color: &str, alpha: i64| value!({"color": color, "alpha": alpha, "rule": {"verb": "get"}, "late": "x"});
    assert_eq!(update(&with("Red", 8), &with("Red", 9)), [""; 0]);
    assert_eq!(update(&with("Red", 9), &with("Red", 8)), ["rule.verb: Forbidden: nine"]);
    assert_eq!(update(&with("Blue", 8), &with("Red", 8)), ["late: Forbidden: never blue"]);
}

#[test]
fn stages() {
    let bad = value!({"color": "Red", "alpha": (-3), "beta": (-1)});
    let silent = validate_with(&bad, None, &[]);
    assert_eq!((silent.lines.len(), silent.mismatches), (0, 0));
    let compared = validate_with(&bad, None, &[&DECLARATIVE_VALIDATION]);
    // Neither is enforced, and no handwritten rule finds the same.
    assert_eq!((compared.lines.len(), compared.mismatches), (0, 2));
    let agreed = validate_with(&value!({"color": "Red", "alpha": (-6)}), None, &[&DECLARATIVE_VALIDATION]);
    assert_eq!((agreed.lines, agreed.mismatches), (vec!["alpha: Invalid value: -6: far too small".to_owned()], 0));
    let answered = validate_with(&bad, None, &[&DECLARATIVE_VALIDATION, &DECLARATIVE_VALIDATION_BETA]);
    assert_eq!(answered.lines, ["beta: Invalid value: -1: must be greater than or equal to 0"]);
    let long = value!({"color": "Red", "compared": "longer"});
    let answered = validate_with(&long, None, &[&DECLARATIVE_VALIDATION, &DECLARATIVE_VALIDATION_BETA]);
    assert_eq!(answered.lines, ["compared: Too long: may not be more than 4 characters"]);
}

#[test]
fn handwritten_rules_and_panics() {
    assert_eq!(validate(value!({"alpha": 7})), ["alpha: Forbidden: seven"]);
    let broken = validate_with(&value!({"color": "Panic"}), None, &[]);
    assert!(broken.panicked && broken.lines.last().is_some_and(|line| line.contains("failed to run")));
}

#[test]
fn a_staged_rule_that_panics_changes_no_answer() {
    let with = |gates: &[&'static Gate]| validate_with(&value!({"color": "Red", "fragile": "too long"}), None, gates);
    let (off, on) = (with(&[]), with(&[&DECLARATIVE_VALIDATION]));
    assert_eq!(on.lines, ["fragile: Too long: may not be more than 4 characters"]);
    assert_eq!((off.lines, off.panicked, on.panicked), (on.lines, false, true));
}

#[test]
fn unions_of_items() {
    let both = value!({"oneItem": [{"name": "b"}, {"name": "a"}]});
    let lines = validate(both.clone());
    assert!(
        lines.len() == 1 && lines[0].contains("must specify at most one of: `oneItem[{\"name\": \"a\"}]`"),
        "{lines:?}"
    );
    assert_eq!(validate(value!({"oneItem": [{"name": "b"}, {"name": "c"}]})), [""; 0]);
}
