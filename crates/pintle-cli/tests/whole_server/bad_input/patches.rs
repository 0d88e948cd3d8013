//! Malformed patches, patches of the wrong type, or of missing objects. Guarantees that the object is unchanged.

use super::{CONFIG_MAPS, Says::Exactly, Says::Parts, check, nested, row};
use crate::common::http::{JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH};

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
