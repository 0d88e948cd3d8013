//! Properties of every document and patch, tested on seeded random ones.
//! Guarantees repeatability: a failure prints document and patch, and the same seeds give the same cases.

use super::drop_nulls;
use super::tests::patched;
use crate::test_random::Random;
use pintle_schema::{Str, Value, value};
use std::collections::HashSet;

/// An object of the schema, whose lists have distinct keys.
fn random_thing(random: &mut Random) -> Value {
    fn some<T>(random: &mut Random, names: &[&str], mut make: impl FnMut(&mut Random, &str) -> T) -> Vec<T> {
        let mut names = names.to_vec();
        let mut made = Vec::new();
        for _ in 0..random.below(names.len() + 1) {
            let name = names.swap_remove(random.below(names.len()));
            made.push(make(random, name));
        }
        made
    }
    let finalizers = some(random, &["a", "b", "c"], |_, name| Value::from(name));
    let containers = some(random, &["c", "d", "e", "f"], |random, name| {
        let env = some(random, &["A", "B", "C"], |random, name| value!({"name": name, "value": (random.scalar())}));
        value!({"name": name, "image": (random.scalar()), "env": env, "args": (random.value(1))})
    });
    let labels = random.object(0);
    let spec = value!({"replicas": (random.scalar()), "containers": containers, "strategy": {"type": "x"}});
    let mut thing = value!({"metadata": {"finalizers": finalizers, "labels": labels}, "spec": spec});
    drop_nulls(&mut thing);
    thing
}

/// The merge keys of every container list and env list of an object.
fn keys_are_unique(object: &Value) -> bool {
    let unique = |list: Option<&Value>| {
        let items = list.and_then(Value::as_list).unwrap_or_default();
        let mut seen = HashSet::new();
        items.iter().all(|item| seen.insert(item.str_at(&["name"]).to_owned()))
    };
    let containers = object.at(&["spec", "containers"]);
    unique(containers)
        && containers.and_then(Value::as_list).unwrap_or_default().iter().all(|container| unique(container.get("env")))
}

#[test]
fn an_object_as_its_own_patch_changes_nothing() {
    let mut random = Random::new(11);
    for _ in 0..500 {
        let thing = random_thing(&mut random);
        assert_eq!(patched(&thing, &thing), Ok(thing.clone()));
    }
}

#[test]
fn merging_keeps_keys_unique_and_is_done_once() {
    let mut random = Random::new(13);
    for _ in 0..1000 {
        let (thing, patch) = (random_thing(&mut random), random_thing(&mut random));
        let once = patched(&thing, &patch);
        assert!(once.as_ref().is_ok_and(keys_are_unique), "{thing:?} + {patch:?} = {once:?}");
        let again = once.clone().and_then(|once| patched(&once, &patch));
        assert_eq!(again, once, "{thing:?} + {patch:?}");
    }
}

/// A patch with directives in valid and invalid places.
fn random_patch(random: &mut Random, depth: usize) -> Value {
    let keys = [
        "metadata",
        "spec",
        "finalizers",
        "labels",
        "containers",
        "env",
        "name",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
        "tolerations",
        "keyless",
        "raw",
        "extra",
        "args",
    ];
    match random.below(if depth == 0 { 3 } else { 9 }) {
        0 => random.scalar(),
        1 => Value::from(*random.pick(&["delete", "replace", "merge", "c", "a"])),
        2 => value!({"name": (*random.pick(&["c", "d"]))}),
        3 | 4 => Value::List((0..random.below(4)).map(|_| random_patch(random, depth - 1)).collect()),
        _ => Value::Map(
            (0..random.below(5)).map(|_| (Str::new(random.pick(&keys)), random_patch(random, depth - 1))).collect(),
        ),
    }
}

#[test]
fn every_shape_of_patch_gives_a_value_or_an_error() {
    let mut random = Random::new(17);
    let mut results = [0, 0];
    for _ in 0..20_000 {
        let (thing, spec, metadata) =
            (random_thing(&mut random), random_patch(&mut random, 4), random_patch(&mut random, 3));
        let outcome = patched(&thing, &value!({"spec": spec, "metadata": metadata}));
        results[usize::from(outcome.is_err())] += 1;
    }
    assert!(results.iter().all(|count| *count > 100), "both are met: {results:?}");
}
