//! Tests: which rules are evaluated, with which old values, what they report and where, and their costs.

use super::{Budget, OldObject, RuleReport, RuleTree};
use crate::json_schema::JsonSchema;
use crate::values::{Purpose, ValueSchema};
use pintle_schema::{Value, value};
use pintle_validation::{ErrorList, FieldPath};

/// The errors of rules on an object as lines, and warnings with the prefix `warning: `.
fn found(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = JsonSchema::from_value(schema);
    let values = ValueSchema::new(&schema, Purpose::Objects);
    let tree = RuleTree::new(&schema, true).expect("a whole object has a type");
    let (mut errors, mut warnings) = (ErrorList::default(), Vec::new());
    let mut findings = RuleReport { errors: &mut errors, warnings: &mut warnings };
    let replaced = old.map(|old| OldObject { old, schema: &values, ratchets: true });
    let mut budget = Budget::OF_OBJECT;
    if let Some(root) = tree.root() {
        root.evaluate(object, replaced, &FieldPath::ROOT, &mut budget, &mut findings);
    }
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}"));
    errors.0.iter().map(|error| error.line()).chain(warnings).collect()
}

/// A schema with this `spec`.
fn of_spec(spec: Value) -> Value {
    let mut schema = value!({"type": "object", "properties": {"spec": {}}});
    schema.set_at(&["properties", "spec"], spec);
    schema
}

#[test]
fn a_failed_rule_tells_its_message_at_its_field() {
    let schema = |rule: Value| {
        let mut schema = value!({"type": "object", "properties": {"a": {"type": "integer"}, "m": {"type": "object",
            "additionalProperties": {"type": "string"}}}});
        schema.set_at(&["x-kubernetes-validations"], Value::List(vec![rule]));
        of_spec(schema)
    };
    let object = value!({"spec": {"a": 7, "m": {}}});
    for (rule, reported) in [
        (value!({"rule": "self.a < 7"}), "spec: Invalid value: failed rule: self.a < 7"),
        (value!({"rule": "self.a < 7", "message": " too large "}), "spec: Invalid value: too large"),
        (value!({"rule": "self.a < 7", "fieldPath": ".a"}), "spec.a: Invalid value: failed rule: self.a < 7"),
        (
            value!({"rule": "self.a < 7", "fieldPath": ".m['x.y']", "reason": "FieldValueRequired"}),
            "spec.m[x.y]: Required value: failed rule: self.a < 7",
        ),
        (value!({"rule": "self.a < 7", "message": "m", "reason": "FieldValueForbidden"}), "spec: Forbidden: m"),
        (value!({"rule": "self.a < 7", "message": "m", "reason": "FieldValueDuplicate"}), "spec: Duplicate value"),
        (
            value!({"rule": "self.a < 7", "messageExpression": "' %d is too large'.format([self.a])"}),
            "spec: Invalid value: 7 is too large",
        ),
        // The result of a message expression may be unusable.
        (value!({"rule": "self.a < 7", "message": "m", "messageExpression": "'a\\nb'"}), "spec: Invalid value: m"),
        (value!({"rule": "self.a < 7", "messageExpression": "' '"}), "spec: Invalid value: failed rule: self.a < 7"),
        (value!({"rule": "self.a < 7", "message": "m", "messageExpression": "self.m['x']"}), "spec: Invalid value: m"),
        (
            value!({"rule": "self.m['x'] == ''", "message": "m"}),
            "spec: Invalid value: \"object\": no such key: x evaluating rule: m",
        ),
    ] {
        assert_eq!(found(&schema(rule), &object, None), [reported]);
    }
}

#[test]
fn transitions_need_an_old_value_unless_they_ask() {
    let rules = value!([{"rule": "self >= oldSelf"},
        {"rule": "!oldSelf.hasValue() || oldSelf.value() < 9", "optionalOldSelf": true, "message": "was 9"}]);
    let mut item = value!({"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer"}}});
    item.set_at(&["properties", "n", "x-kubernetes-validations"], rules);
    let mut schema = value!({"type": "object", "properties": {"keyed": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"]}, "map": {"type": "object"}}});
    schema.set_at(&["properties", "keyed", "items"], item.clone());
    schema.set_at(&["properties", "map", "additionalProperties"], item);
    let old = value!({"keyed": [{"k": "a", "n": 5}, {"k": "b", "n": 9}], "map": {"x": {"n": 3}}});
    let new = value!({"keyed": [{"k": "b", "n": 10}, {"k": "a", "n": 4}, {"k": "c", "n": 0}],
        "map": {"x": {"n": 2}, "y": {"n": 1}}});
    assert_eq!(
        found(&schema, &new, Some(&old)),
        [
            "keyed[0].n: Invalid value: 10: was 9",
            "keyed[1].n: Invalid value: 4: failed rule: self >= oldSelf",
            "map[x].n: Invalid value: 2: failed rule: self >= oldSelf",
        ]
    );
    assert_eq!(found(&schema, &new, None), [""; 0]);
}

#[test]
fn unchanged_violations_are_warnings() {
    let spec = value!({"type": "object", "properties": {
        "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5"}, {"rule": "self / 0 == 1"},
            {"rule": "self < 5 || self == oldSelf"}]},
        "l": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]}},
        "b": {"type": "integer"}}});
    let old = value!({"spec": {"a": 7, "l": ["x"], "b": 1}});
    let new = value!({"spec": {"a": 7, "l": ["x"], "b": 2}});
    let divided = "spec.a: Invalid value: \"integer\": division by zero evaluating rule: self / 0 == 1";
    assert_eq!(
        found(&of_spec(spec.clone()), &new, Some(&old)),
        [
            divided,
            "warning: spec.a: Invalid value: 7: failed rule: self < 5",
            "warning: spec.l[0]: Invalid value: \"x\": failed rule: self != 'x'",
        ]
    );
    // An item of a list without keys is as it was only if the whole list is.
    let longer = value!({"spec": {"a": 1, "l": ["x", "y"]}});
    assert_eq!(
        found(&of_spec(spec), &longer, Some(&old))[1..],
        ["spec.l[0]: Invalid value: \"x\": failed rule: self != 'x'"]
    );
}

#[test]
fn names_are_readable_of_whole_and_of_embedded_objects() {
    let schema = value!({"type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('a') && self.kind == 'K'"}],
        "properties": {"template": {"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": [{"rule": "self.metadata.name == 'inner'", "fieldPath": ".metadata"}]}}});
    let object = |name: &str| {
        value!({"apiVersion": "g/v", "kind": "K", "metadata": {"name": (name), "labels": {}},
            "template": {"kind": "T", "metadata": {"name": "other"}}})
    };
    let inner = "template: Invalid value: failed rule: self.metadata.name == 'inner'";
    assert_eq!(found(&schema, &object("ab"), None), [inner]);
    let whole = "<nil>: Invalid value: failed rule: self.metadata.name.startsWith('a') && self.kind == 'K'";
    assert_eq!(found(&schema, &object("b"), None), [whole, inner]);
}

#[test]
fn the_total_cost_of_rules_is_bounded() {
    // A search costs a tenth of the text's characters.
    let spec = value!({"type": "array", "items": {"type": "string",
        "x-kubernetes-validations": [{"rule": "!self.contains('y')"}]}});
    let texts = |count: usize, size: usize| {
        let text = Value::from("x".repeat(size));
        value!({"spec": (Value::List(vec![text; count]))})
    };
    assert_eq!(found(&of_spec(spec.clone()), &texts(10, 900_000), None), [""; 0]);
    let out = "validation failed due to running out of cost budget, no further validation rules will be run";
    let reported = found(&of_spec(spec.clone()), &texts(200, 900_000), None);
    assert!(matches!(reported.as_slice(), [one] if one.ends_with(out)), "{reported:?}");
    let reported = found(&of_spec(spec), &texts(3, 10_100_000), None);
    let is_of_call = |line: &str| line.starts_with("spec[0]") && line.contains("call cost exceeds limit");
    assert!(matches!(reported.as_slice(), [one] if is_of_call(one)), "{reported:?}");
}

#[test]
fn failures_beyond_what_an_answer_holds_are_not_looked_for() {
    let spec =
        value!({"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}});
    let object = value!({"spec": (Value::List(vec![Value::Int(0); 100_000]))});
    assert_eq!(found(&of_spec(spec.clone()), &object, None).len(), super::evaluate::MAX_FAILURES);
    // Warnings do not stop the evaluation.
    let mut new = object.clone();
    new.set_at(&["other"], 1);
    let reported = found(&of_spec(spec), &new, Some(&object));
    assert!(reported.iter().all(|line| line.starts_with("warning: ")) && reported.len() < 1000, "{}", reported.len());
}

#[test]
fn types_are_named_as_no_rule_names_them() {
    let spec = value!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-validations": [
        {"rule": "self == selfType0.spec.a{}"}]}}});
    let reported = found(&of_spec(spec), &value!({"spec": {"a": {}}}), None);
    let [reported] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(reported.contains("undeclared reference to 'selfType0.spec.a'"), "{reported}");
    // The type is named after the place of the rule, not after the place in the schema.
    let spec = value!({"type": "object", "properties": {"a": {"type": "object",
        "properties": {"b": {"type": "object", "properties": {"c": {"type": "string"}}}},
        "x-kubernetes-validations": [{"rule": "self.b == 1"}]}}});
    let reported = found(&of_spec(spec), &value!({"spec": {"a": {}}}), None);
    let [reported] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(reported.contains("applied to '(selfType0.b, int)'"), "{reported}");
}
