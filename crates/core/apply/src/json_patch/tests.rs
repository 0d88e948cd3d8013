//! Rows of documents, patches and results, as in kube-apiserver; and properties of random patches.

use super::*;
use crate::test_random::Random;
use pintle_schema::value;

fn config_map() -> Value {
    value!({"metadata": {"name": "c", "labels": {"x": "1"}, "finalizers": ["a", "b"]}, "data": {"k": "1", "l": "2"}})
}

/// The resulting finalizers of the metadata.
fn finalizers(patch: &Value) -> Result<Value, PatchError> {
    let result = apply(config_map(), patch)?;
    Ok(result.at(&["metadata", "finalizers"]).cloned().unwrap_or_default())
}

fn data(patch: &Value) -> Result<Value, PatchError> {
    Ok(apply(config_map(), patch)?.get("data").cloned().unwrap_or_default())
}

fn is_unprocessable<T: std::fmt::Debug>(result: Result<T, PatchError>, patch: &Value) {
    let Err(error @ (PatchError::Unprocessable(_) | PatchError::TestFailed(_))) = &result else {
        panic!("{patch:?} gives {result:?}")
    };
    assert_eq!((error.status_code(), error.reason()), (422, "Invalid"));
    assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
}

/// The keys of an object in order; those of nested objects follow in brackets.
fn order(value: &Value) -> String {
    let inner = |(key, item): (&Str, &Value)| match order(item) {
        below if below.is_empty() => key.to_string(),
        below => format!("{key}[{below}]"),
    };
    value.as_map().map(|map| map.iter().map(inner).collect::<Vec<_>>().join(" ")).unwrap_or_default()
}

#[test]
fn an_opened_object_stays_sorted_wherever_it_goes() {
    let document = || value!({"b": {"d": {"y": 1, "x": 2}, "c": {"y": 1, "x": 2}}, "a": {}});
    let rows = [
        (value!(null), "a b[d[y x] c[y x]]"),
        (value!([]), "a b[d[y x] c[y x]]"),
        (value!([{"op": "add", "path": "/b/d/z", "value": {"n": 1, "m": 2}}]), "a b[c[y x] d[x y z[n m]]]"),
        (value!([{"op": "add", "path": "/b/d/a", "value": 1}]), "a b[c[y x] d[a x y]]"),
        (value!([{"op": "replace", "path": "/b/d/y", "value": 1}]), "a b[c[y x] d[x y]]"),
        (value!([{"op": "remove", "path": "/b/d/none"}]), ""),
        (
            value!([{"op": "remove", "path": "/b/d/y"}, {"op": "add", "path": "/b/d/w", "value": 1},
                {"op": "move", "from": "/b/d", "path": "/a/d"}]),
            "a[d[w x]] b[c[y x]]",
        ),
        (value!([{"op": "copy", "from": "/b/d", "path": "/a/d"}]), "a[d[y x]] b[c[y x] d[y x]]"),
        (value!([{"op": "test", "path": "/b/d", "value": {"y": 1, "x": 2}}]), "a b[c[y x] d[x y]]"),
        (value!([{"op": "test", "path": "", "value": (document())}]), "a b[c[x y] d[x y]]"),
        (value!([{"op": "replace", "path": "", "value": {"d": {"y": 1, "x": 2}, "c": 1}}]), "c d[y x]"),
    ];
    for (patch, expected) in rows {
        let result = apply(document(), &patch).unwrap_or_default();
        assert_eq!(order(&result), expected, "{patch:?}");
    }
}

#[test]
fn what_a_patch_opens_is_shown_sorted() {
    let rows = [
        (
            value!([{"op": "add", "path": "/data/k", "value": {"z": 1, "a": 2}}]),
            [vec!["data", "metadata"], vec!["name", "labels", "finalizers"]],
        ),
        (
            value!([{"op": "remove", "path": "/metadata/name"}]),
            [vec!["data", "metadata"], vec!["finalizers", "labels"]],
        ),
    ];
    for (patch, wanted) in rows {
        let result = apply(config_map(), &patch).expect("it applies");
        let keys = |value: Option<&Value>| -> Vec<String> {
            value.and_then(Value::as_map).map(|map| map.keys().map(ToString::to_string).collect()).unwrap_or_default()
        };
        assert_eq!([keys(Some(&result)), keys(result.get("metadata"))], wanted, "{patch:?}");
        let added = keys(result.at(&["data", "k"]));
        assert!(added.is_empty() || added == ["z", "a"], "what the patch brings stays as it came");
    }
}

#[test]
fn raw_json_is_opened_only_by_what_looks_inside() {
    let raw = || Value::Raw("{ \"b\": 1 }".into());
    let rows = [
        (value!([{"op": "add", "path": "/c", "value": 1}]), Some(value!({"a": (raw()), "c": 1}))),
        (value!([{"op": "copy", "from": "/a", "path": "/c"}]), Some(value!({"a": (raw()), "c": (raw())}))),
        (value!([{"op": "add", "path": "/a/c", "value": 1}]), Some(value!({"a": {"b": 1, "c": 1}}))),
        (value!([{"op": "test", "path": "/a", "value": {"b": 1}}]), Some(value!({"a": {"b": 1}}))),
        (value!([{"op": "test", "path": "/a", "value": {"b": 2}}]), None),
    ];
    for (patch, expected) in rows {
        assert_eq!(apply(value!({"a": (raw())}), &patch).ok(), expected, "{patch:?}");
    }
}

#[test]
fn failures_have_the_reference_messages() {
    let rows = [
        (
            value!({"op": "add", "path": "/none/k", "value": 1}),
            "add operation does not apply: doc is missing path: \"/none/k\": missing value",
        ),
        (
            value!({"op": "remove", "path": "/none/\"k\"/l"}),
            "remove operation does not apply: doc is missing path: \"/none/\"k\"/l\": missing value",
        ),
        (
            value!({"op": "remove", "path": "/data/none"}),
            "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value",
        ),
        (
            value!({"op": "replace", "path": "/none/k", "value": 1}),
            "replace operation does not apply: doc is missing path: /none/k: missing value",
        ),
        (
            value!({"op": "move", "from": "/none/k", "path": "/data/m"}),
            "move operation does not apply: doc is missing from path: /none/k: missing value",
        ),
        (
            value!({"op": "copy", "from": "/none/k", "path": "/data/m"}),
            "copy operation does not apply: doc is missing from path: /none/k: missing value",
        ),
        (
            value!({"op": "test", "path": "/none/k", "value": 1}),
            "test operation does not apply: is missing path: /none/k: missing value",
        ),
        (
            value!({"op": "remove", "path": "/metadata/finalizers/7"}),
            "error in remove for path: '/metadata/finalizers/7': Unable to access invalid index: 7: invalid index referenced",
        ),
        (value!({"op": "", "path": "/data/k"}), "Unexpected kind: "),
        (value!({"path": "/data/k"}), "Unexpected kind: unknown"),
        (value!({"op": "add"}), "add operation failed to decode path: missing value"),
    ];
    for (operation, text) in rows {
        let failed = apply(config_map(), &value!([(operation)])).expect_err(text);
        assert_eq!(failed.detail(), text);
    }
}

#[test]
fn items_of_lists() {
    let rows = [
        (value!([{"op": "add", "path": "/metadata/finalizers/0", "value": "n"}]), value!(["n", "a", "b"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/-", "value": "n"}]), value!(["a", "b", "n"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/2", "value": "n"}]), value!(["a", "b", "n"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/-1", "value": "n"}]), value!(["a", "b", "n"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/-3", "value": "n"}]), value!(["n", "a", "b"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/01", "value": "n"}]), value!(["a", "n", "b"])),
        (value!([{"op": "add", "path": "/metadata/finalizers/+1", "value": "n"}]), value!(["a", "n", "b"])),
        (value!([{"op": "replace", "path": "/metadata/finalizers/-1", "value": "n"}]), value!(["a", "n"])),
        (value!([{"op": "replace", "path": "/metadata/finalizers/0", "value": "n"}]), value!(["n", "b"])),
        (value!([{"op": "remove", "path": "/metadata/finalizers/0"}]), value!(["b"])),
        (value!([{"op": "remove", "path": "/metadata/finalizers/-2"}]), value!(["b"])),
        (
            value!([{"op": "copy", "path": "/metadata/finalizers/-", "from": "/metadata/finalizers/0"}]),
            value!(["a", "b", "a"]),
        ),
        (
            value!([{"op": "move", "path": "/metadata/finalizers/0", "from": "/metadata/finalizers/1"}]),
            value!(["b", "a"]),
        ),
        (value!([{"op": "test", "path": "/metadata/finalizers", "value": ["a", "b"]}]), value!(["a", "b"])),
    ];
    for (patch, expected) in rows {
        assert_eq!(finalizers(&patch), Ok(expected), "{patch:?}");
    }
    for (op, key) in [
        ("add", "9"),
        ("add", "3"),
        ("add", "-4"),
        ("add", "x"),
        ("add", ""),
        ("add", "99999999999999999999"),
        ("replace", "2"),
        ("replace", "-"),
        ("replace", "-3"),
        ("remove", "2"),
        ("remove", "-"),
        ("remove", "-3"),
        ("test", "9"),
        ("add", "0/x"),
        ("add", "9/x"),
    ] {
        let path = format!("/metadata/finalizers/{key}");
        let patch = value!([{"op": op, "path": path, "value": null}]);
        is_unprocessable(finalizers(&patch), &patch);
    }
}

#[test]
fn members_of_maps() {
    let rows = [
        (value!([{"op": "add", "path": "/data/m", "value": "3"}]), value!({"k": "1", "l": "2", "m": "3"})),
        (value!([{"op": "add", "path": "/data/k", "value": "3"}]), value!({"k": "3", "l": "2"})),
        (value!([{"op": "add", "path": "/data/q"}]), value!({"k": "1", "l": "2", "q": null})),
        (value!([{"op": "replace", "path": "/data/m", "value": "3"}]), value!({"k": "1", "l": "2", "m": "3"})),
        (value!([{"op": "replace", "path": "/data/k"}]), value!({"k": null, "l": "2"})),
        (value!([{"op": "remove", "path": "/data/k"}]), value!({"l": "2"})),
        (value!([{"op": "remove", "path": "/data"}]), value!(null)),
        (value!([{"op": "copy", "path": "/data/x", "from": "/data/none"}]), value!({"k": "1", "l": "2", "x": null})),
        (value!([{"op": "move", "path": "/data/x", "from": "/data/k"}]), value!({"l": "2", "x": "1"})),
        (value!([{"op": "copy", "path": "/data", "from": "/metadata/labels"}]), value!({"x": "1"})),
        (value!([{"op": "test", "path": "/data/none", "value": null}]), value!({"k": "1", "l": "2"})),
        (value!([{"op": "test", "path": "/data/none"}]), value!({"k": "1", "l": "2"})),
        (value!([{"op": "test", "path": "", "value": (config_map())}]), value!({"k": "1", "l": "2"})),
        (value!([]), value!({"k": "1", "l": "2"})),
        (value!(null), value!({"k": "1", "l": "2"})),
        (
            value!([
                {"op": "add", "path": "/data/m", "value": "1"},
                {"op": "copy", "path": "/data/n", "from": "/data/m"},
                {"op": "replace", "path": "/data/m", "value": "2"},
                {"op": "move", "path": "/data/o", "from": "/data/n"},
                {"op": "test", "path": "/data/o", "value": "1"},
                {"op": "remove", "path": "/data/k"},
            ]),
            value!({"l": "2", "m": "2", "o": "1"}),
        ),
    ];
    for (patch, expected) in rows {
        assert_eq!(data(&patch), Ok(expected), "{patch:?}");
    }
    for patch in [
        value!([{"op": "add", "path": "/binaryData/x", "value": "AA=="}]),
        value!([{"op": "add", "path": "/nope/x/y", "value": "1"}]),
        value!([{"op": "add", "path": "/metadata/labels/x/b", "value": "1"}]),
        value!([{"op": "remove", "path": "/data/none"}]),
        value!([{"op": "move", "path": "/data/x", "from": "/data/none"}]),
        value!([{"op": "move", "path": "/data/k/x", "from": "/data/k"}]),
        value!([{"op": "copy", "path": "/data/x", "from": "/none/k"}]),
        value!([{"op": "copy", "path": "/none/x", "from": "/data/k"}]),
        value!([{"op": "test", "path": "/data/k", "value": "2"}]),
        value!([{"op": "test", "path": "/data/k", "value": 1}]),
        value!([{"op": "test", "path": "/data/k"}]),
        value!([{"op": "test", "path": "/data", "value": {"k": "1"}}]),
        value!([{"op": "test", "path": "", "value": {}}]),
        value!([{"op": "add", "path": "/data/m", "value": "1"}, {"op": "test", "path": "/data/m", "value": "2"}]),
    ] {
        is_unprocessable(data(&patch), &patch);
    }
}

#[test]
fn operations_that_are_none() {
    for patch in [
        value!([{"op": "frobnicate", "path": "/data/k"}]),
        value!([{"path": "/data/k", "value": "1"}]),
        value!([{"op": "add", "value": "1"}]),
        value!([{"op": "copy", "path": "/data/k"}]),
        value!([{"op": "ADD", "path": "/data/k", "value": "1"}]),
        value!([{"op": 5, "path": "/data/k", "value": "1"}]),
        value!([{"op": "add", "path": 5, "value": "1"}]),
        value!([{"op": "add", "path": null, "value": "1"}]),
        value!([null]),
        value!([{}]),
    ] {
        is_unprocessable(data(&patch), &patch);
    }
}

#[test]
fn forms_of_pointers() {
    let ok = [
        // Text before the first slash is ignored.
        (value!([{"op": "add", "path": "data/m", "value": "1"}]), value!({"d": {}, "m": "1"})),
        (value!([{"op": "add", "path": "/", "value": "1"}]), value!({"": "1", "d": {}})),
        (value!([{"op": "replace", "path": "", "value": {"new": 1}}]), value!({"new": 1})),
        (
            value!([{"op": "replace", "path": "", "value": [1]}, {"op": "add", "path": "/-", "value": 2}]),
            value!([1, 2]),
        ),
        (value!([{"op": "add", "path": "/d/a~1b", "value": 1}]), value!({"d": {"a/b": 1}})),
        (value!([{"op": "add", "path": "/d/a~0b", "value": 1}]), value!({"d": {"a~b": 1}})),
        (value!([{"op": "add", "path": "/d/~01", "value": 1}]), value!({"d": {"~1": 1}})),
        (value!([{"op": "add", "path": "/d/~2~", "value": 1}]), value!({"d": {"~2~": 1}})),
        (value!([{"op": "add", "path": "/d/~é~0", "value": 1}]), value!({"d": {"~é~": 1}})),
    ];
    for (patch, expected) in ok {
        assert_eq!(apply(value!({"d": {}}), &patch), Ok(expected), "{patch:?}");
    }
    for patch in [
        value!([{"op": "add", "path": "", "value": {}}]),
        value!([{"op": "add", "path": "d", "value": {}}]),
        value!([{"op": "add", "path": "/d//x", "value": 1}]),
        value!([{"op": "remove", "path": ""}]),
        value!([{"op": "copy", "from": "", "path": "/d/x"}]),
        value!([{"op": "replace", "path": "", "value": "x"}]),
        value!([{"op": "replace", "path": ""}]),
    ] {
        is_unprocessable(apply(value!({"d": {}}), &patch), &patch);
    }
}

#[test]
fn numbers_are_compared_as_they_are_written() {
    let document = value!({"i": 3, "f": 3.0, "h": 0.5, "l": [3.0]});
    let holds = |path: &str, value: Value| {
        apply(document.clone(), &value!([{"op": "test", "path": path, "value": value}])).is_ok()
    };
    assert!(holds("/i", value!(3)));
    assert!(!holds("/i", value!(3.0)));
    assert!(holds("/f", value!(3)));
    assert!(holds("/h", value!(0.5)));
    assert!(holds("/l", value!([3])));
    assert!(!holds("/i", value!("3")));
}

#[test]
fn shapes_of_patches() {
    let rows = [
        (value!({}), "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (value!("x"), "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        (value!([1]), "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (value!([[]]), "cannot unmarshal array into Go value of type handlers.jsonPatchOp"),
        (value!([{"op": 5}]), "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (value!([{"path": 5}]), "cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
        (value!([{"from": {}}]), "cannot unmarshal object into Go struct field jsonPatchOp.from of type string"),
    ];
    for (patch, text) in rows {
        assert_eq!(
            check(&patch, &pintle_codec::json::to_vec(&patch)),
            Err(PatchError::BadRequest(format!("error decoding patch: json: {text}")))
        );
    }
    for patch in [value!(null), value!([null]), value!([{}]), value!([{"op": null, "path": "x", "value": 5}])] {
        assert_eq!(check(&patch, &pintle_codec::json::to_vec(&patch)), Ok(vec![]), "{patch:?}");
    }
    let text = br#"[{}, {"extra": 1, "op": "add", "op": "add", "extra": 2, "value": {"a": 1, "a": 2, "b": 3}}]"#;
    let patch = pintle_codec::json::parse(text, pintle_codec::Strictness::Ignore).expect("JSON").value;
    let problems = ["unknown field \"[1].extra\"", "duplicate field \"[1].op\"", "duplicate field \"[1].value.a\""];
    assert_eq!(check(&patch, text), Ok(problems.map(|problem| format!("json patch {problem}")).to_vec()));
    let text = "json: cannot unmarshal object into Go value of type jsonpatch.Patch";
    assert_eq!(apply(value!({}), &value!({})), Err(PatchError::BadRequest(text.to_owned())));
    let text = "json: cannot unmarshal number into Go value of type jsonpatch.Operation";
    assert_eq!(apply(value!({}), &value!([{}, 1])), Err(PatchError::BadRequest(text.to_owned())));
}

#[test]
fn operations_and_copies_are_bounded() {
    let test = value!({"op": "test", "path": "/x"});
    let patch = Value::List(vec![test.clone(); MAX_OPERATIONS]);
    assert_eq!(apply(value!({}), &patch), Ok(value!({})));
    let patch = Value::List(vec![test; MAX_OPERATIONS + 1]);
    let error = apply(value!({}), &patch).map_err(|error| (error.status_code(), error.reason(), error.to_string()));
    let text = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(error, Err((413, "RequestEntityTooLarge", text.to_owned())));

    // 1 KiB of text and its quotes: 3 MiB contain it 3066 times.
    let document = value!({"s": ("x".repeat(1024)), "t": {}});
    let copy = value!({"op": "copy", "from": "/s", "path": "/t/s"});
    assert!(apply(document.clone(), &Value::List(vec![copy.clone(); 3066])).is_ok());
    let patch = Value::List(vec![copy; 3067]);
    is_unprocessable(apply(document, &patch), &value!("3067 copies"));
}

/// Copies of a tree into itself double its depth each time; so do moves of copies, more slowly.
#[test]
fn no_patch_makes_a_tree_deeper_than_what_can_be_read() {
    let mut path = "/a".to_owned();
    let mut operations = Vec::new();
    for round in 0..16 {
        operations.push(value!({"op": "copy", "from": "/a", "path": (format!("{path}/a"))}));
        path.push_str(&"/a".repeat(1 << round));
        let patched = apply(value!({"a": {}}), &Value::List(operations.clone()));
        let depth = 1 + (2 << round);
        match depth <= pintle_codec::limits::TREE_DEPTH {
            true => assert_eq!(patched.map(|patched| super::depth(&patched).0), Ok(depth)),
            false => assert_eq!(patched.map_err(|error| error.status_code()), Err(413)),
        }
    }
    for operation in ["add", "replace"] {
        for (below, fits) in [(498, true), (499, false)] {
            let deep = (0..below).fold(value!({}), |below, _| value!({"a": (below)}));
            let operation = value!({"op": (operation), "path": "/a", "value": (deep)});
            assert_eq!(apply(value!({}), &value!([(operation)])).is_ok(), fits, "{below} levels below");
        }
    }
}

#[test]
fn depth_and_steps_are_bounded() {
    let is_too_large = |document: Value, patch: &Value| {
        let error = apply(document, patch).map_err(|error| error.status_code());
        assert_eq!(error.map(drop), Err(413));
    };
    let deep = |depth: usize| (0..depth).fold(value!(1), |value, _| Value::List(vec![value]));
    // The value of the document's member may be one level less deep.
    let add = |depth| value!([{"op": "add", "path": "/x", "value": (deep(depth))}]);
    assert!(apply(value!({}), &add(TREE_DEPTH - 1)).is_ok());
    is_too_large(value!({}), &add(TREE_DEPTH));
    let path = format!("/x{}/-", "/0".repeat(299));
    for op in ["copy", "move"] {
        let patch = value!([{"op": op, "from": "/y", "path": (path.as_str())}]);
        is_too_large(value!({"x": (deep(300)), "y": (deep(300))}), &patch);
        let raw = Value::Raw(format!("{}1{}", "[".repeat(300), "]".repeat(300)).into());
        is_too_large(value!({"x": (deep(300)), "y": raw}), &patch);
    }
    let patch = value!([{"op": "replace", "path": (format!("/x{}", "/0".repeat(300))), "value": (deep(300))}]);
    is_too_large(value!({"x": (deep(301))}), &patch);

    let document = value!({"x": (Value::List(vec![Value::Null; 100_000]))});
    let add = value!({"op": "add", "path": "/x/0", "value": 1});
    assert!(apply(document.clone(), &Value::List(vec![add.clone(); 1000])).is_ok());
    is_too_large(document, &Value::List(vec![add; 3000]));
    let raw = value!({"x": (Value::Raw(format!("[{}1]", "1,".repeat(50_000)).into()))});
    let test = value!({"op": "test", "path": "/x", "value": {}});
    // Each parses the raw JSON again.
    let patch = Value::List(vec![test; MAX_OPERATIONS]);
    is_unprocessable(apply(raw, &patch), &value!("a failed test"));
}

#[test]
fn length_as_json() {
    let rows = [
        (value!({"a": [1, true, null], "b": {}}), r#"{"a":[1,true,null],"b":{}}"#),
        (value!([[], false, (-12), 0.5, "é\"\\\n"]), r#"[[],false,-12,0.5,"é\"\\\n"]"#),
        (value!("<\u{1}"), r#""\u003c\u0001""#),
    ];
    for (value, text) in rows {
        assert_eq!(json_len(&value), text.len(), "{text}");
    }
}

#[test]
fn what_was_added_is_removed_without_a_trace() {
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let document = random.object(3);
        let value = random.value(2);
        let entries = document.as_map().map(Map::entries).unwrap_or_default();
        let mut path = "/fresh".to_owned();
        if !entries.is_empty() {
            let (key, child) = random.pick(entries);
            let key = key.replace('~', "~0").replace('/', "~1");
            match child {
                Value::Map(_) => path = format!("/{key}/fresh"),
                Value::List(items) => path = format!("/{key}/{}", random.below(items.len() + 1)),
                _ => {}
            }
        }
        let add = value!([
            {"op": "add", "path": (path.as_str()), "value": (value.clone())},
            {"op": "test", "path": (path.as_str()), "value": value},
        ]);
        let remove = value!([{"op": "remove", "path": (path.as_str())}]);
        let added = apply(document.clone(), &add);
        assert!(added.is_ok(), "{document:?} {add:?}");
        assert_ne!(added, Ok(document.clone()));
        let removed = added.and_then(|added| apply(added, &remove));
        // The order of keys is that of the objects that a patch parses.
        let opened = |patch: &Value| apply(document.clone(), patch);
        let test = value!([{"op": "test", "path": "", "value": (document.clone())}]);
        let removed = removed.and_then(|removed| apply(removed, &test));
        assert_eq!(removed, opened(&test), "{path}");
    }
}
