//! Results of the walks, row by row.

use super::*;
use crate::FieldSet;
use pintle_schema::{ApiType, Json, Quantity, RawExtension, Value, value};
use std::collections::BTreeMap;

/// A type with each kind of field that apply distinguishes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Thing {
    #[k8s(proto = 1, always)]
    name: String,
    #[k8s(proto = 2)]
    replicas: Option<i32>,
    #[k8s(proto = 3)]
    labels: BTreeMap<String, String>,
    #[k8s(proto = 4, map_type = atomic)]
    selector: BTreeMap<String, String>,
    #[k8s(proto = 5, list_type = map, list_map_keys("name"))]
    items: Vec<Thing>,
    #[k8s(proto = 6, list_type = map, list_map_keys("port", "protocol"))]
    ports: Vec<Port>,
    #[k8s(proto = 7, list_type = set)]
    finalizers: Vec<String>,
    #[k8s(proto = 8)]
    args: Vec<String>,
    #[k8s(proto = 9)]
    inner: Option<Box<Thing>>,
    #[k8s(proto = 10)]
    raw: RawExtension,
    #[k8s(proto = 11)]
    any: Option<Json>,
    #[k8s(proto = 12)]
    size: Option<Quantity>,
    #[k8s(proto = 13)]
    reference: Option<Reference>,
    #[k8s(proto = 14, struct_type = granular)]
    open: Option<Reference>,
    #[k8s(proto = 15, patch_strategy = "merge", patch_merge_key = "name")]
    patched: Vec<Reference>,
    #[k8s(proto = 16)]
    paused: bool,
    #[k8s(proto = 17)]
    nested: BTreeMap<String, Reference>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Port {
    #[k8s(proto = 1)]
    port: Option<i32>,
    #[k8s(proto = 2, default = "TCP")]
    protocol: String,
    #[k8s(proto = 3)]
    host: String,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
struct Reference {
    #[k8s(proto = 1)]
    name: String,
    #[k8s(proto = 2)]
    kind: String,
}

fn shown(set: &FieldSet) -> Vec<String> {
    set.paths().iter().map(|path| crate::Path(path).to_string()).collect()
}

fn check_fields(value: Value, expected: &[&str]) {
    let fields = fields_of(Thing::schema(), &value).map(|set| shown(&set));
    assert_eq!(fields, Ok(expected.iter().map(|path| (*path).to_owned()).collect()), "{value:?}");
}

#[test]
fn fields_of_each_kind() {
    check_fields(value!({"name": "a", "replicas": 1, "size": "1"}), &[".name", ".replicas", ".size"]);
    check_fields(value!({"labels": {"b": "1", "a": "2"}}), &[".labels.a", ".labels.b"]);
    check_fields(
        value!({"labels": {}, "replicas": null, "finalizers": [], "inner": null}),
        &[".inner", ".labels", ".replicas"],
    );
    check_fields(value!({"selector": {"a": "1"}, "args": ["x"]}), &[".args", ".selector"]);
    check_fields(
        value!({"items": [{"name": "b", "replicas": 1}, {"name": "a"}]}),
        &[
            ".items[name=\"a\"]",
            ".items[name=\"b\"]",
            ".items[name=\"a\"].name",
            ".items[name=\"b\"].name",
            ".items[name=\"b\"].replicas",
        ],
    );
    check_fields(value!({"items": [{"replicas": 1}]}), &[".items[name=\"\"]", ".items[name=\"\"].replicas"]);
    check_fields(
        value!({"ports": [{"port": 80}, {"host": "h"}]}),
        &[
            ".ports[port=80,protocol=\"TCP\"]",
            ".ports[protocol=\"TCP\"]",
            ".ports[port=80,protocol=\"TCP\"].port",
            ".ports[protocol=\"TCP\"].host",
        ],
    );
    check_fields(value!({"finalizers": ["b", "a"]}), &[".finalizers[=\"a\"]", ".finalizers[=\"b\"]"]);
    check_fields(value!({"inner": {"paused": true}}), &[".inner.paused"]);
    check_fields(value!({"raw": {"a": {"b": 1}}, "any": {"a": {"b": [1]}}}), &[".raw", ".any.a", ".any.a.b"]);
    check_fields(value!({"reference": {"name": "a"}, "open": {"name": "a"}}), &[".reference", ".open.name"]);
    check_fields(value!({"patched": [{"name": "a"}]}), &[".patched[name=\"a\"]"]);
    check_fields(value!({"nested": {"a": {"name": "x"}}}), &[".nested.a"]);
    check_fields(value!({"items": [{"name": "a", "replicas": 1}, {"name": "a"}]}), &[".items[name=\"a\"]"]);
}

#[test]
fn objects_without_a_schema_have_granular_maps_and_atomic_lists() {
    let object = value!({"spec": {"a": [{"b": 1}], "c": {}, "d": {"e": null}}});
    let fields = fields_of(Node::DEDUCED, &object).map(|set| shown(&set));
    let expected = [".spec", ".spec.a", ".spec.c", ".spec.d", ".spec.d.e"];
    assert_eq!(fields, Ok(expected.map(str::to_owned).to_vec()));
}

fn check_compare(old: Value, new: Value, added: &[&str], modified: &[&str], removed: &[&str]) {
    let check = |old: &Value, new: &Value, added: &[&str], removed: &[&str]| {
        let found = compare(Thing::schema(), old, new).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(shown(&found.added), added, "added {old:?} {new:?}");
        assert_eq!(shown(&found.modified), modified, "modified {old:?} {new:?}");
        assert_eq!(shown(&found.removed), removed, "removed {old:?} {new:?}");
    };
    check(&old, &new, added, removed);
    check(&new, &old, removed, added);
}

#[test]
fn items_without_keys_have_no_place() {
    let patched = value!({"patched": [{"name": "a"}, {"kind": "K"}]});
    for (old, new) in [(value!({}), patched.clone()), (patched, value!({"patched": [{"name": "a"}]}))] {
        let errors = compare(Thing::schema(), &old, &new).expect_err("an item without a key").to_string();
        let expected = "element 1: associative list with keys has an element that omits all key fields [\"name\"]";
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn comparisons_of_each_kind() {
    check_compare(value!({"replicas": 1}), value!({"replicas": 1.0}), &[], &[], &[]);
    check_compare(value!({"replicas": 1, "name": "a"}), value!({"name": "a", "replicas": 2}), &[], &[".replicas"], &[]);
    check_compare(value!({}), value!({"inner": {"paused": true}}), &[".inner", ".inner.paused"], &[], &[]);
    check_compare(value!({"inner": {}}), value!({"inner": {"paused": true}}), &[".inner.paused"], &[], &[]);
    check_compare(value!({"labels": null}), value!({"labels": {}}), &[], &[".labels"], &[]);
    check_compare(value!({"labels": {"a": "1"}}), value!({"labels": {"b": "1"}}), &[".labels.b"], &[], &[".labels.a"]);
    check_compare(value!({"selector": {"a": "1"}}), value!({"selector": {"b": "1"}}), &[], &[".selector"], &[]);
    check_compare(value!({"size": "1"}), value!({"size": "1000m"}), &[], &[".size"], &[]);
    check_compare(
        value!({"items": [{"name": "a", "replicas": 1}, {"name": "b"}]}),
        value!({"items": [{"name": "c"}, {"name": "a", "replicas": 2}]}),
        &[".items[name=\"c\"]", ".items[name=\"c\"].name"],
        &[".items[name=\"a\"].replicas"],
        &[".items[name=\"b\"]", ".items[name=\"b\"].name"],
    );
    check_compare(
        value!({"finalizers": ["a", "b"]}),
        value!({"finalizers": ["b", "c", "a"]}),
        &[".finalizers[=\"c\"]"],
        &[],
        &[],
    );
    check_compare(value!({"any": "x"}), value!({"any": {"a": 1}}), &[".any.a"], &[".any"], &[]);
    check_compare(value!({"raw": "x"}), value!({"raw": {"a": 1}}), &[], &[".raw"], &[]);
    let raw = |text: &str| value!({"raw": (Value::Raw(text.into()))});
    check_compare(raw("{\"a\": 1}"), raw("{\"a\":1.0}"), &[], &[], &[]);
    check_compare(raw("{\"a\": 1}"), value!({"raw": {"a": 1}}), &[], &[], &[]);
    check_compare(raw("{\"a\": 1}"), raw("{\"a\": 2}"), &[], &[".raw"], &[]);
}

#[test]
fn items_that_are_there_twice_count_as_one_value() {
    let once = value!({"items": [{"name": "a", "replicas": 1}]});
    let twice = value!({"items": [{"name": "a", "replicas": 1}, {"name": "a", "replicas": 2}]});
    let other = value!({"items": [{"name": "a", "replicas": 1}, {"name": "a", "replicas": 3}]});
    let (marker, fields) =
        (".items[name=\"a\"]", [".items[name=\"a\"]", ".items[name=\"a\"].name", ".items[name=\"a\"].replicas"]);
    check_compare(once, twice.clone(), &[marker], &[], &fields);
    check_compare(twice.clone(), other, &[], &[marker], &[]);
    check_compare(value!({}), twice, &[".items", marker], &[], &[]);
}

fn check_merge(live: Value, config: Value, expected: Value) {
    assert_eq!(merge(Thing::schema(), &live, &config), Ok(expected), "{live:?} {config:?}");
}

#[test]
fn merges_of_each_kind() {
    check_merge(value!({"name": "a", "replicas": 1}), value!({"replicas": 2}), value!({"name": "a", "replicas": 2}));
    check_merge(
        value!({"labels": {"a": "1"}}),
        value!({"labels": {"b": "2"}}),
        value!({"labels": {"a": "1", "b": "2"}}),
    );
    check_merge(value!({"selector": {"a": "1"}}), value!({"selector": {"b": "2"}}), value!({"selector": {"b": "2"}}));
    check_merge(value!({"args": ["a"]}), value!({"args": ["b"]}), value!({"args": ["b"]}));
    check_merge(value!({"labels": {"a": "1"}}), value!({"labels": null}), value!({"labels": {"a": "1"}}));
    check_merge(value!({"labels": {"a": "1"}}), value!({"labels": {}}), value!({"labels": {"a": "1"}}));
    check_merge(value!({"labels": {}}), value!({"labels": null}), value!({"labels": null}));
    check_merge(value!({"replicas": 1}), value!({"replicas": null}), value!({"replicas": null}));
    check_merge(
        value!({"items": [{"name": "a", "replicas": 1}]}),
        value!({"items": [{"name": "a", "paused": true}]}),
        value!({"items": [{"name": "a", "replicas": 1, "paused": true}]}),
    );
    check_merge(
        value!({"any": {"a": {"b": 1}}}),
        value!({"any": {"a": {"c": 2}}}),
        value!({"any": {"a": {"b": 1, "c": 2}}}),
    );
    check_merge(value!({"raw": {"a": 1}}), value!({"raw": {"b": 1}}), value!({"raw": {"b": 1}}));
    check_merge(
        value!({"open": {"name": "a"}}),
        value!({"open": {"kind": "k"}}),
        value!({"open": {"name": "a", "kind": "k"}}),
    );
}

#[test]
fn merged_lists_keep_the_order_of_what_is_applied() {
    let rows: [(&[&str], &[&str], &[&str]); 9] = [
        (&["a", "b", "c"], &["c", "a"], &["b", "c", "a"]),
        (&["a", "b"], &["c"], &["a", "b", "c"]),
        (&["a", "b", "c"], &["a", "c"], &["a", "b", "c"]),
        (&["a", "b", "c"], &["x", "a", "y", "c"], &["x", "a", "b", "y", "c"]),
        (&["a", "b", "c", "d"], &["d", "b"], &["a", "c", "d", "b"]),
        (&[], &["b", "a"], &["b", "a"]),
        (&["a", "b"], &[], &["a", "b"]),
        (&["a", "a", "b"], &["b"], &["a", "a", "b"]),
        (&["a", "b", "a"], &["a"], &["a", "b"]),
    ];
    let list = |items: &[&str]| value!({"finalizers": (items.to_vec())});
    for (live, config, expected) in rows {
        check_merge(list(live), list(config), list(expected));
    }
}

#[test]
fn removing_and_extracting() {
    let object = value!({
        "name": "a", "labels": {"a": "1", "b": "2"}, "items": [{"name": "x", "replicas": 1}, {"name": "y"}],
        "finalizers": ["p", "q"], "selector": {"s": "1"}
    });
    let of = |part: Value| fields_of(Thing::schema(), &part).unwrap_or_default();
    let part =
        of(value!({"labels": {"a": "1"}, "items": [{"name": "y"}], "finalizers": ["p"], "selector": {"s": "1"}}));
    let expected =
        value!({"name": "a", "labels": {"b": "2"}, "items": [{"name": "x", "replicas": 1}], "finalizers": ["q"]});
    assert_eq!(remove_items(Thing::schema(), object.clone(), &part), expected);
    let expected =
        value!({"labels": {"a": "1"}, "items": [{"name": "y"}], "finalizers": ["p"], "selector": {"s": "1"}});
    assert_eq!(extract_items(Thing::schema(), &object, &part), expected);
    let labels = of(value!({"labels": {"a": "1", "b": "2"}}));
    assert_eq!(remove_items(Thing::schema(), object, &labels).get("labels"), Some(&Value::map()));
}

#[test]
fn what_became_atomic_is_owned_whole() {
    let mut before = FieldSet::new();
    let path = |names: &[&'static str]| names.iter().map(|name| crate::PathElement::field(*name)).collect::<Vec<_>>();
    before.insert(&path(&["selector", "a"]));
    before.insert(&path(&["labels", "a"]));
    let after = reconcile_with_schema(Thing::schema(), &before).map(|set| shown(&set));
    assert_eq!(after, Some(vec![".selector".to_owned(), ".labels.a".to_owned()]));
    assert_eq!(reconcile_with_schema(Thing::schema(), &[path(&["labels", "a"])].iter().collect()), None);
    let named = ensure_named_fields_are_members(Thing::schema(), &before);
    assert_eq!(shown(&named), [".labels", ".selector", ".labels.a", ".selector.a"]);
}

#[test]
fn problems_have_the_reference_messages() {
    let rows = [
        (value!({"bogus": 1}), ".bogus: field not declared in schema"),
        (value!({"replicas": "x"}), ".replicas: expected numeric (int or float), got string"),
        (value!({"paused": "true"}), ".paused: expected boolean, got &{true}"),
        (value!({"labels": ["x"]}), ".labels: expected map, got &{[x]}"),
        (value!({"labels": {"x": 1}}), ".labels.x: expected string, got &value.valueUnstructured{Value:1}"),
        (value!({"name": [3]}), ".name: expected string, got &value.valueUnstructured{Value:[]interface {}{3}}"),
        (value!({"items": {"c": "i"}}), ".items: expected list, got &{map[c:i]}"),
        (
            value!({"items": [{"name": 5}]}),
            ".items[name=5].name: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (value!({"items": ["x"]}), ".items: element 0: associative list with keys may not have non-map elements"),
        (value!({"finalizers": ["a", "a"]}), ".finalizers: duplicate entries for key [=\"a\"]"),
        (
            value!({"finalizers": [null]}),
            ".finalizers: element 0: associative list without keys has an element that's an explicit null",
        ),
        (value!({"args": ["a", 1]}), ".args[1]: expected string, got &value.valueUnstructured{Value:1}"),
        (
            value!({"replicas": true, "paused": 1}),
            "errors:\n  .replicas: expected numeric (int or float), got bool\n  .paused: expected boolean, got &{1}",
        ),
    ];
    for (object, expected) in rows {
        let found = validate(Thing::schema(), &object, Duplicates::Refused).map_err(|errors| errors.to_string());
        assert_eq!(found, Err(expected.to_owned()));
    }
    let twice = value!({"finalizers": ["a", "a"], "replicas": null, "raw": [{}], "nested": {"a": null}});
    assert_eq!(validate(Thing::schema(), &twice, Duplicates::Allowed), Ok(()));
}
