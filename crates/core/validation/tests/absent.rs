//! Rules on absent values: rules that absence violates report it, all others skip it.

mod common;

use pintle_schema::gates::NO_GATES;
use pintle_schema::{ApiType, Value, value};
use pintle_validation::{Group, KindRules, Pass};

/// A part whose fields are validated by the struct that contains it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Part {
    /// Its name.
    #[k8s(proto = 1, optional)]
    name: String,
    /// Its size.
    #[k8s(proto = 2, optional)]
    size: Option<i32>,
}

/// Fields that nobody has to set, as far as they say.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Whole {
    /// One of these.
    #[k8s(proto = 1, enum("A", "B"))]
    kind: String,
    /// More than none.
    #[k8s(proto = 2, minimum = 1)]
    count: i32,
    /// A name.
    #[k8s(proto = 3, format = "dns1123-label")]
    name: String,
    /// Any path below another, or none.
    #[k8s(proto = 4, format = "relative-path")]
    path: String,
    /// Short.
    #[k8s(proto = 5, max_length = 3, pattern = "[a-z]*")]
    note: String,
    /// Long.
    #[k8s(proto = 6, pattern = "[a-z]+")]
    word: String,
    /// More than none, if at all.
    #[k8s(proto = 7, minimum = 1)]
    most: Option<i32>,
    /// Checked from here.
    #[k8s(proto = 8, subfield(name)(required), subfield(size)(minimum = 1), subfield(name)(max_length = 1))]
    part: Part,
}

static GROUP: Group = Group {
    kinds: &[KindRules { create: &[Pass::Rules], update: &[Pass::Rules], parts: &[], of: Whole::schema }],
    custom_rules: &[],
    ..Group::NONE
};

fn validate(new: Value, old: Option<Value>) -> Vec<String> {
    let verdict = common::validate(&GROUP, Whole::schema(), &new, old.as_ref(), &NO_GATES);
    verdict.errors.0.iter().map(|error| error.field.to_string()).collect()
}

#[test]
fn what_nothing_satisfies_is_told() {
    let missing = ["kind", "count", "name", "word", "part.name"];
    assert_eq!(validate(value!({}), None), missing);
    let whole = value!({ "kind": "A", "count": 1, "name": "a", "word": "a", "part": { "name": "a" } });
    assert_eq!(validate(whole.clone(), None), [""; 0]);
    // What an update takes away is as wrong as what was never there.
    assert_eq!(validate(value!({}), Some(whole)), missing);
}

#[test]
fn what_is_there_is_validated() {
    let wrong = value!({
        "kind": "C", "count": 0, "name": "A", "path": "../a", "note": "A", "word": "A", "most": 0,
        "part": { "name": "ab", "size": 0 }
    });
    let fields = ["kind", "count", "name", "path", "note", "word", "most", "part.size", "part.name"];
    assert_eq!(validate(wrong, None), fields);
}
