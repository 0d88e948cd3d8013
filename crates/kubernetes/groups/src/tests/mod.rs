//! Invariants of all resources, and helpers for the tests of single kinds.
//!
//! Must not know the rules of a kind.

use crate::{all, find, groups};
use pintle_resource::{Action, Context, FieldValue, Path, Resource, Strategy, StrategyEnvironment, Verbs, convert_now};
use pintle_schema::{Gate, Struct, Type, Value, canonicalize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod old_versions;

/// The resource of a kind, in the version that is stored where there are several.
pub(crate) fn resource_of(group: &str, kind: &str) -> &'static Arc<Resource> {
    let of_kind = || all().filter(|resource| resource.group == group && resource.kind == kind);
    let is_hub = |resource: &&Arc<Resource>| std::ptr::eq(&*resource.schema, resource.stored_schema());
    of_kind().find(is_hub).or_else(|| of_kind().next()).unwrap_or_else(|| panic!("no {kind} in {group:?}"))
}

/// A resource that is stored as a type, or else one of the group of the type.
pub(crate) fn resource_for(schema: &Struct) -> &'static Arc<Resource> {
    let of_type = |resource: &&Arc<Resource>| std::ptr::eq(resource.stored_schema(), schema);
    let of_group = |resource: &&Arc<Resource>| resource.schema.group_version().0 == schema.group_version().0;
    all().find(of_type).or_else(|| all().find(of_group)).unwrap_or_else(|| panic!("no group for {}", &*schema.name))
}

/// 2001-09-09T01:46:40Z.
pub(crate) const NOW: i64 = 1_000_000_000;

pub(crate) fn with_context<T>(run: impl FnOnce(&mut Context) -> T) -> T {
    let mut warnings = Vec::new();
    let (groups, extra) = (["a", "b"].map(Into::into), [("k".into(), vec!["v".into()])]);
    run(&mut Context {
        sent_labels: false,
        now_unix: NOW,
        user: "jane",
        user_uid: "42",
        groups: &groups,
        extra: &extra,
        environment: &AllOff,
        warnings: &mut warnings,
    })
}

struct AllOff;

impl StrategyEnvironment for AllOff {
    fn enabled(&self, _: &Gate) -> bool {
        false
    }

    fn new_uid(&self) -> String {
        "a-uid".to_owned()
    }
}

/// The object without its absent fields.
pub(crate) fn pruned(mut object: Value) -> Value {
    match &mut object {
        Value::Map(map) => {
            let entries = std::mem::take(map.entries_mut());
            let kept = entries.into_iter().filter(|(_, value)| !value.is_null());
            map.entries_mut().extend(kept.map(|(key, value)| (key, pruned(value))));
        }
        Value::List(items) => items.iter_mut().for_each(|item| *item = pruned(std::mem::take(item))),
        _ => {}
    }
    object
}

pub(crate) fn normalized(resource: &Resource, mut object: Value) -> Value {
    if let Some(normalize) = resource.strategy.normalize {
        normalize(&mut object);
        let once = object.clone();
        normalize(&mut object);
        assert_eq!(object, once, "normalizing twice changes nothing");
    }
    pruned(object)
}

/// What the strategy makes of a new object.
pub(crate) fn created(resource: &Resource, mut object: Value) -> Value {
    for path in resource.strategy.create_clears {
        object.remove_at(path);
    }
    if let Some(prepare) = resource.strategy.prepare_create {
        with_context(|context| prepare(&mut object, context));
    }
    canonicalize(resource.stored_schema(), &mut object);
    object
}

fn assert_path<S: AsRef<str> + std::fmt::Debug>(schema: &Struct, path: &[S], what: &str) {
    assert!(schema.type_at(path).is_some(), "{what}: no field at {path:?}");
}

fn assert_paths(schema: &Struct, paths: &[Path], what: &str) {
    paths.iter().for_each(|path| assert_path(schema, path, what));
}

fn paths_of(strategy: &'static Strategy) -> [&'static [Path]; 4] {
    [strategy.generation.unwrap_or(&[]), strategy.create_clears, strategy.update_keeps, strategy.reset_fields]
}

#[test]
fn every_path_leads_to_a_field() {
    for resource in all() {
        let (schema, name) = (resource.stored_schema(), format!("{}/{}", resource.api_version(), resource.plural));
        paths_of(resource.strategy).iter().for_each(|paths| assert_paths(schema, paths, &name));
        for subresource in &resource.subresources {
            let name = format!("{name}/{}", subresource.name);
            match &subresource.action {
                Action::Part(part) => {
                    assert_paths(schema, part.keeps, &name);
                    assert_paths(schema, part.reset_fields, &name);
                    assert_paths(&resource.schema, part.reset_fields, &name);
                }
                Action::Scale(scale) => {
                    for path in [&scale.spec_replicas, &scale.status_replicas, &scale.selector] {
                        assert_path(schema, path, &name);
                    }
                }
                _ => {}
            }
        }
        for selectable in &resource.selectable {
            match &selectable.value {
                FieldValue::Path(path) => assert_path(schema, path, &name),
                FieldValue::Alias(of) => {
                    let is_known = resource.selectable.iter().any(|other| other.label == *of);
                    assert!(is_known || of == "metadata.name", "{name}: no label {of}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn statuses_reset_the_ownership_of_what_they_keep() {
    for resource in all() {
        for subresource in &resource.subresources {
            let Action::Part(part) = subresource.action else { continue };
            // kube-apiserver's strategy of this one keeps metadata without declaring it.
            if subresource.name != "status" || resource.plural == "podcertificaterequests" {
                continue;
            }
            let name = format!("{}/{}", resource.api_version(), resource.plural);
            let resets = part.reset_fields.contains(&&["metadata"][..]);
            let keeps = part.keeps_metadata || part.keeps.contains(&&["metadata", "finalizers"][..]);
            assert_eq!(keeps, resets, "{name}");
        }
    }
}

#[test]
fn rows_are_whole() {
    let mut seen = BTreeSet::new();
    for resource in all() {
        let name = format!("{}/{}", resource.api_version(), resource.plural);
        assert!(seen.insert(name.clone()), "{name} twice");
        assert_ne!(resource.verbs, Verbs(0), "{name}");
        assert_eq!(resource.schema.name.as_str(), resource.kind, "{name}");
        assert_eq!(resource.schema.group_version().1, resource.version, "{name}");
        assert_eq!(resource.singular, resource.kind.to_lowercase(), "{name}");
        assert_eq!(resource.storage.is_some(), resource.verbs.contains(Verbs::UPDATE), "{name}");
        assert!(resource.subresources.is_sorted_by_key(|subresource| &subresource.name), "{name}");
        assert!(resource.selector_refusal.is_empty() || resource.selector_refusal.contains("{label}"), "{name}");
        assert!(
            find(&resource.group, &resource.version, &resource.plural)
                .is_some_and(|found| Arc::ptr_eq(found, resource))
        );
        for subresource in resource.subresources.iter().filter(|subresource| subresource.group_version.is_some()) {
            let schema = subresource.schema.as_ref().map(|schema| schema.name.as_str());
            assert_eq!(schema, Some(subresource.kind.as_str()), "{name}");
        }
    }
    assert_eq!(groups().len(), 23);
}

#[test]
fn versions_share_what_is_stored() {
    let mut prefixes: BTreeMap<&str, (&str, &'static Strategy, Vec<usize>)> = BTreeMap::new();
    for resource in all() {
        let Some(storage) = &resource.storage else { continue };
        assert!(storage.prefix.starts_with("/registry/") && storage.prefix.ends_with('/'));
        assert_eq!(storage.schema.name.as_str(), storage.kind);
        assert!(storage.api_version.ends_with(storage.schema.group_version().1));
        let first = prefixes
            .entry(&storage.prefix)
            .or_insert_with(|| (&storage.api_version, resource.strategy, resource.indexed_fields()));
        assert_eq!(resource.indexed_fields(), first.2, "{}", storage.prefix);
        assert_eq!(storage.api_version.as_str(), first.0, "{}", storage.prefix);
        assert!(std::ptr::eq(resource.strategy, first.1), "{} has two strategies", storage.prefix);
        let own_shape = std::ptr::eq(&*resource.schema, &*storage.schema);
        assert!(!own_shape || storage.conversion.is_none(), "{} converts to itself", storage.prefix);
    }
}

#[test]
fn field_labels() {
    let pods = find("", "v1", "pods").expect("pods");
    let pod = pintle_schema::value!({"spec": {"nodeName": "a"}});
    let rows = [
        ("spec.nodeName", Some("a")),
        ("spec.host", None),
        ("spec.hostNetwork", Some("false")),
        ("status.phase", Some("")),
        ("status.podIPs", None),
    ];
    for (label, expected) in rows {
        let field = pods.selectable.iter().find(|field| field.label == label).expect(label);
        assert_eq!(field.value.read(&pods.schema, &pod).as_deref(), expected, "{label}");
    }
    assert_eq!(pods.refuse_label("x"), "field label not supported: x");
}

/// Checks that an object converts to its stored form and back.
pub(crate) fn round_trip(resource: &Resource, mut served: Value, mut stored: Value) {
    let storage = resource.storage.as_ref().expect("the resource is stored");
    let convert = storage.conversion.as_deref().expect("the resource converts");
    canonicalize(&resource.schema, &mut served);
    canonicalize(&storage.schema, &mut stored);
    let mut object = served.clone();
    convert_now(convert, &mut object, &resource.api_version(), &storage.api_version).expect("it converts");
    canonicalize(&storage.schema, &mut object);
    assert_eq!(object, stored, "to the stored form");
    convert_now(convert, &mut object, &storage.api_version, &resource.api_version()).expect("it converts");
    canonicalize(&resource.schema, &mut object);
    assert_eq!(object, served, "and back");
}

#[test]
fn kinds_are_looked_up_among_public_resources() {
    // Maps are in another order in each table.
    for _ in 0..20 {
        let table = crate::table(|_| true);
        let found = |kind: &str| table.of_kind("v1", kind).map(|resource| resource.plural.to_string());
        assert_eq!(found("Endpoints").as_deref(), Some("endpoints"));
        assert_eq!(found("RangeAllocation"), None);
    }
}

/// All types that an object of a type consists of.
fn types_in(schema: &'static Struct, found: &mut BTreeMap<usize, &'static Struct>) {
    if found.insert(std::ptr::from_ref(schema).addr(), schema).is_some() {
        return;
    }
    for field in schema.fields.iter() {
        let mut ty = &field.ty;
        loop {
            ty = match ty {
                Type::List(list) => &list.elem,
                Type::Map(map) => &map.elem,
                _ => break,
            };
        }
        if let Some(inner) = ty.as_struct() {
            types_in(inner, found);
        }
    }
}

/// A group whose resources lack a function of a type in their objects would neither validate nor default it.
#[test]
fn resources_have_all_functions_of_the_types_in_their_objects() {
    let mut lacking = BTreeSet::new();
    for resource in all() {
        let name = format!("{}/{}", resource.api_version(), resource.plural);
        let mut types = BTreeMap::new();
        types_in(&resource.schema, &mut types);
        types_in(resource.stored_schema(), &mut types);
        for schema in types.into_values() {
            let rules = all().map(|other| other.rules.handwritten(schema)).max();
            if Some(resource.rules.handwritten(schema)) != rules {
                lacking.insert(format!("{name} lacks rules of {}", &*schema.name));
            }
            let defaults = all().map(|other| other.defaults.count(schema)).max();
            if Some(resource.defaults.count(schema)) != defaults {
                lacking.insert(format!("{name} lacks defaults of {}", &*schema.name));
            }
        }
    }
    assert_eq!(lacking, BTreeSet::new());
}
