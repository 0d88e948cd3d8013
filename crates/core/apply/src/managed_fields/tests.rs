//! Field owners after each write of a sequence.

use super::scale::Mapping;
use super::*;
use crate::typed;
use pintle_schema::{ApiType, Struct, Value, canonicalize, value};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Meta {
    #[k8s(proto = 1)]
    name: String,
    #[k8s(proto = 2)]
    annotations: BTreeMap<String, String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Thing {
    #[k8s(proto = 1)]
    kind: String,
    #[k8s(proto = 2)]
    api_version: String,
    #[k8s(proto = 3)]
    metadata: Meta,
    #[k8s(proto = 4)]
    data: BTreeMap<String, String>,
    #[k8s(proto = 5)]
    status: Option<String>,
    #[k8s(proto = 6, map_type = atomic)]
    selector: BTreeMap<String, String>,
    #[k8s(proto = 7, list_type = map, list_map_keys("name"))]
    items: Vec<Item>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Item {
    #[k8s(proto = 1)]
    name: String,
}

/// The same with another name of the data field.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Other {
    #[k8s(proto = 1)]
    kind: String,
    #[k8s(proto = 2)]
    api_version: String,
    #[k8s(proto = 3)]
    metadata: Meta,
    #[k8s(proto = 4)]
    values: BTreeMap<String, String>,
}

struct Kinds(Ignored);

impl Versions for Kinds {
    fn schema(&self, api_version: &str) -> Option<&Struct> {
        match api_version {
            "v1" => Some(Thing::schema()),
            "v2" => Some(Other::schema()),
            _ => None,
        }
    }

    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error> {
        if from == to {
            return Ok(Cow::Borrowed(object));
        }
        let mut object = object.clone();
        let (old, new) = if to == "v2" { ("data", "values") } else { ("values", "data") };
        if let Some(data) = object.remove_at(&[old]) {
            object.set_at(&[new], data);
        }
        object.set_at(&["apiVersion"], to);
        if let Some(schema) = self.schema(to) {
            typed::validate(schema, &object, typed::Duplicates::Refused)?;
        }
        Ok(Cow::Owned(object))
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &self.0
    }
}

/// A kind whose objects may not match the schema.
struct Loose;

impl Versions for Loose {
    fn schema(&self, _: &str) -> Option<&Struct> {
        Some(Thing::schema())
    }

    fn convert<'v>(&self, object: &'v Value, _: &str, _: &str) -> Result<Cow<'v, Value>, Error> {
        Ok(Cow::Borrowed(object))
    }

    fn may_mismatch(&self) -> bool {
        true
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

/// Versions between which nothing can be converted.
struct Apart;

impl Versions for Apart {
    fn schema(&self, _: &str) -> Option<&Struct> {
        Some(Thing::schema())
    }

    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error> {
        if from == to { Ok(Cow::Borrowed(object)) } else { Err(Error::Unconvertible) }
    }

    fn may_mismatch(&self) -> bool {
        true
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

#[test]
fn managers_of_a_version_that_is_out_of_reach_keep_what_they_own() {
    let thing = |data: Value| value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, "data": (data)});
    let write = |api_version, manager| Write {
        versions: &Apart,
        api_version,
        subresource: "",
        manager,
        now: "2026-01-01T00:00:00Z",
    };
    let old = thing(value!({"a": "1", "b": "1"}));
    let managed = write("v2", "two").update(&Value::map(), &old, Managed::default(), true).expect("tracked");
    let new = thing(value!({"a": "2"}));
    let managed = write("v1", "one").update(&old, &new, managed, false).expect("tracked");
    let owned = |managed: &Managed| {
        let of = |entry: &Entry| {
            let fields = entry.clone().fields().expect("a set").to_v1();
            format!("{} {}", entry.manager.name, pintle_codec::json::to_string(&fields))
        };
        managed.entries().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(owned(&managed), [r#"two {"f:data":{".":{},"f:a":{},"f:b":{}}}"#, r#"one {"f:data":{"f:a":{}}}"#]);
}

#[test]
fn objects_that_do_not_match_the_schema_are_not_tracked() {
    let write =
        Write { versions: &Loose, api_version: "v1", subresource: "", manager: "m", now: "2026-01-01T00:00:00Z" };
    let thing = |data: Value| value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, "data": (data)});
    let (good, bad) = (thing(value!({"a": "b"})), thing(value!({"a": ["b"]})));
    assert!(write.update(&Value::map(), &good, Managed::default(), true).is_ok());
    let tracked = write.update(&Value::map(), &bad, Managed::default(), true);
    assert!(matches!(tracked, Err(Error::Object(_))), "{tracked:?}");
    let applied = write.apply(&bad, &good, &Value::map(), Managed::default(), true);
    assert!(matches!(applied, Err(Error::Untracked(_))), "{applied:?}");
}

fn time(second: u32) -> String {
    format!("2026-01-01T00:00:{second:02}Z")
}

/// An object and its owners, after writes by several managers.
struct Fixture {
    kinds: Kinds,
    object: Value,
    managed: Managed,
    second: u32,
}

impl Fixture {
    fn new() -> Self {
        let mut object = Value::map();
        canonicalize(Thing::schema(), &mut object);
        Fixture { kinds: Kinds(Ignored::Nothing), object, managed: Managed::default(), second: 0 }
    }

    fn created(by: &str, data: Value) -> Self {
        let mut fixture = Fixture::new();
        fixture.update_as(by, data, true);
        fixture
    }

    fn write<R>(&mut self, manager: &str, act: impl FnOnce(&Write<'_>, &Value, Managed) -> R) -> R {
        self.second += 1;
        let now = time(self.second);
        let write = Write { versions: &self.kinds, api_version: "v1", subresource: "", manager, now: &now };
        act(&write, &self.object, self.managed.clone())
    }

    fn update_as(&mut self, manager: &str, data: Value, created: bool) {
        let mut new = value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, "data": data});
        canonicalize(Thing::schema(), &mut new);
        self.managed =
            self.write(manager, |write, live, managed| write.update(live, &new, managed, created)).expect("tracked");
        self.object = new;
    }

    fn update(&mut self, manager: &str, data: Value) {
        self.update_as(manager, data, false);
    }

    fn apply(&mut self, manager: &str, data: Value, force: bool) -> Result<(), String> {
        let config = value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, "data": data});
        let mut empty = Value::map();
        canonicalize(Thing::schema(), &mut empty);
        let applied = self
            .write(manager, |write, live, managed| write.apply(live, &config, &empty, managed, force))
            .map_err(|error| error.to_string())?;
        self.managed = applied.managed;
        if let Some(mut object) = applied.object {
            canonicalize(Thing::schema(), &mut object);
            self.object = object;
        }
        Ok(())
    }

    /// `manager operation second fields`, one for each entry.
    fn owners(&self) -> Vec<String> {
        let entries = self.managed.clone().encode().unwrap_or_default();
        let show = |entry: &Value| {
            let fields = FieldSet::from_v1(entry.get("fieldsV1").expect("fields")).expect("well formed");
            let paths: Vec<String> = fields.paths().iter().map(|path| crate::Path(path).to_string()).collect();
            let text = |key| entry.str_at(&[key]);
            let second = text("time").get(17..19).unwrap_or("-");
            format!("{} {} {second} {}", text("manager"), text("operation"), paths.join(" "))
        };
        entries.as_list().unwrap_or(&[]).iter().map(show).collect()
    }

    fn data(&self) -> Value {
        self.object.get("data").cloned().unwrap_or_default()
    }
}

#[test]
fn a_writer_owns_what_it_changes() {
    let mut fixture = Fixture::created("u", value!({"a": "1", "b": "1"}));
    assert_eq!(fixture.owners(), ["u Update 01 .data .data.a .data.b"]);
    fixture.update("v", value!({"a": "2", "b": "1", "c": "1"}));
    assert_eq!(fixture.owners(), ["u Update 01 .data .data.b", "v Update 02 .data.a .data.c"]);
    fixture.update("w", value!({"a": "2", "b": "1", "c": "1"}));
    assert_eq!(fixture.owners().len(), 2, "who changes nothing owns nothing");
    fixture.update("v", value!({"c": "1"}));
    assert_eq!(fixture.owners(), ["u Update 01 .data", "v Update 02 .data.c"], "what is gone is nobody's");
}

#[test]
fn applying_asks_first() {
    let mut fixture = Fixture::created("u", value!({"a": "1", "b": "1"}));
    let refusal = fixture.apply("x", value!({"a": "2"}), false).expect_err("owned");
    assert_eq!(refusal, "Apply failed with 1 conflict: conflict with \"u\" using v1: .data.a");
    fixture.apply("x", value!({"a": "1"}), false).expect("the same value is shared");
    assert_eq!(fixture.owners(), ["x Apply - .data.a", "u Update 01 .data .data.a .data.b"]);
    fixture.apply("y", value!({"a": "2"}), true).expect("forced");
    assert_eq!(fixture.owners(), ["y Apply 04 .data.a", "u Update 01 .data .data.b"]);
    let refusal = fixture.apply("x", value!({"a": "3", "b": "2"}), false).expect_err("owned by two");
    assert_eq!(
        refusal,
        "Apply failed with 2 conflicts: conflicts with \"u\" using v1:\n- .data.b\nconflicts with \"y\":\n- .data.a"
    );
}

#[test]
fn what_is_applied_no_more_goes_unless_another_owns_it() {
    let mut fixture = Fixture::new();
    fixture.apply("x", value!({"a": "1", "b": "1"}), false).expect("new");
    fixture.apply("y", value!({"b": "1", "c": "1"}), false).expect("shared");
    fixture.apply("x", value!({"d": "1"}), false).expect("its own");
    assert_eq!(fixture.data(), value!({"b": "1", "c": "1", "d": "1"}));
    fixture.apply("y", value!({}), false).expect("its own");
    assert_eq!(fixture.data(), value!({"d": "1"}));
    let before = (fixture.object.clone(), fixture.owners());
    fixture.apply("x", value!({"d": "1"}), false).expect("again");
    assert_eq!((fixture.object.clone(), fixture.owners()), before);
}

#[test]
fn who_was_not_tracked_owns_what_was_before() {
    let mut fixture = Fixture::new();
    fixture.object.set_at(&["data"], value!({"a": "1"}));
    fixture.update("u", value!({"a": "2"}));
    assert!(fixture.owners().is_empty());
    let refusal = fixture.apply("x", value!({"a": "1"}), false).expect_err("owned");
    assert!(refusal.contains("conflict with \"before-first-apply\" using v1: .data.a"), "{refusal}");
}

#[test]
fn kubectl_takes_over_what_it_applied_from_its_side() {
    let mut fixture = Fixture::created("kubectl-client-side-apply", value!({"a": "1", "b": "1"}));
    let applied = r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"data":{"a":"1"}}"#;
    fixture.object.set_at(&["metadata", "annotations", last_applied::ANNOTATION], applied);
    assert!(fixture.apply("other", value!({"a": "2"}), false).is_err());
    fixture.apply("kubectl", value!({"a": "2"}), false).expect("its own");
    let refusal = fixture.apply("kubectl", value!({"a": "2", "b": "2"}), false).expect_err("never applied");
    assert!(refusal.ends_with(".data.b"), "{refusal}");
    // An annotation without apiVersion and kind is ignored.
    let mut fixture = Fixture::created("kubectl-client-side-apply", value!({"a": "1"}));
    let applied = r#"{"apiVersion":"v1","metadata":{"name":"a"},"data":{"a":"1"}}"#;
    fixture.object.set_at(&["metadata", "annotations", last_applied::ANNOTATION], applied);
    assert!(fixture.apply("kubectl", value!({"a": "2"}), false).is_err());
}

#[test]
fn the_oldest_updaters_are_folded() {
    let mut fixture = Fixture::created("u00", value!({"k00": "1"}));
    for at in 1..13 {
        let mut data = fixture.data();
        data.set_at(&[&format!("k{at:02}")], "1");
        fixture.update(&format!("u{at:02}"), data);
    }
    let owners = fixture.owners();
    assert_eq!(owners.len(), 10);
    assert_eq!(owners[0], "ancient-changes Update 04 .data .data.k00 .data.k01 .data.k02 .data.k03");
    assert_eq!(owners[9], "u12 Update 13 .data.k12");
}

#[test]
fn very_many_managers_are_decoded_and_folded() {
    // Comparing each with each would take minutes.
    const MANAGERS: usize = 60_000;
    let entry = |number: usize| {
        let mut entry = value!({"manager": (format!("u{number:05}")), "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"});
        entry.set_at(&["fieldsV1", "f:data", &format!("f:k{:05}", MANAGERS - number)], Value::map());
        entry.set_at(&["time"], "2026-01-01T00:00:00Z");
        entry
    };
    let entries: Vec<Value> = (0..MANAGERS).chain([0, MANAGERS - 1]).map(entry).collect();
    let mut managed = Managed::decode(&entries).expect("entries");
    assert_eq!(managed.entries().len(), MANAGERS);
    super::cap::fold_oldest(&mut managed).expect("sets");
    let names: Vec<&str> = managed.entries().iter().map(|entry| entry.manager.name.as_str()).collect();
    assert_eq!((names.len(), names.first(), names.last()), (10, Some(&"u59991"), Some(&"ancient-changes")));
    let folded = managed.entries_mut().last_mut().expect("ten entries");
    assert_eq!(folded.fields().expect("a set").paths().len(), MANAGERS - 9);
}

#[test]
fn what_was_folded_is_lost_when_it_is_folded_itself() {
    let mut fixture = Fixture::created("u00", value!({"k00": "1"}));
    let update = |fixture: &mut Fixture, at: usize| {
        let mut data = fixture.data();
        data.set_at(&[&format!("k{at:02}")], "1");
        fixture.update(&format!("u{at:02}"), data);
    };
    (1..11).for_each(|at| update(&mut fixture, at));
    assert_eq!(fixture.owners()[0], "ancient-changes Update 02 .data .data.k00 .data.k01");
    // An entry without a time is older than all others.
    let mut fields = FieldSet::new();
    fields.insert(&[PathElement::field("data"), PathElement::field("k05")]);
    fixture.managed.put(Entry::new(Manager::new("timeless", Operation::Update, "v1", ""), "v1", fields));
    update(&mut fixture, 11);
    let owners = fixture.owners();
    assert_eq!(owners.len(), 10, "{owners:?}");
    assert_eq!(owners[0], "ancient-changes Update 03 .data.k02 .data.k05");
}

#[test]
fn appliers_are_not_counted_when_updaters_are() {
    let mut fixture = Fixture::created("u0", value!({"k0": "1"}));
    for at in 1..10 {
        let mut data = fixture.data();
        data.set_at(&[&format!("k{at}")], "1");
        fixture.update(&format!("u{at}"), data);
        fixture.apply(&format!("a{at}"), value!({"k0": "1"}), false).expect("nothing is in conflict");
    }
    assert_eq!(fixture.owners().len(), 19);
}

#[test]
fn who_applies_the_same_in_another_version_owns_it_in_that_one() {
    let mut fixture = Fixture::created("u", value!({}));
    fixture.object.set_at(&["metadata", "annotations"], value!({"a": "1"}));
    let before = value!([{"manager": "x", "operation": "Apply", "apiVersion": "v2", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:a": {}}}}}]);
    fixture.managed = Managed::decode(before.as_list().expect("a list")).expect("well formed");
    let config = value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a", "annotations": {"a": "1"}}});
    let empty = Fixture::new().object;
    let applied = fixture.write("x", |write, live, managed| write.apply(live, &config, &empty, managed, false));
    let applied = applied.expect("nothing is in conflict");
    let [entry] = applied.managed.entries() else { panic!("one applies") };
    assert_eq!(entry.api_version.as_str(), "v1");
}

#[test]
fn managers_of_other_versions_are_asked_in_theirs() {
    let mut fixture = Fixture::created("u", value!({"a": "1"}));
    let moved = value!([{"manager": "u", "operation": "Update", "apiVersion": "v2", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:values": {"f:a": {}}}},
        {"manager": "gone", "operation": "Update", "apiVersion": "v0", "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}}]);
    fixture.managed = Managed::decode_untrusted(moved.as_list().expect("a list")).expect("well formed");
    let refusal = fixture.apply("x", value!({"a": "2"}), false).expect_err("owned");
    assert_eq!(
        refusal,
        "Apply failed with 1 conflict: conflict with \"u\" using v2: .data.a".replace(".data", ".values")
    );
    fixture.apply("x", value!({"a": "2"}), true).expect("forced");
    assert_eq!(fixture.owners(), ["x Apply 03 .data.a"]);
}

#[test]
fn errors_in_another_version_say_which_object_they_are_about() {
    let before = value!([{"manager": "x", "operation": "Apply", "apiVersion": "v2", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:values": {"f:a": {}}}}]);
    let config = value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, "selector": {"s": "1"}});
    let empty = Fixture::new().object;
    for (manager, what) in [
        ("x", "failed to prune fields: failed to convert merged object to last applied version"),
        ("y", "failed to convert new object"),
    ] {
        let mut fixture = Fixture::created("u", value!({"a": "1"}));
        fixture.managed = Managed::decode(before.as_list().expect("a list")).expect("well formed");
        let refused = fixture.write(manager, |write, live, managed| write.apply(live, &config, &empty, managed, false));
        let refused = refused.map(|applied| applied.object).map_err(|error| error.to_string());
        assert_eq!(refused, Err(format!("{what}: .selector: field not declared in schema")));
    }
}

/// The owner of parts of a value that has become atomic owns the value, even if a write does not touch it.
#[test]
fn sets_of_an_older_schema_are_brought_up_to_date() {
    let stored = value!([{"manager": "old", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}, "f:selector": {"f:s": {}}}}]);
    let worlds = || {
        let mut fixture = Fixture::created("u", value!({"a": "1"}));
        fixture.object.set_at(&["selector"], value!({"s": "1"}));
        fixture.managed = Managed::decode(stored.as_list().expect("a list")).expect("well formed");
        fixture
    };
    let mut fixture = worlds();
    fixture.apply("x", value!({"b": "1"}), false).expect("new");
    assert_eq!(fixture.owners(), ["x Apply 02 .data.b", "old Update - .selector .data.a"]);
    let mut fixture = worlds();
    fixture.update("u", value!({"a": "1", "b": "1"}));
    assert_eq!(fixture.owners()[0], "old Update - .data.a", "what is gone is nobody's: {:?}", fixture.owners());
}

#[test]
fn what_a_strategy_resets_is_never_owned() {
    let mut fixture = Fixture::new();
    let mut reset = FieldSet::new();
    reset.insert(&[PathElement::field("data")]);
    fixture.kinds = Kinds(Ignored::All(reset));
    fixture.update_as("u", value!({"a": "1"}), true);
    assert!(fixture.owners().is_empty());
}

#[test]
fn entries_that_cannot_be_read() {
    let good = value!({"manager": "a", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}});
    let rows = [
        ("operation", Value::from("apply")),
        ("apiVersion", Value::from("")),
        ("fieldsType", Value::from("FieldsV2")),
        ("fieldsV1", value!({"f:x": {"k:[": {}}})),
    ];
    assert!(Managed::decode_untrusted(std::slice::from_ref(&good)).is_ok());
    for (key, wrong) in rows {
        let mut entry = good.clone();
        entry.set_at(&[key], wrong);
        assert!(Managed::decode_untrusted(&[entry]).is_err(), "{key}");
    }
    assert!(is_reset(Some(&value!([]))) && is_reset(Some(&value!([{}]))));
    assert!(!is_reset(None) && !is_reset(Some(&value!([{}, {}]))));
}

#[test]
fn what_nobody_owns_of_a_list_goes_when_null_is_applied_again() {
    let thing = |field: &str, content: Value| {
        let mut thing = value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}});
        thing.set_at(&[field], content);
        thing
    };
    let items = || value!([{"name": "added"}]);
    for (field, added, stays) in [("items", items(), false), ("data", value!({"a": "1"}), true)] {
        let (config, added) = (thing(field, Value::Null), thing(field, added));
        let versions = &Kinds(Ignored::Nothing);
        let write = |manager| Write { versions, api_version: "v1", subresource: "", manager, now: "t" };
        let apply =
            |live: &Value, managed| write("x").apply(live, &config, &Value::map(), managed, false).expect("applied");
        let created = apply(&Value::map(), Managed::default());
        // Admission adds without owning.
        let again = apply(&added, created.managed.clone()).object;
        assert_eq!(again.is_none(), stays, "{again:?}");
        assert_eq!(again.and_then(|object| object.get(field).cloned()), None);
        // What is owned stays.
        let before = created.object.expect("created");
        let owned = write("y").update(&before, &added, created.managed, false).expect("tracked");
        assert!(apply(&added, owned).object.is_none());
    }
}

#[test]
fn a_scale_takes_replicas_from_who_owns_them() {
    let entries = value!([{"manager": "a", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:paused": {}, "f:replicas": {}}}}]);
    let parent = Managed::decode(entries.as_list().expect("a list")).expect("well formed");
    let mapping = Mapping { versions: &["apps/v1"], replicas: &["spec", "replicas"], api_version: "apps/v1" };
    let scale = mapping.to_scale(&parent).expect("well formed");
    assert_eq!(scale.entries().len(), 1);
    let kept = mapping.to_parent(parent.clone(), scale).expect("well formed");
    assert_eq!(kept.encode(), Some(entries));
    let taken = mapping.to_parent(parent, Managed::default()).expect("well formed").encode().expect("one");
    assert_eq!(
        taken.as_list().map(|list| list[0].get("fieldsV1").cloned()),
        Some(Some(Value::Raw(r#"{"f:spec":{"f:paused":{}}}"#.into())))
    );
}

#[test]
fn who_does_not_own_replicas_is_no_manager_of_the_scale_nor_by_it() {
    let decode = |entries: Value| Managed::decode(entries.as_list().expect("a list")).expect("well formed");
    let entry = |name: &str, version: &str, fields: Value| {
        value!({"manager": name, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    };
    let replicas = || value!({"f:spec": {"f:replicas": {}}});
    let parent = decode(value!([
        (entry("both", "apps/v1", value!({"f:spec": {"f:paused": {}, "f:replicas": {}}}))),
        (entry("none", "apps/v1", value!({"f:spec": {"f:paused": {}}}))),
        (entry("of a version that is gone", "apps/v0", replicas())),
        (entry("only", "apps/v1", replicas())),
    ]));
    let names = |managed: &Managed| -> Vec<String> {
        managed.entries().iter().map(|entry| entry.manager.name.as_str().to_owned()).collect()
    };
    let mapping = Mapping { versions: &["apps/v1"], replicas: &["spec", "replicas"], api_version: "apps/v1" };
    assert_eq!(names(&mapping.to_scale(&parent).expect("well formed")), ["both", "only"]);
    let other =
        decode(value!([(entry("labels", "autoscaling/v1", value!({"f:metadata": {"f:labels": {"f:a": {}}}})))]));
    assert_eq!(names(&mapping.to_parent(parent, other).expect("well formed")), ["both", "none"]);
}
