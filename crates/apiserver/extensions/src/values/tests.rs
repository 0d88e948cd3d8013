//! Tests of the validation of values, with kube-apiserver's results.

use super::{Purpose, ValueSchema};
use crate::json_schema::JsonSchema;
use pintle_codec::{Strictness, json};
use pintle_schema::Value;
use pintle_validation::FieldError;

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value
}

/// The errors of values of `spec` under a schema of it.
fn lines(schema: &str, value: &str, old: Option<&str>) -> Vec<String> {
    let schema = JsonSchema::from_value(&parse(&format!(r#"{{"type":"object","properties":{{"spec":{schema}}}}}"#)));
    let object = |spec: &str| parse(&format!(r#"{{"apiVersion":"g/v","kind":"K","spec":{spec}}}"#));
    let old = old.map(object);
    let errors = ValueSchema::new(&schema, Purpose::Objects).validate(&object(value), old.as_ref(), None);
    errors.0.iter().map(FieldError::line).collect()
}

fn check(schema: &str, rows: &[(&str, &[&str])]) {
    for (value, said) in rows {
        assert_eq!(lines(schema, value, None), *said, "{schema} {value}");
    }
}

#[test]
fn negative_bounds_are_not_shown() {
    check(r#"{"type":"string","maxLength":-1}"#, &[(r#""a""#, &["spec: Too long: value is too long"])]);
    check(
        r#"{"type":"array","maxItems":-1,"items":{"type":"string"}}"#,
        &[(r#"["a"]"#, &["spec: Too many: 1: has too many items"])],
    );
}

#[test]
fn types() {
    check(
        r#"{"type":"integer"}"#,
        &[
            ("1", &[]),
            ("2.0", &[]),
            ("null", &[r#"spec: Invalid value: "null": spec in body must be of type integer: "null""#]),
            (
                "1.5",
                &[
                    r#"spec: Invalid value: "number": spec in body must be of type integer: "number""#,
                    r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec"#,
                ],
            ),
            (r#""a""#, &[r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#]),
        ],
    );
    check(r#"{"type":"string","nullable":true}"#, &[("null", &[]), (r#""""#, &[])]);
    check(
        r#"{"x-kubernetes-int-or-string":true}"#,
        &[
            ("1", &[]),
            (r#""1""#, &[]),
            ("true", &[r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#]),
        ],
    );
}

#[test]
fn numbers() {
    check(
        r#"{"type":"integer","format":"int32","minimum":2,"maximum":10,"multipleOf":2}"#,
        &[
            ("4", &[]),
            (
                "1",
                &[
                    "spec: Invalid value: 1: spec in body should be a multiple of 2",
                    "spec: Invalid value: 1: spec in body should be greater than or equal to 2",
                ],
            ),
            ("12", &["spec: Invalid value: 12: spec in body should be less than or equal to 10"]),
            (
                "4294967296",
                &[
                    r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec"#,
                    "spec: Invalid value: 4294967296: spec in body should be less than or equal to 10",
                ],
            ),
        ],
    );
    check(
        r#"{"type":"number","maximum":1.5,"exclusiveMaximum":true,"multipleOf":0.5}"#,
        &[
            ("1.0", &[]),
            // Of an integer kube-apiserver compares the whole part of a bound.
            (
                "1",
                &[
                    "spec: Invalid value: 0: factor MultipleOf declared for spec must be positive: 0",
                    "spec: Invalid value: 1: spec in body should be less than 1",
                ],
            ),
            ("1.5", &["spec: Invalid value: 1.5: spec in body should be less than 1.5"]),
            ("0.7", &["spec: Invalid value: 0.7: spec in body should be a multiple of 0.5"]),
        ],
    );
}

#[test]
fn texts() {
    check(
        r#"{"type":"string","maxLength":3,"minLength":2,"pattern":"^[a-z]+$"}"#,
        &[
            (r#""ab""#, &[]),
            (r#""äbc""#, &[r#"spec: Invalid value: "äbc": spec in body should match '^[a-z]+$'"#]),
            (r#""abcd""#, &["spec: Too long: may not be more than 3 bytes"]),
            (r#""a""#, &[r#"spec: Invalid value: "a": spec in body should be at least 2 chars long"#]),
        ],
    );
    check(
        r#"{"type":"string","format":"ipv4"}"#,
        &[
            ("\"1.2.3.4\"", &[]),
            (r#""::1""#, &[r#"spec: Invalid value: "::1": spec in body must be of type ipv4: "::1""#]),
        ],
    );
    check(r#"{"type":"string","format":"madeup"}"#, &[(r#""x""#, &[])]);
    check(
        r#"{"type":"string","enum":["a","b"]}"#,
        &[(r#""a""#, &[]), (r#""c""#, &[r#"spec: Unsupported value: "c": supported values: "a", "b""#])],
    );
}

#[test]
fn lists_and_objects() {
    check(
        r#"{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","maxLength":1}}"#,
        &[
            ("[]", &["spec: Invalid value: 0: spec in body should have at least 1 items"]),
            (
                r#"["a","bb","c"]"#,
                &["spec[1]: Too long: may not be more than 1 byte", "spec: Too many: 3: must have at most 2 items"],
            ),
        ],
    );
    check(
        r#"{"type":"object","required":["b","a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#,
        &[("{}", &["spec.b: Required value", "spec.a: Required value"])],
    );
    check(
        r#"{"type":"object","maxProperties":1,"additionalProperties":{"type":"integer"}}"#,
        &[(
            r#"{"x":"a","y":2}"#,
            &[
                "spec: Too many: 2: must have at most 1 item",
                r#"spec.x: Invalid value: "string": spec.x in body must be of type integer: "string""#,
            ],
        )],
    );
}

#[test]
fn logical_schemas() {
    let one_of = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#;
    check(
        one_of,
        &[
            (r#"{"a":"x"}"#, &[]),
            (
                "{}",
                &[
                    r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
                    "spec.a: Required value",
                ],
            ),
            (
                r#"{"a":"x","b":"y"}"#,
                &[
                    r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
                ],
            ),
        ],
    );
    check(
        r#"{"type":"integer","anyOf":[{"maximum":0},{"minimum":100}]}"#,
        &[(
            "50",
            &[
                r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
                "spec: Invalid value: 50: spec in body should be less than or equal to 0",
            ],
        )],
    );
    check(
        r#"{"type":"integer","allOf":[{"minimum":5},{"maximum":6}]}"#,
        &[(
            "7",
            &[
                "spec: Invalid value: 7: spec in body should be less than or equal to 6",
                r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)"#,
            ],
        )],
    );
    check(
        r#"{"type":"string","not":{"enum":["bad"]}}"#,
        &[(r#""bad""#, &[r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#])],
    );
}

#[test]
fn updates_ratchet_unchanged_values() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","maxLength":1},
        "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
            "items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":1}}}},
        "l":{"type":"array","items":{"type":"string","maxLength":1}}}}"#;
    let old = r#"{"a":"long","m":[{"k":"1","v":"long"},{"k":"2"}],"l":["long"]}"#;
    let too_long = |field: &str| format!("{field}: Too long: may not be more than 1 byte");
    let of = |new: &str| lines(schema, new, Some(old));
    assert_eq!(of(old), [""; 0]);
    assert_eq!(of(r#"{"a":"long","m":[{"k":"2"},{"k":"1","v":"long"}]}"#), [""; 0], "items are found by their keys");
    assert_eq!(of(r#"{"a":"other"}"#), [too_long("spec.a")]);
    assert_eq!(of(r#"{"m":[{"k":"2","v":"long"}]}"#), [too_long("spec.m[0].v")]);
    assert_eq!(of(r#"{"l":["long","b"]}"#), [too_long("spec.l[0]")], "items without keys are new with their list");
}
