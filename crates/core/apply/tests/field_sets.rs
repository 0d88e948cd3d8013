//! Laws of field sets and structured merge, on thousands of seeded random schemas and objects.
//! Sets are compared with a plain set of paths. A failure prints its case; seeds are fixed.

mod common;

use common::Random;
use pintle_apply::typed::{
    Comparison, Duplicates, compare, examine, fields_of, is_outdated, merge, reconcile_with_schema, remove_items,
    validate,
};
use pintle_apply::{FieldSet, Path, PathElement};
use pintle_schema::{Str, Struct, Value};
use std::collections::BTreeSet;

type Model = BTreeSet<Vec<PathElement>>;

impl Random {
    fn element(&mut self) -> PathElement {
        let number = self.below(3) as i64;
        match self.below(6) {
            0 => PathElement::Index(number),
            1 => PathElement::Value(Value::Int(number)),
            2 => PathElement::key(vec![
                (Str::new_static("k"), Value::Int(number)),
                (Str::new_static("a"), Value::from("x")),
            ]),
            _ => PathElement::field(["a", "b", "c"][number as usize]),
        }
    }

    fn paths(&mut self) -> Model {
        (0..self.below(8)).map(|_| (0..=self.below(3)).map(|_| self.element()).collect()).collect()
    }
}

fn members(set: &FieldSet) -> Model {
    set.paths().into_iter().collect()
}

fn is_below(path: &[PathElement], parents: &Model) -> bool {
    (1..path.len()).any(|len| parents.contains(&path[..len]))
}

#[test]
fn sets_are_what_plain_sets_of_paths_are() {
    let mut random = Random(7);
    for _ in 0..4000 {
        let (a, b) = (random.paths(), random.paths());
        let (left, right): (FieldSet, FieldSet) = (a.iter().collect(), b.iter().collect());
        assert_eq!(members(&left), a);
        assert_eq!(left.len(), a.len());
        assert_eq!(left == right, a == b);
        assert!(b.iter().all(|path| left.contains(path) == a.contains(path)), "{left} has {right}");
        assert_eq!(members(&left.union(&right)), &a | &b, "{left} or {right}");
        assert_eq!(members(&left.intersection(&right)), &a & &b, "{left} and {right}");
        assert_eq!(members(&left.difference(&right)), &a - &b, "{left} without {right}");
        let mut both = left.clone();
        both.absorb(right.clone());
        assert_eq!(both, left.union(&right), "{left} with {right} in it");
        let mut rest = left.clone();
        rest.subtract(&right);
        assert_eq!(rest, left.difference(&right), "{right} taken out of {left}");
        let apart: Model = (&a - &b).into_iter().filter(|path| !is_below(path, &b)).collect();
        assert_eq!(members(&left.recursive_difference(&right)), apart, "{left} without all of {right}");
        let has_below = |path: &Vec<_>| a.iter().any(|other| other.len() > path.len() && other.starts_with(path));
        let leaves: Model = a.iter().filter(|path| !has_below(path)).cloned().collect();
        assert_eq!(members(&left.leaves()), leaves, "leaves of {left}");
        // Equal sets are equal trees, however they were built.
        let rebuilt: FieldSet = members(&left.union(&right)).iter().rev().collect();
        assert_eq!(left.union(&right), rebuilt);
    }
}

#[test]
fn what_is_stored_reads_back_to_the_same_set() {
    let mut random = Random(11);
    for _ in 0..4000 {
        let set: FieldSet = random.paths().iter().collect();
        let mut text = Vec::new();
        set.write_v1(&mut text);
        assert_eq!(FieldSet::from_v1_bytes(&text).as_ref(), Ok(&set), "{set}");
        assert_eq!(FieldSet::from_v1(&set.to_v1()).as_ref(), Ok(&set), "{set}");
        assert_eq!(pintle_codec::json::to_vec(&set.to_v1()), text, "{set}");
    }
}

/// The parts of texts of field sets.
const NOISE: &[u8] = br#"{}[]":,.fkvi01\x"#;

#[test]
fn any_text_reads_as_a_set_or_an_error() {
    let mut random = Random(23);
    for _ in 0..20_000 {
        let set: FieldSet = random.paths().iter().collect();
        let mut text = Vec::new();
        set.write_v1(&mut text);
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            text[at] = NOISE[random.below(NOISE.len())];
        }
        let Ok(read) = FieldSet::from_v1_bytes(&text) else { continue };
        let mut again = Vec::new();
        read.write_v1(&mut again);
        assert_eq!(FieldSet::from_v1_bytes(&again), Ok(read), "{}", String::from_utf8_lossy(&text));
    }
}

/// Checks a law on random schemas, with three random objects of each.
fn for_objects(seed: u64, law: impl Fn(&Struct, [&Value; 3])) {
    let mut random = Random(seed);
    for _ in 0..600 {
        let schema = random.schema(3, false);
        for _ in 0..5 {
            let objects = [random.object(&schema), random.object(&schema), random.object(&schema)];
            law(&schema, objects.each_ref());
        }
    }
}

fn fields(schema: &Struct, value: &Value) -> FieldSet {
    fields_of(schema, value).unwrap_or_else(|errors| panic!("{value:?}: {errors}"))
}

fn compared(schema: &Struct, old: &Value, new: &Value) -> Comparison {
    compare(schema, old, new).unwrap_or_else(|errors| panic!("{old:?} {new:?}: {errors}"))
}

fn merged(schema: &Struct, live: &Value, config: &Value) -> Value {
    merge(schema, live, config).unwrap_or_else(|errors| panic!("{live:?} {config:?}: {errors}"))
}

#[test]
fn comparing_names_every_field_that_changed() {
    for_objects(13, |schema, [old, new, _]| {
        assert_eq!(validate(schema, new, Duplicates::Refused), Ok(()));
        assert!(compared(schema, old, &old.clone()).is_same());
        let (forth, back) = (compared(schema, old, new), compared(schema, new, old));
        assert_eq!((&forth.added, &forth.modified, &forth.removed), (&back.removed, &back.modified, &back.added));
        let before = fields(schema, old);
        let changed = forth.added.union(&forth.modified);
        fields(schema, new).for_each(|path| {
            let was_more = before.paths().iter().any(|other| other.starts_with(path));
            assert!(was_more || changed.contains(path), "{} of {old:?} {new:?}", Path(path));
        });
        let known = fields(schema, old).union(&fields(schema, new));
        forth.modified.for_each(|path| {
            assert!(known.paths().iter().any(|other| other.starts_with(path)), "{} of {old:?} {new:?}", Path(path));
        });
    });
}

#[test]
fn merging_keeps_what_is_applied_and_is_done_once() {
    for_objects(17, |schema, [live, config, more]| {
        let once = merged(schema, live, config);
        assert_eq!(merged(schema, &once, config), once, "{live:?} {config:?}");
        let kept = compared(schema, config, &once);
        assert!(kept.modified.is_empty() && kept.removed.is_empty(), "{live:?} {config:?}");
        let changes = compared(schema, live, &once);
        let replaced = members(&changes.modified);
        changes.removed.for_each(|path| assert!(is_below(path, &replaced), "{} of {live:?} {config:?}", Path(path)));
        let (left, right) = (merged(schema, &once, more), merged(schema, live, &merged(schema, config, more)));
        assert!(compared(schema, &left, &right).is_same(), "{live:?} {config:?} {more:?}");
    });
}

#[test]
fn removed_fields_are_gone_and_others_stay() {
    for_objects(19, |schema, [object, other, _]| {
        let (mine, theirs) = (fields(schema, object), fields(schema, other));
        let rest = fields(schema, &remove_items(schema, object.clone(), &theirs));
        assert!(rest.intersection(&theirs).is_empty(), "{object:?} without {theirs}");
        let gone = members(&theirs);
        mine.leaves().for_each(|path| {
            assert_eq!(
                rest.contains(path),
                !gone.contains(path) && !is_below(path, &gone),
                "{} of {object:?} without {theirs}",
                Path(path)
            );
        });
    });
}

/// An object without some random fields and items.
fn part_of(random: &mut Random, value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let kept = map.iter().filter(|(key, _)| *key == "key" || random.below(4) > 0).collect::<Vec<_>>();
            Value::Map(kept.into_iter().map(|(key, value)| (key.clone(), part_of(random, value))).collect())
        }
        Value::List(items) => {
            let kept: Vec<&Value> = items.iter().filter(|_| random.below(4) > 0).collect();
            Value::List(kept.into_iter().map(|item| part_of(random, item)).collect())
        }
        scalar => scalar.clone(),
    }
}

/// Duplicates items of some lists.
fn repeat_items(random: &mut Random, value: &mut Value) {
    match value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| repeat_items(random, value)),
        Value::List(items) if !items.is_empty() => {
            if random.below(4) == 0 {
                let item = items[random.below(items.len())].clone();
                items.insert(random.below(items.len() + 1), item);
            }
            items.iter_mut().for_each(|item| repeat_items(random, item));
        }
        _ => {}
    }
}

#[test]
fn what_is_contained_changes_nothing() {
    let mut random = Random(29);
    let (mut contained, mut missed) = (0, 0);
    for round in 0..6000 {
        let schema = random.schema(3, false);
        let mut live = random.object(&schema);
        if round % 2 == 0 {
            repeat_items(&mut random, &mut live);
        }
        let config = if round % 8 == 0 { random.object(&schema) } else { part_of(&mut random, &live) };
        let is_valid = validate(&schema, &config, Duplicates::Refused);
        let Ok(examined) = examine(&schema, &config, &live) else {
            assert!(is_valid.is_err(), "{config:?}");
            continue;
        };
        assert_eq!(is_valid, Ok(()));
        assert_eq!(examined.fields, fields(&schema, &config), "{config:?}");
        let is_same = merged(&schema, &live, &config) == live;
        assert!(is_same || !examined.is_contained, "{live:?} {config:?}");
        contained += usize::from(examined.is_contained);
        missed += usize::from(is_same && !examined.is_contained);
    }
    assert!(contained > 2000 && missed < contained / 10, "{contained} contained, {missed} missed");
}

#[test]
fn sets_that_a_changed_schema_touches_are_told_without_reading_them() {
    let mut random = Random(31);
    let mut touched = 0;
    for _ in 0..4000 {
        let (before, now) = (random.schema(3, false), random.schema(3, false));
        let object = random.object(&before);
        let set = fields(&before, &object);
        let reconciled = reconcile_with_schema(&now, &set);
        assert_eq!(is_outdated(&now, &set.to_v1()), reconciled.is_some(), "{set} of {object:?}");
        touched += usize::from(reconciled.is_some());
        if let Some(reconciled) = reconciled {
            assert!(!is_outdated(&now, &reconciled.to_v1()), "{reconciled} came from {set}");
        }
    }
    assert!(touched > 400, "{touched}");
}
