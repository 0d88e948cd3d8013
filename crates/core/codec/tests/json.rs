//! JSON decoding and encoding, row by row: accepted input, its result, and kube-apiserver's messages for the rest.

mod common;

use common::Thing;
use pintle_codec::{Decoded, Strictness, json};
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::apiextensions::v1::JSONSchemaProps;

fn decode(text: &str) -> Result<Decoded, String> {
    json::decode(Thing::schema(), text.as_bytes(), Strictness::Collect).map_err(|error| error.to_string())
}

/// The canonical JSON of a spec.
fn spec(text: &str) -> Result<String, String> {
    let mut value = decode(&format!("{{\"spec\":{text}}}"))?.value;
    canonicalize(Thing::schema(), &mut value);
    let text = json::to_string(value.get("spec").expect("always shown"));
    Ok(text.replace("\"enabled\":false,", "").replace(",\"enabled\":false", "").replace("\"enabled\":false", ""))
}

#[test]
fn scalars_become_canonical() {
    for (text, wanted) in [
        (
            r#"{"limits":{"cpu":".5","memory":"1024Mi","n":12,"blank":" 1"}}"#,
            r#"{"limits":{"blank":"1","cpu":"500m","memory":"1Gi","n":"12"}}"#,
        ),
        (r#"{"renewed":"2024-01-01T00:00:00.123456+01:00"}"#, r#"{"renewed":"2023-12-31T23:00:00.123456Z"}"#),
        (r#"{"timeout":"90s"}"#, r#"{"timeout":"1m30s"}"#),
        (r#"{"data":{"a":"Zm9v\nYg==","b":[1,2,255]}}"#, r#"{"data":{"a":"Zm9vYg==","b":"AQL/"}}"#),
        (r#"{"port":"http"}"#, r#"{"port":"http"}"#),
        (r#"{"port":80}"#, r#"{"port":80}"#),
        (r#"{"ratio":1e3}"#, r#"{"ratio":1000}"#),
        (r#"{"ratio":1e21}"#, r#"{"ratio":1e+21}"#),
        (r#"{"ratio":0.0000001}"#, r#"{"ratio":1e-7}"#),
        (r#"{"raw":{ "b": 1.0, "a":1E3, "b":2 }}"#, r#"{"raw":{"b":1.0,"a":1E3,"b":2}}"#),
        (r#"{"raw":null}"#, "{}"),
        (r#"{"example":{"b":1.0,"a":[{"d":1e3,"c":1}]}}"#, r#"{"example":{"a":[{"c":1,"d":1000}],"b":1}}"#),
        (r#"{"more":true}"#, r#"{"more":true}"#),
        (r#"{"more":{"replicas":1}}"#, r#"{"more":{"replicas":1}}"#),
        (r#"{"extra":{"b":["x"],"a":null}}"#, r#"{"extra":{"a":null,"b":["x"]}}"#),
        (r#"{"disk":{"name":"d"}}"#, r#"{"disk":{"name":"d"}}"#),
        (
            r#"{"policy":"<&>\u2028\b\f\u0001é\ud83d\ude00\ud800"}"#,
            "{\"policy\":\"\\u003c\\u0026\\u003e\\u2028\\b\\f\\u0001é😀\u{fffd}\"}",
        ),
    ] {
        assert_eq!(spec(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn null_is_absence() {
    for (text, wanted) in [
        (r#"{"replicas":null,"parts":null,"limits":null,"policy":null,"more":null}"#, "{}"),
        (
            r#"{"parts":[null],"numbers":[null,1],"limits":{"a":null},"data":{"a":null}}"#,
            r#"{"parts":[{"name":""}],"limits":{"a":"0"},"numbers":[0,1],"data":{"a":""}}"#,
        ),
    ] {
        assert_eq!(spec(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn wrong_types_have_gos_messages() {
    let field = |path: &str, value: &str, ty: &str| {
        Err(format!("json: cannot unmarshal {value} into Go struct field {path} of type {ty}"))
    };
    for (text, wanted) in [
        (r#"{"replicas":"1"}"#, field("ThingSpec.spec.replicas", "string", "int32")),
        (r#"{"replicas":1.5}"#, field("ThingSpec.spec.replicas", "number 1.5", "int32")),
        (r#"{"replicas":2.0}"#, field("ThingSpec.spec.replicas", "number 2.0", "int32")),
        (r#"{"replicas":4294967297}"#, field("ThingSpec.spec.replicas", "number 4294967297", "int32")),
        (r#"{"parts":{}}"#, field("ThingSpec.spec.parts", "object", "[].Part")),
        (r#"{"parts":[{"name":1}]}"#, field("Part.spec.parts.name", "number", "string")),
        (r#"{"parts":[{"command":[true]}]}"#, field("Part.spec.parts.command", "bool", "string")),
        (r#"{"disk":[]}"#, field("ThingSpec.spec.Source.disk", "array", ".Part")),
        (r#"{"inner":{"enabled":0}}"#, field("ThingSpec.spec.inner.enabled", "number", "bool")),
        (r#"{"port":true}"#, field("ThingSpec.spec.port", "bool", "int32")),
        (r#"{"renewed":5}"#, field("ThingSpec.spec.renewed", "number", "string")),
        (r#"{"extra":{"a":"b"}}"#, field("ThingSpec.spec.extra", "string", ".ExtraValue")),
        (r#"{"data":{"a":"*"}}"#, Err("illegal base64 data at input byte 0".to_owned())),
        (r#"{"data":{"a":{}}}"#, field("ThingSpec.spec.data", "object", "[]uint8")),
        (r#"{"more":1}"#, Err("boolean or JSON schema expected".to_owned())),
        (r#"{"timeout":"5"}"#, Err(r#"time: missing unit in duration "5""#.to_owned())),
        (
            r#"{"limits":{"cpu":true}}"#,
            Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned()),
        ),
        // Only the first is reported, but the error of a custom decoder ends decoding and takes precedence.
        (r#"{"replicas":"1","enabled":1}"#, field("ThingSpec.spec.replicas", "string", "int32")),
        (r#"{"replicas":"1","timeout":"5"}"#, Err(r#"time: missing unit in duration "5""#.to_owned())),
    ] {
        assert_eq!(spec(text), wanted, "{text}");
    }
    assert_eq!(decode("[]").map(|_| ()), Err("json: cannot unmarshal array into Go value of type .Thing".to_owned()));
}

#[test]
fn invalid_json_has_gos_messages() {
    let invalid = |char: &str, context: &str| format!("invalid character '{char}' {context}");
    let end = || "unexpected end of JSON input".to_owned();
    for (text, wanted) in [
        ("", end()),
        ("{", end()),
        (r#"{"a":1"#, end()),
        (r#"{"a":"b"#, end()),
        (r#"{"a":-"#, end()),
        ("x", invalid("x", "looking for beginning of value")),
        ("\u{feff}{}", invalid("ï", "looking for beginning of value")),
        ("{a:1}", invalid("a", "looking for beginning of object key string")),
        (r#"{"a":1,}"#, invalid("}", "looking for beginning of object key string")),
        (r#"{"a" 1}"#, invalid("1", "after object key")),
        (r#"{"a":1 "b"}"#, invalid("\"", "after object key:value pair")),
        (r#"{"a":[1 2]}"#, invalid("2", "after array element")),
        ("{} x", invalid("x", "after top-level value")),
        (r#"{"a":01}"#, invalid("1", "after object key:value pair")),
        (r#"{"a":1.}"#, invalid("}", "after decimal point in numeric literal")),
        (r#"{"a":1e}"#, invalid("}", "in exponent of numeric literal")),
        (r#"{"a":-x}"#, invalid("x", "in numeric literal")),
        (r#"{"a":nul}"#, invalid("}", "in literal null (expecting 'l')")),
        (r#"{"a":trux}"#, invalid("x", "in literal true (expecting 'e')")),
        ("{\"a\":\"\n\"}", invalid("\\n", "in string literal")),
        ("{\"a\":\"\u{1}\"}", invalid("\\x01", "in string literal")),
        (r#"{"a":"\x"}"#, invalid("x", "in string escape code")),
        (r#"{"a":"\u12g"}"#, invalid("g", "in \\u hexadecimal character escape")),
        // It takes precedence over an earlier wrong type.
        (r#"{"spec":{"replicas":"x"}}}"#, invalid("}", "after top-level value")),
    ] {
        assert_eq!(decode(text).map(|_| ()), Err(wanted.clone()), "{text}");
        assert_eq!(json::type_meta(text.as_bytes()).map_err(|error| error.to_string()), Err(wanted), "{text}");
    }
    // A byte that is not UTF-8 is shown as a character of Latin-1.
    for (bytes, wanted) in [
        (&b"\xc7{}"[..], invalid("Ç", "looking for beginning of value")),
        (b"\xe2\x82", invalid("â", "looking for beginning of value")),
        (b"{\"a\":\"\xff\"\x80}", invalid("\\u0080", "after object key:value pair")),
        (b"{\"a\xff\":[1 \xc3\xa9]}", invalid("Ã", "after array element")),
        (b"{\"a\":\"\xff\"}}", invalid("}", "after top-level value")),
    ] {
        assert_eq!(json::type_meta(bytes).map_err(|error| error.to_string()), Err(wanted.clone()));
        let parsed = json::parse(bytes, Strictness::Ignore).map(|_| ());
        assert_eq!(parsed.map_err(|error| error.to_string()), Err(wanted));
    }
}

#[test]
fn unknown_and_duplicate_fields_are_listed_in_order() {
    for (text, wanted) in [
        (
            r#"{"spec":{"foo":{"a":1,"a":2},"parts":[{"name":"a"},{"nme":1}]},"extra":1}"#,
            r#"unknown field "spec.foo", unknown field "spec.parts[1].nme", unknown field "extra""#,
        ),
        (
            r#"{"metadata":{"name":"a","name":"b","labels":{"x":"1","x":"2"},"Name":"c"}}"#,
            r#"duplicate field "metadata.name", duplicate field "metadata.labels.x", unknown field "metadata.Name""#,
        ),
        (r#"{"spec":{"replicas":null,"replicas":1,"replicas":2}}"#, r#"duplicate field "spec.replicas""#),
        // Types with a custom decoder do not check.
        (r#"{"spec":{"raw":{"a":1,"a":2},"more":{"foo":1}}}"#, ""),
        (r#"{"foo":null}"#, r#"unknown field "foo""#),
    ] {
        let decoded = decode(text).expect("valid");
        let found: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(", "), wanted, "{text}");
        let silent = json::decode(Thing::schema(), text.as_bytes(), Strictness::Ignore).expect("valid");
        assert_eq!((silent.value, silent.problems), (decoded.value, Vec::new()));
    }
    let many: String = (0..200).map(|at| format!("\"f{at}\":1,")).collect();
    assert_eq!(decode(&format!("{{{many}\"metadata\":{{}}}}")).expect("valid").problems.len(), 100);
}

#[test]
fn the_last_of_a_duplicate_field_wins_and_structs_grow_together() {
    let decoded = decode(r#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"name":"b","labels":{"y":"2"}}}"#);
    let metadata = value!({"name": "b", "labels": {"x": "1", "y": "2"}});
    assert_eq!(decoded.expect("valid").value, value!({"metadata": metadata}));
}

#[test]
fn depth_is_bounded_and_safe_on_a_small_stack() {
    let run = || {
        let deep = |count: usize| format!("{{\"spec\":{{\"raw\":{}{}}}}}", "[".repeat(count), "]".repeat(count));
        assert!(decode(&deep(400)).is_ok());
        assert_eq!(decode(&deep(9000)).map(|_| ()), Err("invalid character '[' exceeded max depth".to_owned()));
        // Skipped values may be as deep as in kube-apiserver.
        let unknown = |count: usize| deep(count).replace("raw", "unknown");
        assert_eq!(decode(&unknown(9_998)).map(|decoded| decoded.problems.len()), Ok(1));
        assert_eq!(decode(&unknown(9_999)).map(|_| ()), Err("invalid character '[' exceeded max depth".to_owned()));
        let inner = |count: usize| format!("{{\"spec\":{}{{}}{}}}", "{\"inner\":".repeat(count), "}".repeat(count));
        let decoded = decode(&inner(400)).expect("valid").value;
        let mut value = decoded.clone();
        canonicalize(Thing::schema(), &mut value);
        assert_eq!(json::decode_trusted(Thing::schema(), &json::to_vec(&value)), Ok(value));
        assert!(json::conform(Thing::schema(), decoded, Strictness::Collect).is_ok());
        assert!(decode(&inner(9_000)).is_err());
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    assert!(thread.join().is_ok());
}

#[test]
fn many_keys_cost_what_they_are_long() {
    // Descending, so that no order helps.
    let keys: Vec<String> = (0..60_000).rev().map(|at| format!("\"k{at:06}\":\"v\"")).collect();
    let text = format!("{{\"metadata\":{{\"labels\":{{{}}}}}}}", keys.join(","));
    let start = std::time::Instant::now();
    assert_eq!(decode(&text).expect("valid").problems, []);
    assert!(start.elapsed().as_secs() < 5, "this must not be quadratic");
}

#[test]
fn a_tree_is_brought_under_a_schema() {
    let tree = value!({"spec": {"replicas": (Value::Float(2.0)), "limits": {"cpu": (Value::Float(0.5))}, "foo": 1, "parts": [null]}});
    let conformed = json::conform(Thing::schema(), tree.clone(), Strictness::Collect).expect("valid");
    assert_eq!(conformed.value, value!({"spec": {"replicas": 2, "limits": {"cpu": "500m"}, "parts": [{}]}}));
    assert_eq!(conformed.problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [r#"unknown field "spec.foo""#]);
    let refused = json::conform_json(Thing::schema(), tree, Strictness::Ignore).map_err(|error| error.to_string());
    let wanted = "json: cannot unmarshal number 2.0 into Go struct field ThingSpec.spec.replicas of type int32";
    assert_eq!(refused, Err(wanted.to_owned()));
}

#[test]
fn a_failed_conversion_from_a_tree_has_gos_messages() {
    for (spec, wanted) in [
        (value!("x"), "cannot restore struct from: string"),
        (value!({"parts": {"name": "c"}}), "cannot restore slice from map"),
        (value!({"limits": ["x"]}), "cannot restore map from slice"),
        (value!({"limits": "x"}), "cannot restore map from string"),
        (value!({"extra": {"a": "b"}}), "cannot restore slice from string"),
        (value!({"replicas": "3"}), "unrecognized type: int32"),
        (value!({"replicas": 1.5}), "cannot convert float64 to int32"),
        (value!({"enabled": "true"}), "unrecognized type: bool"),
        (value!({"parts": [{"name": 1}]}), "cannot convert int64 to string"),
        (value!({"parts": [{"name": true}]}), "unrecognized type: string"),
        (value!({"data": {"a": "*"}}), "error decoding from json: illegal base64 data at input byte 0"),
        (value!({"renewed": 5}), "json: cannot unmarshal number into Go value of type string"),
    ] {
        let restored = json::restore(Thing::schema(), value!({"spec": (spec.clone())}), Strictness::Ignore);
        assert_eq!(restored.map(|_| ()).map_err(|error| error.to_string()), Err(wanted.to_owned()), "{spec:?}");
    }
    for (number, wanted) in [
        (Value::Int(99_999_999_999), 1_215_752_191),
        (Value::Float(99_999_999_999.0), 1_215_752_191),
        (Value::Int(-2_147_483_649), 2_147_483_647),
        (Value::Float(1e20), 0),
    ] {
        let tree = value!({"spec": {"replicas": (number.clone())}});
        let restored = json::restore(Thing::schema(), tree, Strictness::Ignore).expect("cut");
        assert_eq!(restored.value, value!({"spec": {"replicas": wanted}}), "{number:?}");
    }
    let tree = value!({"spec": {"replicas": (Value::Float(2.0)), "ratio": 1}});
    let restored = json::restore(Thing::schema(), tree, Strictness::Ignore).expect("valid");
    assert_eq!(restored.value, value!({"spec": {"replicas": 2, "ratio": (Value::Float(1.0))}}));
}

#[test]
fn named_lists_and_maps_have_their_names_in_messages() {
    for (text, wanted) in [
        (
            r#"{"definitions":[]}"#,
            "array into Go struct field JSONSchemaProps.definitions of type v1.JSONSchemaDefinitions",
        ),
        (
            r#"{"dependencies":1}"#,
            "number into Go struct field JSONSchemaProps.dependencies of type v1.JSONSchemaDependencies",
        ),
        (
            r#"{"x-kubernetes-validations":{}}"#,
            "object into Go struct field JSONSchemaProps.x-kubernetes-validations of type v1.ValidationRules",
        ),
    ] {
        let refused = json::decode(JSONSchemaProps::schema(), text.as_bytes(), Strictness::Ignore);
        let wanted = format!("json: cannot unmarshal {wanted}");
        assert_eq!(refused.map(|_| ()).map_err(|error| error.to_string()), Err(wanted));
    }
}

#[test]
fn items_that_are_no_schema_are_there_until_they_are_stored() {
    for text in [r#"{"items":"x"}"#, r#"{"items":5}"#, r#"{"items":[]}"#] {
        let mut schema =
            json::decode(JSONSchemaProps::schema(), text.as_bytes(), Strictness::Collect).expect("valid").value;
        assert_eq!(schema, value!({"items": []}), "{text}");
        canonicalize(JSONSchemaProps::schema(), &mut schema);
        assert_eq!(schema, value!({}), "{text}");
    }
}

#[test]
fn a_character_is_escaped_wherever_it_stands() {
    for (character, escaped) in
        [("\"", r#"\""#), ("\n", r"\n"), ("<", r"\u003c"), ("\u{2028}", r"\u2028"), ("\u{2020}", "\u{2020}")]
    {
        for at in 0..40 {
            let (before, after) = ("a".repeat(at), "é".repeat(40 - at));
            let mut out = Vec::new();
            json::encode_str(&format!("{before}{character}{after}"), &mut out);
            assert_eq!(String::from_utf8(out).as_deref(), Ok(format!("\"{before}{escaped}{after}\"").as_str()));
        }
    }
}

#[test]
fn type_meta_is_found_whatever_its_case() {
    let found = json::type_meta(br#"{"KIND":"Thing","spec":{"kind":1},"apiVersion":"v1"}"#).expect("valid");
    assert_eq!((found.kind.as_str(), found.api_version.as_str()), ("Thing", "v1"));
    assert_eq!(json::type_meta(b"null"), Ok(json::TypeMeta::default()));
    for (text, wanted) in [
        (r#"{"kind":5}"#, "json: cannot unmarshal number into Go struct field .kind of type string"),
        (
            "[]",
            r#"json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#,
        ),
    ] {
        assert_eq!(json::type_meta(text.as_bytes()).map_err(|error| error.to_string()), Err(wanted.to_owned()));
    }
}

#[test]
fn numbers_of_patches_keep_their_spelling() {
    let text = b"[1,-1,1.5,1e+30,0,100000000000000000000]";
    let parsed = json::parse(text, Strictness::Ignore).expect("JSON");
    assert_eq!(json::parse_spelled(text, Strictness::Ignore).expect("JSON").value, parsed.value);
    for literal in ["1.0", "-0", "1E3", "1e3", "1.50", "12345678901234567890", "1e999"] {
        let text = format!("{{\"spec\":{{\"replicas\":{literal}}}}}");
        for strictness in [Strictness::Ignore, Strictness::Collect] {
            let tree = json::parse_spelled(text.as_bytes(), strictness).expect("JSON").value;
            assert_eq!(json::to_string(&tree), text);
        }
        if literal != "-0" {
            let tree = json::parse_spelled(text.as_bytes(), Strictness::Ignore).expect("JSON").value;
            let refused =
                json::conform_json(Thing::schema(), tree, Strictness::Ignore).map_err(|error| error.to_string());
            let wanted = format!(
                "json: cannot unmarshal number {literal} into Go struct field ThingSpec.spec.replicas of type int32"
            );
            assert_eq!(refused.map(|_| ()), Err(wanted));
        }
    }
    let mut raw = Value::Raw(r#"{"a":[1.0,2],"b":1E2}"#.into());
    json::open_spelled(&mut raw);
    assert_eq!(json::to_string(&raw), r#"{"a":[1.0,2],"b":1E2}"#);
    assert_eq!(raw.at(&["b"]), Some(&Value::Raw("1E2".into())));
}

#[test]
fn problems_are_listed_while_there_is_room_for_their_paths() {
    let inside: String = (0..50).map(|at| format!("\"k{at}\":1,\"k{at}\":1,")).collect();
    let problems = |key: &str| {
        let text = format!("{{\"{key}\":{{{inside}\"end\":1}}}}");
        json::parse(text.as_bytes(), Strictness::Collect).expect("JSON").problems.len()
    };
    assert_eq!(problems("short"), 50);
    // A quarter of a megabyte has room for two of them.
    assert_eq!(problems(&"x".repeat(200_000)), 2);
}

#[test]
fn a_map_shown_often_is_merged_as_if_shown_twice() {
    let mut text = String::from("{\"spec\":{\"limits\":{\"a\":1,\"b\":2}");
    for at in 0..1000 {
        text.push_str(&format!(",\"limits\":{{\"b\":{at},\"k{at}\":{at}}}"));
    }
    text.push_str("}}");
    let decoded = decode(&text).expect("valid").value;
    let limits = decoded.at(&["spec", "limits"]).and_then(Value::as_map).expect("a map");
    assert_eq!(limits.len(), 1002);
    assert_eq!((limits.get("a"), limits.get("b")), (Some(&value!("1")), Some(&value!("999"))));
}
