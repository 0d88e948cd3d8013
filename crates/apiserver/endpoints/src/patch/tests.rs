//! Patches of each type, right and wrong. Guarantees kube-apiserver's texts. Must never need a
//! server.

use super::*;
use pintle_registry::WriteOptions;
use pintle_schema::ApiType;
use pintle_types::apps::v1::ControllerRevision;
use pintle_types::core::v1::Pod;
use pintle_types::resource::v1::ResourceSlice;

fn patch(kind: PatchType, text: &str) -> Patch {
    Patch::read(kind, text.as_bytes(), FieldValidation::Warn).expect("a patch")
}

#[test]
fn media_types_of_patches_are_read_twice() {
    let of = |text: &str| PatchType::of(text, crate::encoding::GENERAL).map_err(|status| status.message);
    for text in ["application/merge-patch+json", "application/merge-patch+json; charset=utf-8"] {
        assert_eq!(of(text), Ok(PatchType::Merge), "{text}");
    }
    let unknown = ["", ";", "application/json", "Application/merge-patch+json", "application/apply-patch+cbor"];
    for text in unknown {
        assert_eq!(of(text), Err("415: Unsupported Media Type".to_owned()), "{text}");
    }
    let told = "the body of the request was in an unknown format - accepted media types include: \
                application/json-patch+json, application/merge-patch+json, \
                application/strategic-merge-patch+json, application/apply-patch+yaml";
    for text in ["application/merge-patch+json ; charset=utf-8", "text/plain, application/merge-patch+json"] {
        assert_eq!(of(text), Err(told.to_owned()), "{text}");
    }
}

#[test]
fn fields_that_a_patch_may_touch() {
    let rows = [
        (PatchType::Merge, r#"{"spec": null}"#, "spec", true),
        (PatchType::Merge, r#"{"metadata": {"spec": 1}}"#, "spec", false),
        (PatchType::Strategic, r#"{"spec": {}}"#, "spec", true),
        (PatchType::Strategic, r#"{"metadata": {"$patch": "delete"}}"#, "spec", false),
        (PatchType::Strategic, r#"{"$retainKeys": ["metadata"]}"#, "spec", true),
        (PatchType::Strategic, r#"{"$setElementOrder/spec": []}"#, "spec", true),
        (PatchType::Json, r#"[{"op": "add", "path": "/metadata/labels/spec", "value": "x"}]"#, "spec", false),
        (PatchType::Json, r#"[{"op": "remove", "path": "/spec/x"}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "remove", "path": "/spec"}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "replace", "path": "", "value": {}}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "remove", "path": "/sp~0ec"}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "remove", "path": "spec"}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "move", "path": "/metadata/x", "from": "/spec/x"}]"#, "spec", true),
        (PatchType::Json, r#"[{"op": "test", "path": "/a"}, {"op": "add", "path": "/spec/x"}]"#, "spec", true),
        (PatchType::Json, "[]", "spec", false),
    ];
    for (kind, text, field, touched) in rows {
        assert_eq!(patch(kind, text).may_touch(field), touched, "{text}");
    }
}

#[test]
fn untouched_fields_keep_their_value() {
    let query = query(FieldValidation::Strict);
    let apply = |kind, schema, stored: &Value, text| {
        let mut object =
            patch(kind, text).apply(schema, stored, &query, &Scheme::default(), &mut Vec::new()).expect("a good patch");
        canonicalize(schema, &mut object);
        object
    };
    let label = r#"{"metadata": {"labels": {"a": "b"}}}"#;
    let mut pod = pintle_schema::value!({"kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    canonicalize(Pod::schema(), &mut pod);
    let text = r#"{ "b": 1.0 }"#;
    let mut revision = pintle_schema::value!({"kind": "ControllerRevision", "metadata": {"name": "r"},
        "data": (Value::Raw(text.into())), "revision": 1});
    canonicalize(ControllerRevision::schema(), &mut revision);
    for (kind, spelled) in [(PatchType::Merge, r#"{"b":1.0}"#), (PatchType::Strategic, r#"{"b":1}"#)] {
        let patched = apply(kind, Pod::schema(), &pod, label);
        assert_eq!(patched.get("spec"), pod.get("spec"));
        assert_eq!(patched.str_at(&["metadata", "labels", "a"]), "b");
        let patched = apply(kind, ControllerRevision::schema(), &revision, label);
        assert_eq!(patched.get("data"), Some(&Value::Raw(spelled.into())), "{kind:?}");
    }
}

#[test]
fn a_type_that_cannot_be_read_is_refused_first() {
    let mut pod = pintle_schema::value!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}});
    canonicalize(Pod::schema(), &mut pod);
    let unread = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    for (text, wanted) in [
        (r#"{"kind": 5, "spec": 1}"#, format!("{unread} number into Go struct field .kind of type string")),
        (r#"{"apiVersion": []}"#, format!("{unread} array into Go struct field .apiVersion of type string")),
        (r#"{"apiVersion": "a/b/c"}"#, "unexpected GroupVersion string: a/b/c".to_owned()),
    ] {
        let patch = patch(PatchType::Merge, text);
        let query = query(FieldValidation::Warn);
        let refused = patch.apply(Pod::schema(), &pod, &query, &Scheme::default(), &mut Vec::new());
        let message = refused.err().map(|status| status.message).unwrap_or_default();
        assert!(message.ends_with(&wanted), "{text}: {message}");
    }
}

#[test]
fn messages_show_a_strategic_patch_without_the_keys_to_retain() {
    let mut pod = pintle_schema::value!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}});
    canonicalize(Pod::schema(), &mut pod);
    let patch = patch(PatchType::Strategic, r#"{"metadata": {"$retainKeys": ["labels", "name"], "labels": 5}}"#);
    let query = query(FieldValidation::Warn);
    let refused = patch.apply(Pod::schema(), &pod, &query, &Scheme::default(), &mut Vec::new());
    let message = refused.err().map(|status| status.message).unwrap_or_default();
    assert!(message.contains("map[metadata:map[labels:5]]"), "{message}");
}

fn query(field_validation: FieldValidation) -> WriteQuery {
    WriteQuery { options: WriteOptions::default(), field_validation, force: None }
}

/// The warnings of a patch of a pod, and its error in strict mode.
fn reported(kind: PatchType, text: &str) -> (Vec<String>, String) {
    let mut pod = pintle_schema::value!({"kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    canonicalize(Pod::schema(), &mut pod);
    let patch = patch(kind, text);
    let mut warnings = Vec::new();
    let warned = patch.apply(Pod::schema(), &pod, &query(FieldValidation::Warn), &Scheme::default(), &mut warnings);
    assert!(warned.is_ok(), "{text}: {warned:?}");
    let refused =
        patch.apply(Pod::schema(), &pod, &query(FieldValidation::Strict), &Scheme::default(), &mut Vec::new());
    let message = refused.err().map(|status| status.message).unwrap_or_default();
    (warnings, message.rsplit_once("strict decoding error: ").map_or(String::new(), |(_, end)| end.to_owned()))
}

#[test]
fn a_result_without_a_version_has_no_known_field() {
    let mut pod = pintle_schema::value!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    canonicalize(Pod::schema(), &mut pod);
    let apply = |kind, text: &str, validation| {
        let mut warnings = Vec::new();
        let patched =
            patch(kind, text).apply(Pod::schema(), &pod, &query(validation), &Scheme::default(), &mut warnings);
        (patched.map_err(|status| (status.code, status.message)).err(), warnings)
    };
    let fields = pod.as_map().into_iter().flat_map(|map| map.keys()).map(|key| key.as_str());
    let unknown: Vec<String> = fields
        .filter(|field| !["apiVersion", "kind"].contains(field))
        .map(|field| format!("unknown field \"{field}\""))
        .collect();
    for (kind, text) in [
        (PatchType::Merge, r#"{"apiVersion": null}"#),
        (PatchType::Json, r#"[{"op": "remove", "path": "/apiVersion"}]"#),
        (PatchType::Merge, r#"{"apiVersion": "/"}"#),
    ] {
        let (error, warnings) = apply(kind, text, FieldValidation::Warn);
        let nameless = "the name of the object (p based on URL) was undeterminable: name must be provided";
        assert_eq!(error, Some((400, nameless.to_owned())), "{text}");
        assert_eq!(warnings, unknown, "{text}");
        let (error, _) = apply(kind, text, FieldValidation::Strict);
        let (code, message) = error.expect("refused");
        assert!(code == 422 && message.ends_with(&unknown.join(", ")), "{message}");
    }
    let (error, _) = apply(PatchType::Merge, r#"{"apiVersion": "v1/"}"#, FieldValidation::Warn);
    let (code, message) = error.expect("refused");
    assert!(code == 422 && message.contains("Object 'apiVersion' is missing in '{"), "{message}");
    let (error, _) = apply(PatchType::Merge, r#"{"apiVersion": 5}"#, FieldValidation::Warn);
    let (_, message) = error.expect("refused");
    let end = "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field \
               .apiVersion of type string";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(apply(PatchType::Merge, r#"{"kind": null}"#, FieldValidation::Strict), (None, Vec::new()));
    for (kind, text) in [
        (PatchType::Strategic, r#"{"apiVersion": null}"#),
        (PatchType::Strategic, r#"{"apiVersion": "v2"}"#),
        (PatchType::Merge, r#"{"apiVersion": "/v1"}"#),
    ] {
        assert_eq!(apply(kind, text, FieldValidation::Strict), (None, Vec::new()), "{text}");
    }
    for (text, why) in [
        (r#"{"apiVersion": 1}"#, "Invalid value: \"map[apiVersion:1]\": cannot convert int64 to string"),
        (r#"{"kind": []}"#, "Invalid value: \"map[kind:[]]\": unrecognized type: string"),
    ] {
        let (error, _) = apply(PatchType::Strategic, text, FieldValidation::Warn);
        let (code, message) = error.expect("refused");
        assert!(code == 422 && message.ends_with(why), "{message}");
    }
}

#[test]
fn paths_in_results_of_strategic_patches_have_no_keys_of_maps() {
    let mut slice = pintle_schema::value!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": "s"}, "spec": {"driver": "d"}});
    canonicalize(ResourceSlice::schema(), &mut slice);
    let text = r#"{"spec": {"devices": [{"name": "d", "attributes": {"a": {"x": 1}}}]}}"#;
    for (kind, path) in
        [(PatchType::Strategic, "spec.devices[0].attributes.x"), (PatchType::Merge, "spec.devices[0].attributes.a.x")]
    {
        let mut warnings = Vec::new();
        let query = query(FieldValidation::Warn);
        let patched =
            patch(kind, text).apply(ResourceSlice::schema(), &slice, &query, &Scheme::default(), &mut warnings);
        assert!(patched.is_ok(), "{patched:?}");
        assert_eq!(warnings, [format!("unknown field \"{path}\"")]);
    }
}

#[test]
fn unknown_and_repeated_fields_are_reported_as_the_result_is_written() {
    let nested = r#"{"z": 1, "metadata": {"z": 1, "b": 1}, "a": 1, "spec": {"y": 1, "affinity": {"z": 1, "a": 1}}}"#;
    let rows: &[(PatchType, &str, &[&str])] = &[
        // A merge sorts the objects that it opens, at every level.
        (
            PatchType::Merge,
            nested,
            &["a", "metadata.b", "metadata.z", "spec.affinity.a", "spec.affinity.z", "spec.y", "z"],
        ),
        (
            PatchType::Strategic,
            nested,
            &["a", "metadata.b", "metadata.z", "spec.affinity.a", "spec.affinity.z", "spec.y", "z"],
        ),
        // By their texts, not by their positions.
        (
            PatchType::Strategic,
            r#"{"spec": {"containers": [{"name": "c", "b": 1}, {"name": "d", "a": 1}], "a": 1}}"#,
            &["spec.a", "spec.containers[0].b", "spec.containers[1].a"],
        ),
        (
            PatchType::Merge,
            r#"{"spec": {"containers": [{"name": "c", "b": 1}, {"a": 1, "name": "d"}], "a": 1}}"#,
            &["spec.a", "spec.containers[0].b", "spec.containers[1].a"],
        ),
        // An added value keeps its order until another operation opens it.
        (
            PatchType::Json,
            r#"[{"op": "add", "path": "/spec/affinity", "value": {"z": 1, "a": 1}}, {"op": "add", "path": "/b", "value": 1}]"#,
            &["b", "spec.affinity.z", "spec.affinity.a"],
        ),
        (
            PatchType::Json,
            r#"[{"op": "add", "path": "/spec/affinity", "value": {"z": 1, "a": 1}},
                {"op": "test", "path": "/spec/affinity", "value": {"z": 1, "a": 1}}]"#,
            &["spec.affinity.a", "spec.affinity.z"],
        ),
        (
            PatchType::Json,
            r#"[{"op": "add", "path": "/spec/affinity", "value": {"z": 1, "a": 1}},
                {"op": "add", "path": "/spec/affinity/b", "value": 1}]"#,
            &["spec.affinity.a", "spec.affinity.b", "spec.affinity.z"],
        ),
    ];
    for (kind, text, fields) in rows {
        let texts: Vec<String> = fields.iter().map(|field| format!("unknown field \"{field}\"")).collect();
        assert_eq!(reported(*kind, text), (texts.clone(), texts.join(", ")), "{text}");
    }
}

#[test]
fn duplicate_keys_of_a_patch_are_reported_with_their_path() {
    let rows: &[(PatchType, &str, &[&str])] = &[
        (
            PatchType::Merge,
            r#"{"metadata": {"labels": {"b": "1", "b": "2"}}, "q": 1}"#,
            &[r#"duplicate field "metadata.labels.b""#, r#"unknown field "q""#],
        ),
        (
            PatchType::Strategic,
            r#"{"q": 1, "metadata": {"labels": {"b": "1", "b": "2"}}}"#,
            &[r#"duplicate field "metadata.labels.b""#, r#"unknown field "q""#],
        ),
        // No operation has opened it, so duplicates are in the result too.
        (
            PatchType::Json,
            r#"[{"op": "add", "path": "/metadata/labels", "value": {"b": "1", "b": "2"}, "x": 1}]"#,
            &[
                r#"json patch duplicate field "[0].value.b""#,
                r#"json patch unknown field "[0].x""#,
                r#"duplicate field "metadata.labels.b""#,
            ],
        ),
        (
            PatchType::Json,
            r#"[{"op": "add", "path": "/metadata/labels", "value": {"b": "1", "b": "2"}},
                {"op": "add", "path": "/metadata/labels/c", "value": "3"}]"#,
            &[r#"json patch duplicate field "[0].value.b""#],
        ),
        (
            PatchType::Json,
            r#"[{"op": "add", "op": "add", "path": "/metadata/labels", "value": {"b": "1"}}]"#,
            &[r#"json patch duplicate field "[0].op""#],
        ),
    ];
    for (kind, text, texts) in rows {
        let (warnings, refusal) = reported(*kind, text);
        assert_eq!((warnings, refusal), (texts.iter().map(ToString::to_string).collect(), texts.join(", ")), "{text}");
    }
}

#[test]
fn names_of_fields_are_quoted_but_where_a_strategic_patch_has_no_such_field() {
    let name = r#""a\"b\\c\u0007\u00ad\n""#;
    let quoted = r#""metadata.a\"b\\c\a\u00ad\n""#;
    let plain = "unknown field \"metadata.a\"b\\c\u{7}\u{ad}\n\"".to_owned();
    let unknown = format!("{{\"metadata\": {{{name}: 1}}}}");
    let twice = format!("{{\"metadata\": {{\"labels\": {{{name}: \"1\", {name}: \"2\"}}}}}}");
    let operations = format!("[{{\"op\": \"add\", \"path\": \"/metadata\", \"value\": {{{name}: 1}}, {name}: 1}}]");
    let rows = [
        (PatchType::Merge, &unknown, vec![format!("unknown field {quoted}")]),
        (PatchType::Strategic, &unknown, vec![plain]),
        (PatchType::Merge, &twice, vec![format!("duplicate field {}", quoted.replace("data.", "data.labels."))]),
        (PatchType::Strategic, &twice, vec![format!("duplicate field {}", quoted.replace("data.", "data.labels."))]),
        (
            PatchType::Json,
            &operations,
            vec![
                format!("json patch unknown field {}", quoted.replace("metadata", "[0]")),
                format!("unknown field {quoted}"),
            ],
        ),
    ];
    for (kind, text, texts) in rows {
        assert_eq!(reported(kind, text), (texts.clone(), texts.join(", ")), "{text}");
    }
}
