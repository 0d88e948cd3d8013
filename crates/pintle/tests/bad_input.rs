//! Requests that no good client sends: each gets its status and its message, and the server goes on.
//! Guarantees the answers of the reference where it has one, a clear 400, 413, 414 or 431 where it has none.
//! Must never count a closed connection as an answer, but where HTTP itself is broken.

mod common;

use common::http::{JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, YAML};
use common::in_process::InProcess;
use serde_json::json;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const UNRECOGNIZED: &str =
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";

/// What an answer's message must be.
enum Says {
    Exactly(&'static str),
    /// Where it quotes what differs between implementations.
    Parts(&'static [&'static str]),
}
use Says::{Exactly, Parts};

struct Row {
    what: &'static str,
    request: (&'static str, String),
    body: (&'static str, Vec<u8>),
    status: u16,
    says: Says,
}

fn row(
    what: &'static str,
    request: (&'static str, &str),
    body: (&'static str, impl Into<Vec<u8>>),
    status: u16,
    says: Says,
) -> Row {
    Row { what, request: (request.0, request.1.to_owned()), body: (body.0, body.1.into()), status, says }
}

fn check(rows: Vec<Row>) {
    let server = InProcess::start();
    let mut setup = server.client();
    let object = json!({"metadata": {"name": "there"}, "data": {"k": "v"}});
    setup.post(CONFIG_MAPS, &object).expect("an answer").expect(201);
    let mut wrong = Vec::new();
    for row in rows {
        let (method, path) = (row.request.0, row.request.1.as_str());
        match server.client().send(method, path, row.body.0, &row.body.1) {
            Err(error) => wrong.push(format!("{}: no answer: {error}", row.what)),
            Ok(answer) => {
                let status = serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap_or_default();
                let text = answer.text();
                let message = status["message"].as_str().unwrap_or(text.as_str());
                let good = answer.status == row.status
                    && match row.says {
                        Exactly(text) => message == text,
                        Parts(parts) => parts.iter().all(|part| message.contains(part)),
                    };
                if !good {
                    let message: String = message.chars().take(400).collect();
                    wrong.push(format!("{}: expected {}, got {}: {message}", row.what, row.status, answer.status));
                }
                if (200..300).contains(&answer.status) && method == "POST" {
                    let name = status["metadata"]["name"].as_str().unwrap_or_default();
                    server.client().delete(&format!("{path}/{name}")).expect("an answer").expect(200);
                }
            }
        }
        // It goes on, and nothing has changed.
        let list = server.client().get(CONFIG_MAPS).expect("an answer").expect(200);
        let items = list["items"].as_array().expect("items");
        assert!(items.len() == 1 && items[0]["data"] == json!({"k": "v"}), "after {}: {list}", row.what);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `depth` arrays, one in the other.
fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

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
    let created = server.client().send("POST", CONFIG_MAPS, JSON, body).expect("an answer").expect(201);
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
            Parts(&["recursion limit exceeded"]),
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

#[test]
fn patches() {
    let path = format!("{CONFIG_MAPS}/there");
    let patch = ("PATCH", path.as_str());
    let rejected = "the server rejected our request due to an error in our request";
    let many = format!("[{}]", vec![r#"{"op":"test","path":"/data/k","value":"v"}"#; 10_001].join(","));
    check(vec![
        row(
            "JSON patch: cut off",
            patch,
            (JSON_PATCH, "{"),
            400,
            Exactly("error decoding patch: unexpected end of JSON input"),
        ),
        row(
            "JSON patch: an object",
            patch,
            (JSON_PATCH, "{}"),
            400,
            Exactly("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ),
        row(
            "JSON patch: a number",
            patch,
            (JSON_PATCH, "[1]"),
            400,
            Exactly("error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ),
        row(
            "JSON patch: no such operation",
            patch,
            (JSON_PATCH, r#"[{"op":"frobnicate","path":"/data/k"}]"#),
            422,
            Exactly(rejected),
        ),
        row(
            "JSON patch: no such path",
            patch,
            (JSON_PATCH, r#"[{"op":"remove","path":"/spec/x"}]"#),
            422,
            Exactly(rejected),
        ),
        row(
            "JSON patch: a failed test",
            patch,
            (JSON_PATCH, r#"[{"op":"test","path":"/data/k","value":"w"}]"#),
            422,
            Exactly(rejected),
        ),
        row(
            "JSON patch: too many operations",
            patch,
            (JSON_PATCH, many),
            413,
            Exactly("Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"),
        ),
        row(
            "JSON patch: a wrong type",
            patch,
            (JSON_PATCH, r#"[{"op":"add","path":"/data/k","value":1}]"#),
            422,
            Parts(&[
                r#" "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"data\":{\"k\":1},\"kind\":\"ConfigMap\",\"metadata\":{\"name\""#,
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ]),
        ),
        row(
            "merge patch: cut off",
            patch,
            (MERGE_PATCH, "{"),
            400,
            Exactly("error decoding patch: unexpected end of JSON input"),
        ),
        row(
            "merge patch: a number",
            patch,
            (MERGE_PATCH, "7"),
            400,
            Exactly(
                "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}",
            ),
        ),
        row(
            "merge patch: a wrong type",
            patch,
            (MERGE_PATCH, r#"{"data":"x"}"#),
            422,
            Parts(&[
                r#" "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"data\":\"x\",\"kind\":\"ConfigMap\""#,
            ]),
        ),
        row(
            "merge patch: a wrong type further in",
            patch,
            (MERGE_PATCH, r#"{"metadata":{"labels":{"x":true}}}"#),
            422,
            Parts(&[
                r#"\"metadata\":{\"creationTimestamp\":"#,
                "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
            ]),
        ),
        row(
            "merge patch: an array, not validated",
            ("PATCH", &format!("{path}?fieldValidation=Ignore")),
            (MERGE_PATCH, "[]"),
            422,
            Parts(&[
                r#" "" is invalid: patch: Invalid value: "[]": couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {"#,
            ]),
        ),
        row(
            "merge patch: 10,000 levels",
            patch,
            (MERGE_PATCH, format!(r#"{{"data":{}}}"#, nested(10_000))),
            400,
            Parts(&[]),
        ),
        row("strategic patch: cut off", patch, (STRATEGIC_PATCH, "{"), 400, Exactly("unexpected end of JSON input")),
        row(
            "strategic patch: a wrong type",
            patch,
            (STRATEGIC_PATCH, r#"{"metadata":{"labels":["x"]}}"#),
            422,
            Exactly(
                r#" "" is invalid: patch: Invalid value: "map[metadata:map[labels:[x]]]": cannot restore map from slice"#,
            ),
        ),
        row(
            "strategic patch: an array",
            patch,
            (STRATEGIC_PATCH, "[]"),
            400,
            Exactly("json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ),
        row(
            "strategic patch: 10,000 levels",
            patch,
            (STRATEGIC_PATCH, format!(r#"{{"data":{}}}"#, nested(10_000))),
            400,
            Parts(&[]),
        ),
        row("no type of patch", patch, (JSON, "{}"), 415, Exactly("415: Unsupported Media Type")),
        row(
            "of nothing",
            ("PATCH", &format!("{CONFIG_MAPS}/not-there")),
            (MERGE_PATCH, "{}"),
            404,
            Exactly(r#"configmaps "not-there" not found"#),
        ),
    ]);
}

#[test]
fn paths_and_queries() {
    let none = || ("", "");
    let nothing = "the server could not find the requested resource";
    let list = |query: &str| format!("{CONFIG_MAPS}?{query}");
    let long = "x".repeat(60_000);
    check(vec![
        row("an unknown path", ("GET", "/foo"), none(), 404, Exactly("404 page not found\n")),
        row(
            "an unknown group",
            ("GET", "/apis/foo.example.com/v1/things"),
            none(),
            404,
            Exactly("404 page not found\n"),
        ),
        row("an unknown version", ("GET", "/apis/apps/v2/deployments"), none(), 404, Exactly(nothing)),
        row("an unknown resource", ("GET", "/api/v1/foos"), none(), 404, Exactly(nothing)),
        row(
            "an unknown resource to write",
            ("POST", "/api/v1/namespaces/default/foos"),
            (JSON, "{}"),
            404,
            Exactly(nothing),
        ),
        row(
            "an unknown subresource",
            ("GET", "/api/v1/namespaces/default/configmaps/there/status"),
            none(),
            404,
            Exactly(nothing),
        ),
        row(
            "a limit that is no number",
            ("GET", &list("limit=x")),
            none(),
            400,
            Exactly(r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ),
        row(
            "a selector: not closed",
            ("GET", &list("labelSelector=x%20in%20(1")),
            none(),
            400,
            Exactly("unable to parse requirement: found '', expected: ',' or ')'"),
        ),
        row(
            "a selector: no key",
            ("GET", &list("labelSelector==1")),
            none(),
            400,
            Exactly("found '=', expected: !, identifier, or 'end of string'"),
        ),
        row(
            "a selector: a wrong value",
            ("GET", &list("labelSelector=x===1")),
            none(),
            400,
            Exactly("unable to parse requirement: found '=', expected: identifier"),
        ),
        row(
            "a selector: 60,000 bytes",
            ("GET", &list(&format!("labelSelector={long}=1"))),
            none(),
            400,
            Parts(&["unable to parse requirement: <nil>: Invalid value: ", "name part must be no more than 63 bytes"]),
        ),
        row(
            "a field selector: an unknown field",
            ("GET", &list("fieldSelector=data.k=v")),
            none(),
            400,
            Exactly(r#""data.k" is not a known field selector: only "metadata.name", "metadata.namespace""#),
        ),
        row(
            "a field selector: no operator",
            ("GET", &list("fieldSelector=x")),
            none(),
            400,
            Exactly("invalid selector: 'x'; can't understand 'x'"),
        ),
        row(
            "a token that is none",
            ("GET", &list("limit=2&continue=!!!")),
            none(),
            400,
            Exactly("invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        ),
        row("a resource version that is none", ("GET", &list("resourceVersion=x")), none(), 400, Parts(&["x"])),
        row(
            "a resource version of a watch that is none",
            ("GET", &list("watch=true&resourceVersion=x")),
            none(),
            500,
            Parts(&["resourceVersion: Invalid value"]),
        ),
        row("escapes that are none", ("GET", &list("labelSelector=%zz")), none(), 200, Parts(&[])),
        row("a hundred thousand parameters", ("GET", &list(&"a&".repeat(30_000))), none(), 200, Parts(&[])),
        row("an address of 200,000 bytes", ("GET", &list(&"x".repeat(200_000))), none(), 414, Parts(&[])),
        row(
            "a header of 2 MiB",
            ("GET", CONFIG_MAPS),
            (Box::leak("x".repeat(2 << 20).into_boxed_str()), ""),
            431,
            Parts(&[]),
        ),
        row("not HTTP: a space in the path", ("GET", "/api v1"), none(), 400, Parts(&[])),
        row("a method that nobody knows", ("FROBNICATE", CONFIG_MAPS), none(), 405, Parts(&[])),
    ]);
}
