//! Bodies that are cut off, of the wrong form, too deep or in the wrong encoding.
//! Guarantees that nothing of them is kept.

use super::{CONFIG_MAPS, Says::Exactly, Says::Parts, check, nested, row};
use crate::common::http::Answered;
use crate::common::http::{JSON, YAML};
use crate::common::in_process::InProcess;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const UNRECOGNIZED: &str =
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";

#[test]
fn bodies_in_json() {
    let post = ("POST", CONFIG_MAPS);
    let revisions = ("POST", "/apis/apps/v1/namespaces/default/controllerrevisions");
    let deep = |depth| format!(r#"{{"metadata":{{"name":"a"}},"data":{}}}"#, nested(depth));
    let deep_unknown = |depth| format!(r#"{{"metadata":{{"name":"a"}},"unknown":{}}}"#, nested(depth));
    let deep_raw = |depth| format!(r#"{{"metadata":{{"name":"a"}},"revision":1,"data":{}}}"#, nested(depth));
    check(vec![
        row(
            "no body",
            post,
            (JSON, ""),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
            ),
        ),
        row(
            "cut off",
            post,
            (JSON, r#"{"metadata":{"name":"a"}"#),
            400,
            Exactly(
                r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"metadata":{"name":"a"})"#,
            ),
        ),
        row(
            "an object with a version",
            post,
            (JSON, r#"{"metadata":{"name":"a","resourceVersion":"5"}}"#),
            500,
            Exactly("resourceVersion should not be set on objects to be created"),
        ),
        row(
            "an invalid one with a version",
            post,
            (JSON, r#"{"metadata":{"name":"a","resourceVersion":"5"},"data":{"a b":"c"}}"#),
            422,
            Parts(&["data[a b]: Invalid value"]),
        ),
        row(
            "not JSON",
            post,
            (JSON, "{metadata: {name: a}}"),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'm' looking for beginning of object key string ({metadata: {name: a}})",
            ),
        ),
        row(
            "an array",
            post,
            (JSON, "[]"),
            400,
            Parts(&[
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {",
                "(5b5d)",
            ]),
        ),
        row(
            "null",
            post,
            (JSON, "null"),
            422,
            Exactly(r#"ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required"#),
        ),
        row(
            "a wrong type",
            post,
            (JSON, r#"{"metadata":{"name":"a"},"data":{"k":5}}"#),
            400,
            Exactly(
                r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"#,
            ),
        ),
        row(
            "another kind",
            post,
            (JSON, r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}"#),
            400,
            Exactly(
                r#"Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"#,
            ),
        ),
        row(
            "a kind that nobody knows",
            post,
            (JSON, r#"{"kind":"configmap","apiVersion":"v1","metadata":{"name":"a"}}"#),
            400,
            Parts(&[
                r#"configmap in version "v1" cannot be handled as a ConfigMap: no kind "configmap" is registered for version "v1" in scheme"#,
            ]),
        ),
        row("no kind: the URL's is taken", post, (JSON, r#"{"metadata":{"name":"a"}}"#), 201, Parts(&[])),
        row(
            "an unknown field, strictly",
            ("POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict")),
            (JSON, r#"{"metadata":{"name":"a"},"dota":{}}"#),
            400,
            Exactly(
                r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dota""#,
            ),
        ),
        row(
            "4 MiB",
            post,
            (JSON, format!(r#"{{"data":{{"k":"{}"}}}}"#, "x".repeat(4 << 20))),
            413,
            Exactly("Request entity too large: limit is 3145728"),
        ),
        row("10,000 levels", post, (JSON, deep(10_000)), 400, Parts(&["exceeded max depth"])),
        row(
            "10,000 levels in an unknown field",
            post,
            (JSON, deep_unknown(10_000)),
            400,
            Parts(&["exceeded max depth"]),
        ),
        row("10,000 levels in a raw field", revisions, (JSON, deep_raw(10_000)), 400, Parts(&["exceeded max depth"])),
        row("a million levels, never closed", post, (JSON, "[".repeat(1_000_000)), 400, Parts(&[UNRECOGNIZED])),
        row(
            "NUL bytes",
            post,
            (JSON, vec![0; 1000]),
            400,
            Parts(&[UNRECOGNIZED, r"invalid character '\x00' looking for beginning of value"]),
        ),
        row(
            "invalid UTF-8 outside of strings",
            post,
            (JSON, b"\xff\xfe{}".to_vec()),
            400,
            Parts(&[UNRECOGNIZED, "looking for beginning of value"]),
        ),
        row(
            "a type that nobody takes",
            post,
            ("text/plain", "{}"),
            415,
            Exactly(
                "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ),
        ),
    ]);
}

#[test]
fn invalid_utf_8_within_a_string_becomes_the_replacement_character() {
    let server = InProcess::start();
    let body = b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"x\xffy\"}}";
    let created = server.client().send("POST", CONFIG_MAPS, JSON, body).expect_status(201);
    assert_eq!(created["data"]["k"], "x\u{fffd}y");
}

#[test]
fn bodies_in_yaml_and_protobuf() {
    let post = ("POST", CONFIG_MAPS);
    // Nine levels of nine aliases each: 400 million strings when written out.
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (level, below) in ('b'..='i').zip('a'..) {
        let aliases = vec![format!("*{below}"); 9].join(", ");
        bomb.push_str(&format!("{level}: &{level} [{aliases}]\n"));
    }
    bomb.push_str("metadata:\n  name: bomb\n");
    let object = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x09\x0a\x03\x0a\x01a\x12\x02";
    check(vec![
        row("YAML: an alias bomb", post, (YAML, bomb), 400, Parts(&["alias"])),
        row(
            "YAML: 10,000 levels",
            post,
            (YAML, format!("metadata: {{name: a}}\ndata: {}", nested(10_000))),
            400,
            Parts(&["depth"]),
        ),
        row("YAML: 10,000 levels of blocks", post, (YAML, "- ".repeat(10_000) + "x"), 400, Parts(&["depth"])),
        row(
            "YAML: not closed",
            post,
            (YAML, "{"),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected node content ({)",
            ),
        ),
        row(
            "YAML: two mappings in one line",
            post,
            (YAML, "a: b: c"),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): yaml: mapping values are not allowed in this context (613a20623a2063)",
            ),
        ),
        row(
            "YAML: invalid UTF-8",
            post,
            (YAML, b"metadata: {name: \xff}".to_vec()),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): yaml: invalid leading UTF-8 octet (6d657461646174613a207b6e616d653a20ff7d)",
            ),
        ),
        row(
            "YAML: a NUL byte",
            post,
            (YAML, b"metadata: {name: a\0}".to_vec()),
            400,
            Parts(&["yaml: control characters are not allowed"]),
        ),
        row(
            "YAML: an alias of itself",
            post,
            (YAML, "metadata: &m {name: *m}"),
            400,
            Parts(&["yaml: anchor 'm' value contains itself"]),
        ),
        row(
            "YAML: an unknown alias",
            post,
            (YAML, "metadata: *nobody"),
            400,
            Parts(&["unknown anchor 'nobody' referenced"]),
        ),
        row(
            "protobuf: no envelope",
            post,
            (PROTOBUF, "{}"),
            400,
            Exactly(
                "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
            ),
        ),
        row(
            "protobuf: no body",
            post,
            (PROTOBUF, ""),
            400,
            Exactly("the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)"),
        ),
        row(
            "protobuf: the prefix alone",
            post,
            (PROTOBUF, b"k8s\0".to_vec()),
            400,
            Exactly("the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)"),
        ),
        row("protobuf: cut off in the object", post, (PROTOBUF, object.to_vec()), 400, Parts(&["unexpected EOF"])),
        row(
            "protobuf: cut off in the envelope",
            post,
            (PROTOBUF, object[..15].to_vec()),
            400,
            Parts(&["unexpected EOF"]),
        ),
        row(
            "protobuf: a length beyond all bounds",
            post,
            (PROTOBUF, b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f".to_vec()),
            400,
            Parts(&["the object provided is unrecognized"]),
        ),
        row(
            "protobuf: a varint without end",
            post,
            (PROTOBUF, [b"k8s\0".as_slice(), &[0xff; 64]].concat()),
            400,
            Parts(&["proto: "]),
        ),
    ]);
}
