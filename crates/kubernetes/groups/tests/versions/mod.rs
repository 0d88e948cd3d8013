//! Versions of a kind validate alike, those of another shape too: what one version says is converted to the others by the kind's
//! own conversion, and every one of them is validated. Guarantees that nothing is lost on the way there and back, that the rules
//! find the same for every client, and that the tags of a version say what those of the stored one say.
//!
//! Must never know a kind, but in the rows and in the short list of what kube-apiserver itself validates otherwise.

mod stated;

use super::{GATES, Row, lines, name, resources, rounds, rows, stored, validate};
use pintle_resource::{Resource, convert_now};
use pintle_schema::gates::ALL_GATES;
use pintle_schema::{GateSet, Value, canonicalize};
use pintle_validation::{FieldError, ValidationResult, Validator};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The versions of each kind that has several, by where they are stored.
fn families() -> BTreeMap<&'static str, Vec<&'static Arc<Resource>>> {
    let mut families: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for resource in resources() {
        families.entry(resource.storage.as_ref().map_or("", |storage| &storage.prefix)).or_default().push(resource);
    }
    families.retain(|_, versions| versions.len() > 1);
    families
}

/// An object that a client of a version sends, as it is validated and stored.
pub fn as_stored(version: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    version.complete_now(&mut object, 0).expect("it converts");
    canonicalize(stored(version), &mut object);
    object
}

/// What was sent with the defaults of its version.
fn defaulted(version: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    Resource { storage: None, ..Resource::clone(version) }.complete_now(&mut object, 0).expect("it converts");
    canonicalize(&version.schema, &mut object);
    object
}

/// A stored object as a client of a version reads it.
fn as_served(version: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(storage) = &version.storage
        && let Some(conversion) = &storage.conversion
    {
        let (from, to) = (&storage.api_version, version.api_version());
        convert_now(&**conversion, &mut object, from, &to).expect("it converts");
    }
    canonicalize(&version.schema, &mut object);
    object
}

/// Whether all that an object says is in another, which may say more.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Map(whole), Value::Map(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| holds(whole, value)))
        }
        (Value::List(whole), Value::List(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        (whole, part) => whole == part,
    }
}

/// A stored object as a client of a version writes it who has read it.
fn rewritten(version: &Resource, object: &Value) -> Value {
    as_stored(version, &as_served(version, object))
}

/// A stored object validated for a client of a version.
fn validated(version: &Resource, (new, old): (&Value, Option<&Value>)) -> Vec<String> {
    let of = |gates: &GateSet| {
        let verdict = validate(&version.rules, stored(version), version, (new, old), "", gates);
        assert_eq!(verdict.mismatches, [], "{}: {new:?}", name(version));
        verdict
    };
    let [told, ..] = GATES.each_ref().map(of);
    lines(&told)
}

/// What the tags of a version alone find in an object of it, without regard to names and nesting that only this version has.
fn tagged(version: &Resource, (new, old): (&Value, Option<&Value>), tags: &Validator) -> BTreeSet<String> {
    let old = old.map(|old| as_served(version, old));
    let verdict = validate(tags, &version.schema, version, (&as_served(version, new), old.as_ref()), "", &ALL_GATES);
    found(&verdict)
}

fn found(verdict: &ValidationResult) -> BTreeSet<String> {
    let of = |error: &FieldError| {
        let place = ONE_NAME.iter().fold(error.field.clone(), |place, (here, there)| place.replace(here, there));
        format!("{place} {:?} {} {}", error.kind, error.origin, error.detail)
    };
    verdict.errors.0.iter().map(of).filter(|line| !is_unsaid(line)).collect()
}

/// These kinds are few, so of each there are as many times more objects.
const TIMES: u64 = 5;

/// Steps of paths that only one version of a kind has, and what stands there in the others.
const ONE_NAME: [(&str, &str); 2] = [(".exactly", ""), (".basic", "")];

/// What the tags of one version say, and those of another cannot: where it keeps the same in annotations, or has a field that
/// is empty where the other has none.
fn is_unsaid(line: &str) -> bool {
    let in_annotations = ["spec.metrics", "spec.behavior"].iter().any(|place| line.starts_with(place));
    let of_request = line.contains("spec.devices.requests[") && !line.contains("firstAvailable");
    in_annotations || of_request && line.contains(".deviceClassName Required")
}

/// Versions that cannot say all that the others can: one knows a single metric of its own, and in one zero is absence.
const SAYS_LESS: [&str; 2] = ["autoscaling/v1 HorizontalPodAutoscaler", "resource.k8s.io/v1beta1 ResourceSlice"];

/// The reporter's name in each version of Event. All else that both find is reported alike.
const REPORTER: [&str; 2] = ["reportingComponent", "reportingController"];

/// Whether what was found for clients of two versions agrees. Of events kube-apiserver asks more in the newer version: there it
/// finds what it finds in the older one, and more between.
fn agree(prefix: &str, one: (&Resource, &[String]), other: (&Resource, &[String])) -> bool {
    if prefix != "/registry/events/" || one.0.group == other.0.group {
        return one.1 == other.1;
    }
    let (older, newer) = if one.0.group.is_empty() { (one.1, other.1) } else { (other.1, one.1) };
    let mut newer = newer.iter();
    older.iter().all(|line| newer.any(|found| *found == line.replace(REPORTER[0], REPORTER[1])))
}

#[test]
fn stated_rows_are_validated_alike_in_every_version() {
    let families = families();
    let mut seen = BTreeMap::<&str, BTreeSet<(bool, bool)>>::new();
    let mut differ = Vec::new();
    for row in stated::rows() {
        let is_home = |version: &&&Arc<Resource>| name(version) == row.stated_in;
        let mut found = families.iter().filter_map(|(prefix, of)| Some((prefix, of, of.iter().find(is_home)?)));
        let (prefix, versions, home) = found.next().unwrap_or_else(|| panic!("no version {}", row.stated_in));
        let full = |mut object: Value| {
            canonicalize(&home.schema, &mut object);
            as_stored(home, &object)
        };
        let (new, old) = (full(row.new), row.old.map(full));
        for version in versions {
            let otherwise = row.otherwise.as_ref().filter(|(told_in, _)| *told_in == name(version));
            let expected = otherwise.map_or(&row.found, |(_, found)| found);
            for object in [Some(&new), old.as_ref()].into_iter().flatten() {
                assert_eq!(rewritten(version, object), *object, "{} says all", name(version));
            }
            let told = validated(version, (&new, old.as_ref()));
            if told != *expected {
                differ.push((name(version), told, expected.clone()));
            }
        }
        seen.entry(prefix).or_default().insert((row.found.is_empty(), old.is_some()));
    }
    assert!(differ.is_empty(), "{differ:#?}");
    // Of every kind whose versions convert there are right and wrong objects, new ones and changed ones.
    for (prefix, versions) in families {
        if versions.iter().any(|version| version.storage.as_ref().is_some_and(|storage| storage.conversion.is_some())) {
            assert_eq!(seen.get(prefix).map_or(0, BTreeSet::len), 4, "{prefix}");
        }
    }
}

#[test]
fn random_objects_are_validated_alike_in_every_version() {
    let tags = Validator::new(&[]);
    let mut compared = BTreeMap::<(String, String), [usize; 3]>::new();
    let mut differ = BTreeSet::new();
    for (prefix, versions) in families() {
        for (home, seed) in versions.iter().flat_map(|home| (0..rounds() * TIMES).map(move |seed| (home, seed))) {
            for Row { new, old, .. } in rows(home, &home.schema, seed) {
                let sent = defaulted(home, &new);
                let (new, old) = (as_stored(home, &new), old.map(|old| as_stored(home, &old)));
                let row = (&new, old.as_ref());
                if !holds(&as_served(home, &new), &sent) {
                    differ.insert(format!("{} seed {seed} comes back without a part of {sent:?}", name(home)));
                }
                let (told, tagged_here) = (validated(home, row), tagged(home, row, &tags));
                for version in versions.iter().filter(|version| !std::ptr::eq(**version, *home)) {
                    let pair = (name(home), name(version));
                    let [of_all, said, right] = compared.entry(pair.clone()).or_default();
                    *of_all += 1;
                    let written = [Some(&new), old.as_ref()].into_iter().flatten();
                    let written = written.map(|object| (object, rewritten(version, object))).collect::<Vec<_>>();
                    if !SAYS_LESS.contains(&&*pair.1) && !written.iter().all(|(object, again)| holds(again, object)) {
                        differ.insert(format!("{} seed {seed} loses in {}: {new:?}", pair.0, pair.1));
                    }
                    // What only one of the versions can say, or leave unsaid, is no row for both.
                    if written.iter().any(|(object, again)| *object != again) {
                        continue;
                    }
                    *said += 1;
                    *right += usize::from(told.is_empty());
                    let there = validated(version, row);
                    if !agree(prefix, (home, &told), (version, &there)) {
                        differ.insert(format!("{} seed {seed}: {told:?}, {}: {there:?}", pair.0, pair.1));
                    }
                    let there = tagged(version, row, &tags);
                    let lines = tagged_here.symmetric_difference(&there);
                    differ.extend(lines.map(|line| format!("{} and {}: {line}", pair.0, pair.1)));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(compared.len() >= 50, "{} pairs of versions", compared.len());
    for (versions, [of_all, said, _]) in &compared {
        assert!(said * 2 > *of_all, "{versions:?}: {said} rows of {of_all}");
    }
    // What random cannot make right are the newer events, with all that they must not have.
    let wrong: Vec<_> = compared.iter().filter(|(_, [.., right])| *right == 0).map(|(versions, _)| versions).collect();
    assert!(wrong.len() <= 1, "no right object of {wrong:?}");
}
