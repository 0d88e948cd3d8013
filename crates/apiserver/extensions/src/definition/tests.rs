//! Definitions judged, on cases as the reference answers them.

use super::{name_fault, validate_definition, warnings::warnings};
use pintle_codec::{Strictness, json};
use pintle_schema::{Value, value};
use pintle_validation::FieldError;

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value
}

/// A definition of one version in its stored form, with a schema of `spec`.
fn definition(spec: &str) -> Value {
    let mut definition = parse(
        r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","version":"v1",
        "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
        "versions":[{"name":"v1","served":true,"storage":true}],"conversion":{"strategy":"None"}},
        "status":{"storedVersions":["v1"]}}"#,
    );
    let schema = format!(r#"{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{spec}}}}}}}"#);
    definition.set_at(&["spec", "validation"], parse(&schema));
    definition
}

fn lines(new: &Value, old: Option<&Value>) -> Vec<String> {
    validate_definition(new, old, None).0.iter().map(FieldError::line).collect()
}

#[test]
fn schemas() {
    let spec = "spec.validation.openAPIV3Schema.properties[spec]";
    let rows: &[(&str, &[&str])] = &[
        (r#"{"type":"object"}"#, &[]),
        ("{}", &["type: Required value: must not be empty for specified object fields"]),
        (
            r#"{"type":"null"}"#,
            &[
                r#"type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string""#,
                "type: Forbidden: type cannot be set to null, use nullable as an alternative",
            ],
        ),
        (
            r#"{"type":"object","x-kubernetes-preserve-unknown-fields":false}"#,
            &["x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        (r#"{"type":"object","$ref":"x"}"#, &["$ref: Forbidden: $ref is not supported"]),
        (
            r#"{"type":"array","items":{"type":"string"},"uniqueItems":true}"#,
            &[
                "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            r#"{"type":"string","default":1}"#,
            &[r#"default: Invalid value: "integer":  in body must be of type string: "integer""#],
        ),
        (
            r#"{"type":"object","default":{"a":1}}"#,
            &[r#"default: Invalid value: {"a":1}: must not have unknown fields"#],
        ),
        (
            r#"{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}"#,
            &[
                "items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            r#"{"type":"string","pattern":"a("}"#,
            &[
                r#"pattern: Invalid value: "a(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `a(`"#,
            ],
        ),
        (
            r#"{"type":"object","x-kubernetes-validations":[{"rule":" "}]}"#,
            &["x-kubernetes-validations[0].rule: Required value: rule is not specified"],
        ),
    ];
    for (schema, said) in rows {
        let said: Vec<String> = said.iter().map(|said| format!("{spec}.{said}")).collect();
        assert_eq!(lines(&definition(schema), None), said, "{schema}");
    }
}

#[test]
fn names_and_versions() {
    let mut broken = definition(r#"{"type":"object"}"#);
    broken.set_at(&["spec", "scope"], "Some");
    broken.set_at(&["spec", "names", "shortNames"], value!(["W"]));
    broken.set_at(&["spec", "versions"], value!([{"name": "v1", "served": true}]));
    let label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                 character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
                 '[a-z]([-a-z0-9]*[a-z0-9])?')";
    let shown = r#"[{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]"#;
    assert_eq!(
        lines(&broken, None),
        [
            "spec.scope: Unsupported value: \"Some\": supported values: \"Cluster\", \"Namespaced\"".to_owned(),
            format!("spec.versions: Invalid value: {shown}: must have exactly one version marked as storage version"),
            format!("spec.names.shortNames[0]: Invalid value: \"W\": {label}"),
        ]
    );
    assert_eq!(name_fault(&broken, "widgets.example.com"), None);
    assert_eq!(name_fault(&broken, "x").as_deref(), Some("must be spec.names.plural+\".\"+spec.group"));
}

#[test]
fn updates_keep_names_once_established() {
    let old = definition(r#"{"type":"object"}"#);
    let mut new = old.clone();
    new.set_at(&["spec", "names", "kind"], "Gadget");
    new.set_at(&["spec", "group"], "other.example.com");
    let group = "spec.group: Invalid value: \"other.example.com\": field is immutable";
    assert_eq!(lines(&new, Some(&old)), [group]);
    let mut established = old;
    established.set_at(&["status", "conditions"], value!([{"type": "Established", "status": "True"}]));
    let kind = "spec.names.kind: Invalid value: \"Gadget\": field is immutable";
    assert_eq!(lines(&new, Some(&established)), [kind, group]);
}

#[test]
fn what_was_stored_may_stay() {
    let set = r#"{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}"#;
    let wrong = "spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-map-type: Invalid value: null: must be \
                 atomic as item of a list with x-kubernetes-list-type=set";
    assert_eq!(lines(&definition(set), None), [wrong]);
    assert_eq!(lines(&definition(set), Some(&definition(set))), [""; 0]);
}

#[test]
fn protected_groups_need_an_approval() {
    let mut protected = definition(r#"{"type":"object"}"#);
    protected.set_at(&["spec", "group"], "x.k8s.io");
    let see = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
               https://github.com/kubernetes/enhancements/pull/1111";
    let field = "metadata.annotations[api-approved.kubernetes.io]";
    assert_eq!(lines(&protected, None), [format!("{field}: Required value: {see}")]);
    for approval in ["unapproved, legacy", "https://github.com/x"] {
        protected.set_at(&["metadata", "annotations", "api-approved.kubernetes.io"], approval);
        assert_eq!(lines(&protected, None), [""; 0], "{approval}");
    }
}

#[test]
fn formats_that_hold_for_nothing_are_warned_of() {
    let formats = r#"{"type":"object","properties":{"a":{"type":"string","format":"madeup"},"b":{"type":"string","format":"date"}}}"#;
    let of = |old: Option<&Value>| {
        let mut said = Vec::new();
        warnings(&definition(formats), old, &mut said);
        said
    };
    assert_eq!(of(None), ["unrecognized format \"madeup\""]);
    assert_eq!(of(Some(&definition(formats))), [""; 0]);
}
