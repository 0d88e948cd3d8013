//! Tests of the validation of definitions, with kube-apiserver's results.

use super::{has_unusable_authorities, name_fault, validate_definition, warnings::warnings};
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
    validate_definition(new, old, None, None).0.iter().map(FieldError::line).collect()
}

#[test]
fn each_stored_version_is_found_once() {
    let with = |versions: Value, stored: Value| {
        let mut definition = definition(r#"{"type":"object"}"#);
        definition.set_at(&["spec", "versions"], versions);
        definition.set_at(&["status", "storedVersions"], stored);
        let lines = lines(&definition, None);
        lines.into_iter().filter(|line| line.starts_with("status.storedVersions")).collect::<Vec<_>>()
    };
    let version = |name: &str, storage: bool| value!({"name": name, "served": true, "storage": storage});
    assert_eq!(with(value!([(version("v1", true))]), value!(["v1"])), [""; 0]);
    assert_eq!(
        with(value!([(version("v1", true)), (version("v1", true))]), value!(["v1"])),
        [r#"status.storedVersions: Invalid value: ["v1"]: must have the storage version v1"#]
    );
    let missing = with(value!([(version("v1", true))]), value!(["v2", "v1", "v2"]));
    assert!(missing.len() == 1 && missing[0].starts_with("status.storedVersions[2]: Invalid value: \"v2\": missing"));
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
fn stored_values_remain_valid() {
    let set = r#"{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}"#;
    let wrong = "spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-map-type: Invalid value: null: must be \
                 atomic as item of a list with x-kubernetes-list-type=set";
    assert_eq!(lines(&definition(set), None), [wrong]);
    assert_eq!(lines(&definition(set), Some(&definition(set))), [""; 0]);
}

#[test]
fn authorities_of_an_established_definition_stay_usable() {
    let with = |bundle: &str| {
        let mut definition = definition(r#"{"type":"object"}"#);
        definition.set_at(
            &["spec", "conversion"],
            value!({"strategy": "Webhook", "webhookClientConfig": {"url": "https://a/b", "caBundle": bundle},
                "conversionReviewVersions": ["v1"]}),
        );
        definition
    };
    let (unusable, other) = (with("YQ=="), with("Yg=="));
    assert_eq!(lines(&unusable, None), [""; 0]);
    assert_eq!(lines(&unusable, Some(&with(""))), [""; 0]);
    let established = |mut definition: Value| {
        definition.set_at(&["status", "conditions"], value!([{"type": "Established", "status": "True"}]));
        definition
    };
    let refused = "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"YQ==\": unable to load root certificates: \
                   unable to parse bytes as PEM block";
    assert_eq!(lines(&unusable, Some(&established(with("")))), [refused]);
    assert_eq!(lines(&unusable, Some(&established(other))), [""; 0], "they were unusable before");
    let of_version = |bundle: &str| value!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": bundle}}}}});
    assert!([&unusable, &of_version("YQ==")].into_iter().all(has_unusable_authorities));
    assert!(![&with(""), &of_version(""), &value!({})].into_iter().any(has_unusable_authorities));
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

/// The errors of rules at `spec`, without the path to their index.
fn of_rules(spec: &str, old: Option<&str>) -> Vec<String> {
    let old = old.map(definition);
    let lines = lines(&definition(spec), old.as_ref());
    let at = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].";
    lines.iter().map(|line| line.strip_prefix(at).unwrap_or(line).to_owned()).collect()
}

#[test]
fn rules_are_compiled() {
    let shown = |rule: &str, rest: &str| {
        format!(
            r#"rule: Invalid value: {{"Rule":"{rule}","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}}: {rest}"#
        )
    };
    let string = |rule: &str| format!(r#"{{"type":"string","x-kubernetes-validations":[{rule}]}}"#);
    let rows = [
        (string(r#"{"rule":"self != ''"}"#), vec![]),
        (string(r#"{"rule":"self"}"#), vec![shown("self", "cel expression must evaluate to a bool")]),
        (
            string(r#"{"rule":"self == 1"}"#),
            vec![shown(
                "self == 1",
                "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(string, int)'\n | self == 1\n | .....^",
            )],
        ),
        (
            string(r#"{"rule":"self == int('x')"}"#),
            vec![shown(
                "self == int('x')",
                "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(string, int)'\n | self == int('x')\n | .....^",
            )],
        ),
        (
            string(r#"{"rule":"self != ''","optionalOldSelf":true}"#),
            vec!["optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule".to_owned()],
        ),
    ];
    for (spec, reported) in rows {
        assert_eq!(of_rules(&spec, None), reported, "{spec}");
    }
}

#[test]
fn rules_that_are_stored_may_be_costly() {
    let spec = r#"{"type":"array","x-kubernetes-validations":[{"rule":"self.all(a, self.exists(b, a == b))"}],
        "items":{"type":"string","maxLength":5,"x-kubernetes-validations":[{"rule":"self.matches('^a+$')"}]}}"#;
    let [whole, item, total] = [
        ".x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (",
        ".items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total",
        "spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total",
    ];
    let reported = lines(&definition(spec), None);
    let is_told = |reported: &[String], part: &str| reported.iter().any(|line| line.contains(part));
    assert!([whole, item, total].iter().all(|part| is_told(&reported, part)), "{reported:#?}");
    // A stored rule is checked only for the total cost.
    let reported = lines(&definition(spec), Some(&definition(spec)));
    assert!(!is_told(&reported, whole) && is_told(&reported, total), "{reported:#?}");
}

#[test]
fn old_values_are_read_where_they_can_be_found() {
    let rule = r#""x-kubernetes-validations":[{"rule":"self == oldSelf"}]"#;
    let within = "spec.validation.openAPIV3Schema.properties[spec]";
    let refused = |below: &str| {
        vec![format!(
            "{within}{below}.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the \
             uncorrelatable portion of the schema within {within}"
        )]
    };
    let item = format!(r#"{{"type":"string","maxLength":3,{rule}}}"#);
    let keyed = format!(
        r#"{{"type":"object","required":["k"],"properties":{{"k":{{"type":"string","maxLength":3,{rule}}}}}}}"#
    );
    for (spec, reported) in [
        (format!(r#"{{"type":"array","maxItems":3,"items":{item}}}"#), refused(".items")),
        (
            format!(r#"{{"type":"array","maxItems":3,"x-kubernetes-list-type":"set","items":{item}}}"#),
            refused(".items"),
        ),
        (
            format!(
                r#"{{"type":"array","maxItems":3,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{keyed}}}"#
            ),
            vec![],
        ),
        (format!(r#"{{"type":"object","x-kubernetes-map-type":"atomic","properties":{{"a":{item}}}}}"#), vec![]),
        (format!(r#"{{"type":"object","maxProperties":3,"additionalProperties":{item}}}"#), vec![]),
    ] {
        assert_eq!(lines(&definition(&spec), None), reported, "{spec}");
    }
}

#[test]
fn defaults_meet_rules() {
    let spec = r#"{"type":"object","default":{"a":7},"properties":{"a":{"type":"integer",
        "x-kubernetes-validations":[{"rule":"self < 5"},{"rule":"oldSelf.hasValue()","optionalOldSelf":true}]}}}"#;
    let at = "spec.validation.openAPIV3Schema.properties[spec].default.a";
    assert_eq!(lines(&definition(spec), None), [format!("{at}: Invalid value: 7: failed rule: self < 5")]);
    // A default takes the place of nothing, too.
    let spec = spec.replace("self < 5", "self < 9");
    assert_eq!(lines(&definition(&spec), None), [format!("{at}: Invalid value: 7: failed rule: oldSelf.hasValue()")]);
}

#[test]
fn rules_of_what_has_no_type_in_cel_are_refused() {
    let inner = r#"{"type":"string","maxLength":3,"x-kubernetes-validations":[{"rule":"self != ''"}]}"#;
    let free = format!(r#"{{"x-kubernetes-preserve-unknown-fields":true,"properties":{{"a":{inner}}}}}"#);
    // Without rules above, a schema below one without a type has a type of its own.
    assert_eq!(lines(&definition(&free), None), [""; 0]);
    let ruled = free.replacen('{', r#"{"x-kubernetes-validations":[{"rule":"true"}],"#, 1);
    let at = "spec.validation.openAPIV3Schema.properties[spec]";
    let why = "Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: \
               unable to convert structural schema to CEL declarations";
    assert_eq!(
        lines(&definition(&ruled), None),
        [
            format!("{at}.properties[a].x-kubernetes-validations: {why}"),
            format!("{at}.x-kubernetes-validations: {why}")
        ]
    );
}
