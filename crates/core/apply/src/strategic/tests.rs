//! Rows of documents, patches and results, as in kube-apiserver.
//! The schema has each kind of list that the merge distinguishes; the properties of random patches use it too.

use super::*;
use pintle_schema::{ApiType, RawExtension, value};
use std::collections::BTreeMap;

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Thing {
    #[k8s(proto = 1)]
    metadata: Meta,
    #[k8s(proto = 2)]
    spec: ThingSpec,
    #[k8s(proto = 3)]
    data: BTreeMap<String, String>,
    #[k8s(proto = 4)]
    raw: Option<RawExtension>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Meta {
    #[k8s(proto = 1)]
    name: String,
    #[k8s(proto = 2)]
    labels: BTreeMap<String, String>,
    #[k8s(proto = 3, patch_strategy = "merge")]
    finalizers: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct ThingSpec {
    #[k8s(proto = 1)]
    replicas: Option<i32>,
    #[k8s(proto = 2, patch_strategy = "merge", patch_merge_key = "name")]
    containers: Vec<Container>,
    #[k8s(proto = 3, patch_strategy = "merge,retainKeys", patch_merge_key = "name")]
    volumes: Vec<Volume>,
    #[k8s(proto = 4, patch_strategy = "retainKeys")]
    strategy: Strategy,
    #[k8s(proto = 5)]
    tolerations: Vec<Toleration>,
    #[k8s(proto = 6, patch_strategy = "merge")]
    keyless: Vec<Toleration>,
    #[k8s(proto = 7, patch_strategy = "replace")]
    whole: BTreeMap<String, String>,
    #[k8s(proto = 8)]
    extra: BTreeMap<String, Strategy>,
    #[k8s(proto = 9)]
    inner: Option<Strategy>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Container {
    #[k8s(proto = 1, always)]
    name: String,
    #[k8s(proto = 2)]
    image: String,
    #[k8s(proto = 3, patch_strategy = "merge", patch_merge_key = "name")]
    env: Vec<Env>,
    #[k8s(proto = 4, patch_strategy = "merge", patch_merge_key = "containerPort")]
    ports: Vec<Port>,
    #[k8s(proto = 5)]
    args: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Env {
    #[k8s(proto = 1, always)]
    name: String,
    #[k8s(proto = 2)]
    value: String,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Port {
    #[k8s(proto = 1, name = "containerPort", always)]
    container_port: i32,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Volume {
    #[k8s(proto = 1, always)]
    name: String,
    #[k8s(inline, proto = 2)]
    source: Source,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Source {
    #[k8s(proto = 1, name = "emptyDir")]
    empty_dir: Option<Strategy>,
    #[k8s(proto = 2, name = "configMap")]
    config_map: Option<Meta>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Strategy {
    #[k8s(proto = 1, name = "type")]
    ty: String,
    #[k8s(proto = 2)]
    rolling: BTreeMap<String, String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Toleration {
    #[k8s(proto = 1)]
    key: String,
}

pub type Outcome = Result<Value, (u16, String)>;

pub fn patched(document: &Value, patch: &Value) -> Outcome {
    apply(Thing::schema(), document.clone(), patch.clone()).map_err(|error| (error.status_code(), error.to_string()))
}

/// Checks patches of `{"metadata": {"finalizers": [..]}}` or of the value at a path.
fn check(path: &[&str], rows: Vec<(Value, Value, Value)>) {
    for (document, patch, expected) in rows {
        let wrap = |inner: &Value| {
            let mut outer = Value::map();
            outer.set_at(path, inner.clone());
            outer
        };
        assert_eq!(patched(&wrap(&document), &wrap(&patch)), Ok(wrap(&expected)), "{document:?} + {patch:?}");
    }
}

fn check_errors(path: &[&str], document: Value, rows: Vec<(Value, u16, &str)>) {
    let wrap = |inner: &Value| {
        let mut outer = Value::map();
        outer.set_at(path, inner.clone());
        outer
    };
    for (patch, status, text) in rows {
        assert_eq!(patched(&wrap(&document), &wrap(&patch)), Err((status, text.to_owned())), "{patch:?}");
    }
}

#[test]
fn maps_and_scalars() {
    let deletes = value!({"$patch": "delete"});
    check(
        &["metadata"],
        vec![
            (
                value!({"labels": {"x": "1", "y": "1"}}),
                value!({"labels": {"x": null, "z": "1"}}),
                value!({"labels": {"y": "1", "z": "1"}}),
            ),
            (value!({"labels": {"x": "1"}}), value!({"labels": null}), value!({})),
            (
                value!({"labels": {"x": "1"}}),
                value!({"labels": {"$patch": "replace", "o": "1"}}),
                value!({"labels": {"o": "1"}}),
            ),
            (value!({"labels": {"x": "1"}}), value!({"labels": (deletes.clone())}), value!({"labels": {}})),
            (value!({}), value!({"labels": (deletes)}), value!({})),
            (value!({}), value!({"labels": {"a": null, "b": "1"}}), value!({"labels": {"b": "1"}})),
            (
                value!({"labels": {"x": "1", "y": "1"}}),
                value!({"labels": {"$retainKeys": ["y"], "y": "2"}}),
                value!({"labels": {"y": "2"}}),
            ),
            (value!({"name": "x"}), value!({"name": 5}), value!({"name": 5})),
            (value!({"name": "x"}), value!({"name": {"a": null}}), value!({"name": {}})),
            (value!({"labels": {"x": "1"}}), value!({"labels": ["x"]}), value!({"labels": ["x"]})),
            (value!({"name": null}), value!({"name": "x"}), value!({"name": "x"})),
            (
                value!({"name": "x"}),
                value!({"$bogus": 1, "other": {"a": 1}}),
                value!({"name": "x", "$bogus": 1, "other": {"a": 1}}),
            ),
        ],
    );
    check(
        &["spec"],
        vec![
            (value!({"replicas": 1}), value!({"replicas": null}), value!({})),
            (value!({"replicas": 1}), value!({"replicas": 1.5}), value!({"replicas": 1.5})),
            (value!({"whole": {"a": "1"}}), value!({"whole": {"b": null}}), value!({"whole": {"b": null}})),
            (
                value!({"tolerations": [{"key": "a"}]}),
                value!({"tolerations": [{"key": "b"}]}),
                value!({"tolerations": [{"key": "b"}]}),
            ),
            (
                value!({"extra": {"a": {"type": "x"}}}),
                value!({"extra": {"b": {"type": "y"}}}),
                value!({"extra": {"a": {"type": "x"}, "b": {"type": "y"}}}),
            ),
            (
                value!({"strategy": {"type": "a", "rolling": {"x": "1"}}}),
                value!({"strategy": {"$retainKeys": ["type"], "type": "b"}}),
                value!({"strategy": {"type": "b"}}),
            ),
            (value!({"strategy": {"type": "a"}}), value!({"strategy": {"$retainKeys": []}}), value!({"strategy": {}})),
        ],
    );
    assert_eq!(patched(&value!({"data": {"k": "1"}}), &value!(null)), Ok(value!({"data": {"k": "1"}})));
    assert_eq!(patched(&value!({"data": {"k": "1"}}), &value!({"$patch": "delete"})), Ok(value!({})));
    let replace = value!({"$patch": "replace", "data": {"l": null}});
    assert_eq!(patched(&value!({"data": {"k": "1"}}), &replace), Ok(value!({"data": {"l": null}})));
}

#[test]
fn lists_of_scalars() {
    check(
        &["metadata"],
        vec![
            (
                value!({"finalizers": ["a", "b"]}),
                value!({"finalizers": ["c"]}),
                value!({"finalizers": ["c", "a", "b"]}),
            ),
            (
                value!({"finalizers": ["c", "a", "b"]}),
                value!({"finalizers": ["a"]}),
                value!({"finalizers": ["c", "a", "b"]}),
            ),
            (
                value!({"finalizers": ["c", "a", "b"]}),
                value!({"finalizers": ["c", "a", "n"]}),
                value!({"finalizers": ["c", "a", "n", "b"]}),
            ),
            (value!({"finalizers": ["a", "b"]}), value!({"finalizers": []}), value!({"finalizers": ["a", "b"]})),
            (value!({"finalizers": []}), value!({"finalizers": []}), value!({"finalizers": []})),
            (value!({"finalizers": ["a"]}), value!({"finalizers": null}), value!({})),
            (
                value!({"finalizers": ["a", "b"]}),
                value!({"$deleteFromPrimitiveList/finalizers": ["a"]}),
                value!({"finalizers": ["b"]}),
            ),
            (
                value!({"finalizers": ["a"]}),
                value!({"$deleteFromPrimitiveList/finalizers": ["z"]}),
                value!({"finalizers": ["a"]}),
            ),
            (
                value!({"finalizers": ["b"]}),
                value!({"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["n"]}),
                value!({"finalizers": ["n"]}),
            ),
            (
                value!({"finalizers": ["n"]}),
                value!({"$deleteFromPrimitiveList/finalizers": "n"}),
                value!({"finalizers": ["n"]}),
            ),
            (value!({"finalizers": ["n"]}), value!({"$deleteFromPrimitiveList/finalizers": null}), value!({})),
            (
                value!({"finalizers": ["n"]}),
                value!({"$deleteFromPrimitiveList/nope": ["x"]}),
                value!({"finalizers": ["n"]}),
            ),
            (
                value!({"finalizers": ["a", "b", "c"]}),
                value!({"$setElementOrder/finalizers": ["c", "n", "a"], "finalizers": ["n"]}),
                value!({"finalizers": ["b", "c", "n", "a"]}),
            ),
            (
                value!({"finalizers": ["a", "b"]}),
                value!({"$setElementOrder/finalizers": ["b", "a"]}),
                value!({"finalizers": ["b", "a"]}),
            ),
            (value!({}), value!({"$setElementOrder/finalizers": ["b", "a"]}), value!({})),
            (
                value!({}),
                value!({"$setElementOrder/finalizers": ["b", "a"], "finalizers": ["b", "a"]}),
                value!({"finalizers": ["b", "a"]}),
            ),
            (
                value!({"finalizers": ["a", "b"]}),
                value!({"$setElementOrder/finalizers": [], "finalizers": ["z"]}),
                value!({"finalizers": ["a", "b", "z"]}),
            ),
        ],
    );
    check(
        &["spec"],
        vec![(
            value!({"containers": [{"name": "c", "args": ["a", "b"]}]}),
            value!({"containers": [{"name": "c", "args": ["x"]}]}),
            value!({"containers": [{"name": "c", "args": ["x"]}]}),
        )],
    );
}

#[test]
fn lists_of_objects() {
    let c = |image: &str| value!({"name": "c", "image": image});
    let d = |image: &str| value!({"name": "d", "image": image});
    let z = || value!({"name": "z", "image": "i"});
    check(
        &["spec", "containers"],
        vec![
            (value!([(c("1")), (d("1"))]), value!([(d("2")), (c("2"))]), value!([(d("2")), (c("2"))])),
            (value!([(d("2")), (c("2"))]), value!([(z()), (c("3"))]), value!([(z()), (d("2")), (c("3"))])),
            (value!([(c("1")), (d("1"))]), value!([(z())]), value!([(z()), (c("1")), (d("1"))])),
            (value!([(c("1")), (d("1"))]), value!([{"name": "d", "$patch": "delete"}]), value!([(c("1"))])),
            (value!([(c("1"))]), value!([{"name": "none", "$patch": "delete"}]), value!([(c("1"))])),
            (value!([(c("1"))]), value!([{"name": "c", "$patch": "delete"}]), value!([])),
            (value!([(c("1"))]), value!([{"name": "c", "$patch": "delete"}, {"name": "c"}]), value!([{"name": "c"}])),
            (value!([(c("1")), (d("1"))]), value!([{"$patch": "replace"}, (z())]), value!([(z())])),
            (value!([(c("1"))]), value!([(z()), {"$patch": "replace"}]), value!([(z())])),
            (value!([(c("1"))]), value!([{"$patch": "replace", "name": "c", "image": "9"}]), value!([])),
            (value!([(c("1"))]), value!([{"name": "c", "image": null}]), value!([{"name": "c"}])),
            (value!([]), value!([(z())]), value!([(z())])),
            (value!([]), value!([]), value!([])),
        ],
    );
    check(
        &["spec"],
        vec![
            // A new list loses its directives and nulls, an item appended to an existing one keeps them.
            (
                value!({}),
                value!({"containers": [{"name": "c", "image": null}, {"name": "d", "$patch": "delete"}]}),
                value!({"containers": [{"name": "c"}]}),
            ),
            (
                value!({"containers": [(z())]}),
                value!({"containers": [{"name": "c", "image": null}]}),
                value!({"containers": [{"name": "c", "image": null}, (z())]}),
            ),
            (
                value!({"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}], "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "x"}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "9"}, {"name": "C", "value": "3"}], "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "x"}]}]}),
            ),
            // Two items with one key: a patch changes the first, delete removes both.
            (
                value!({"containers": [{"name": "c", "env": [{"name": "E", "value": "1"}, {"name": "F"}, {"name": "E", "value": "3"}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "E", "value": "9"}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "E", "value": "9"}, {"name": "E", "value": "3"}, {"name": "F"}]}]}),
            ),
            (
                value!({"containers": [{"name": "c", "env": [{"name": "E", "value": "1"}, {"name": "F"}, {"name": "E", "value": "3"}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "E", "$patch": "delete"}]}]}),
                value!({"containers": [{"name": "c", "env": [{"name": "F"}]}]}),
            ),
            (
                value!({"volumes": [{"name": "v", "emptyDir": {}}]}),
                value!({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "x"}}]}),
                value!({"volumes": [{"name": "v", "configMap": {"name": "x"}}]}),
            ),
            (
                value!({"containers": [(c("1")), (d("1"))]}),
                value!({"$setElementOrder/containers": [{"name": "d"}, {"name": "z"}, {"name": "c"}], "containers": [(d("2")), (z())]}),
                value!({"containers": [(d("2")), (z()), (c("1"))]}),
            ),
            (
                value!({"containers": [(c("1")), (d("1"))]}),
                value!({"$setElementOrder/containers": [{"name": "d"}]}),
                value!({"containers": [(c("1")), (d("1"))]}),
            ),
            (
                value!({}),
                value!({"$setElementOrder/containers": [{"name": "c"}], "containers": [(c("1")), {"name": "d", "$patch": "delete"}]}),
                value!({"containers": [(c("1"))]}),
            ),
            // Items of the patch take the slots of deleted ones, which are before the last live ones.
            (
                value!({"containers": [(c("1")), (d("1")), (z())]}),
                value!({"$setElementOrder/containers": [{"name": "d"}, {"name": "e"}], "containers": [{"name": "e"}, {"name": "c", "$patch": "delete"}]}),
                value!({"containers": [(d("1")), (z()), {"name": "e"}]}),
            ),
            (
                value!({"containers": [(c("1")), (z())]}),
                value!({"$setElementOrder/containers": [{"name": "d"}, {"name": "e"}], "containers": [(d("1")), {"name": "e"}, {"name": "c", "$patch": "delete"}]}),
                value!({"containers": [(z()), (d("1")), {"name": "e"}]}),
            ),
            (
                value!({"containers": [(c("1")), (d("1"))]}),
                value!({"$setElementOrder/containers": [{"name": "d"}], "containers": [(d("2")), {"name": "d", "$patch": "delete"}]}),
                value!({"containers": [(c("1")), (d("2"))]}),
            ),
            (value!({}), value!({"$setElementOrder/Containers": []}), value!({})),
            (value!({}), value!({"$setElementOrder/inner": []}), value!({})),
        ],
    );
}

#[test]
fn malformed_directives() {
    check_errors(
        &["metadata"],
        value!({"labels": {"x": "1"}, "finalizers": ["a"]}),
        vec![
            (
                value!({"labels": {"$patch": "merge", "z": "1"}}),
                500,
                "unknown patch type: merge in map: map[$patch:merge z:1]",
            ),
            (value!({"labels": {"$patch": 5}}), 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
            (value!({"labels": {"$retainKeys": "x"}}), 400, "invalid patch format of retainKeys"),
            (value!({"labels": {"$retainKeys": ["y"], "x": "2"}}), 400, "invalid patch format of retainKeys"),
            (value!({"$deleteFromPrimitiveList": ["x"]}), 400, "invalid patch format of primitive list"),
            (value!({"$deleteFromPrimitiveListX/finalizers": ["x"]}), 400, "invalid patch format of primitive list"),
            (value!({"$setElementOrder": ["x"]}), 400, "invalid patch format of setElementOrder list"),
            (value!({"$setElementOrder": "x"}), 500, "expected a []interface {}, but received a string"),
            (
                value!({"$setElementOrder/finalizers": null}),
                500,
                "expected a []interface {}, but received a %!s(<nil>)",
            ),
            (
                value!({"$setElementOrder/finalizers": [], "finalizers": null}),
                500,
                "expected a []interface {}, but received a %!s(<nil>)",
            ),
            (
                value!({"$setElementOrder/labels": []}),
                500,
                "expected a []interface {}, but received a map[string]interface {}",
            ),
            (
                value!({"$setElementOrder/nope": []}),
                500,
                "unable to find api field in struct Meta for the json field \"nope\"",
            ),
            (value!({"$setElementOrder/name": []}), 500, "expected slice or array type, but got: struct"),
            (value!({"finalizers": [1]}), 500, "list element types are not identical: [[a] [1]]"),
            (value!({"finalizers": [null]}), 500, "list element types are not identical: [[a] [<nil>]]"),
            (
                value!({"$setElementOrder/finalizers": ["x"], "finalizers": ["y"]}),
                500,
                "The order in patch list:\n[y]\n doesn't match $setElementOrder list:\n[x]\n",
            ),
        ],
    );
    check_errors(
        &["spec"],
        value!({"containers": [{"name": "c"}, {"name": "d"}], "keyless": [{"key": "a"}], "tolerations": [{"key": "a"}], "extra": {"a": {"type": "x"}}}),
        vec![
            (
                value!({"containers": [{"name": "c", "$patch": "merge"}]}),
                500,
                "merging lists cannot yet be specified in the patch",
            ),
            (
                value!({"containers": [{"name": "c", "$patch": "x"}]}),
                500,
                "unknown patch type: x in map: map[$patch:x name:c]",
            ),
            (
                value!({"containers": [{"image": "x"}]}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                value!({"containers": [{"$patch": "delete"}]}),
                500,
                "map: map[$patch:delete] does not contain declared merge key: name",
            ),
            (
                value!({"containers": [{"$patch": "replace"}, {"image": "x"}]}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                value!({"containers": ["x"]}),
                500,
                "list element types are not identical: [[map[name:c] map[name:d]] [x]]",
            ),
            (value!({"keyless": [{"key": "b"}]}), 500, "cannot merge lists without merge key for struct"),
            (
                value!({"$deleteFromPrimitiveList/tolerations": [{"key": "b"}]}),
                500,
                "cannot merge lists without merge key for struct",
            ),
            (
                value!({"extra": {"a": {"type": "y"}}}),
                500,
                "merging an object in json but data type is not struct, instead is: map",
            ),
            (
                value!({"$setElementOrder/containers": [{"image": "x"}]}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (value!({"$setElementOrder/containers": ["x"]}), 500, "value for key 0 is not a map"),
            (
                value!({"$setElementOrder/containers": [{"name": "c"}], "containers": ["x"]}),
                500,
                "expected a map[string]interface {}, but received a string",
            ),
            (
                value!({"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}),
                500,
                "The order in patch list:\n[map[image:i name:c] map[image:i name:d]]\n doesn't match $setElementOrder list:\n[map[name:c]]\n",
            ),
            (
                value!({"$setElementOrder/containers": [{"name": "c"}, {"name": "d"}], "containers": [{"name": "d", "image": "i"}, {"name": "c", "image": "i"}]}),
                500,
                "The order in patch list:\n[map[image:i name:d] map[image:i name:c]]\n doesn't match $setElementOrder list:\n[map[name:c] map[name:d]]\n",
            ),
        ],
    );
    let panic = "This request caused apiserver to panic. Look in the logs for details.";
    check_errors(
        &["spec"],
        value!({"containers": [], "tolerations": [{"key": "a"}], "inner": {"rolling": {}}}),
        vec![
            (value!({"containers": [[]]}), 422, "the server rejected our request due to an error in our request"),
            (value!({"containers": [null]}), 500, panic),
            (value!({"containers": [{"name": {}}]}), 500, panic),
            (value!({"$setElementOrder/tolerations": []}), 500, panic),
            (
                value!({"$setElementOrder/containers": [], "containers": []}),
                500,
                "no elements in any of the given slices",
            ),
            (value!({"inner": {"$setElementOrder/type": []}}), 500, "expected slice or array type, but got: ptr"),
            (value!({"inner": {"$retainKeys": [{}]}}), 500, panic),
        ],
    );
    check_errors(
        &["raw"],
        value!({"a": {"b": 1}}),
        vec![(
            value!({"a": {"b": 2}}),
            500,
            "unable to find api field in struct RawExtension for the json field \"a\"",
        )],
    );
    for (patch, found) in [(value!([]), "array"), (value!("x"), "string"), (value!(7), "number")] {
        let text = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
        assert_eq!(patched(&value!({}), &patch), Err((400, text)));
    }
}

#[test]
fn an_item_named_again_and_again_is_not_worth_any_work() {
    let members = (0..2000).map(|at| (Str::from(format!("k{at}")), Value::Int(at))).collect();
    let mut large = Value::Map(Map::from_entries(members));
    large.set_at(&["name"], "c");
    let again = |times: usize| {
        let mut items = vec![large.clone()];
        items.extend(vec![value!({"name": "c"}); times]);
        value!({"spec": {"containers": (Value::List(items))}})
    };
    let thing = value!({"spec": {"containers": [{"name": "b"}]}});
    assert!(patched(&thing, &again(500)).is_ok());
    assert_eq!(patched(&thing, &again(5000)).map_err(|(code, _)| code).map(drop), Err(413));
}
