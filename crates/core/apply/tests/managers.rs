//! Laws of field ownership, on seeded random schemas, objects and sequences of writes by several managers.
//! The model flattens objects to plain paths and keeps a plain set of them for each manager; all its paths are in
//! "v1", of which "v2" is a renaming. It shares no code with what it tests. A failure prints the seed.

mod common;

use common::{Random, field, structure};
use pintle_apply::managed_fields::{Applied, Entry, Error, Ignored, Managed, Operation, Versions, Write};
use pintle_apply::{FieldSet, PathElement};
use pintle_schema::{ListKind, MapType, Presence, Ref, Str, Struct, Type, Value, canonicalize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Steps = Vec<PathElement>;
type Paths = BTreeSet<Steps>;
type Owners = BTreeMap<String, Paths>;

/// The name of the first random field in the second version.
const RENAMED: &str = "a2";

/// The content of a location in an object.
#[derive(Clone, Debug, PartialEq)]
enum Holds {
    /// An atomic value.
    Leaf(Value),
    /// Locations below it.
    Branch { empty_map: bool, empty: bool },
}

#[derive(Clone, Debug, PartialEq)]
struct Place {
    holds: Holds,
    /// Whether it is a declared field of a struct.
    declared: bool,
}

type Places = BTreeMap<Steps, Place>;

/// Every location of a value, including itself.
fn flatten(ty: &Type, atomic: Option<bool>, value: &Value, declared: bool, path: &mut Steps, places: &mut Places) {
    let mut below = |element, ty: &Type, atomic, value: &Value, declared| {
        path.push(element);
        flatten(ty, atomic, value, declared, path, places);
        path.pop();
    };
    let holds = match (ty, value) {
        (Type::Struct(schema), Value::Map(map)) if !atomic.unwrap_or(schema.atomic) => {
            for (key, value) in map.iter() {
                let field = schema.fields.iter().find(|field| field.name.is(key)).expect("declared");
                below(PathElement::field(key.clone()), &field.ty, field.atomic, value, true);
            }
            Holds::Branch { empty_map: map.is_empty(), empty: map.is_empty() }
        }
        (Type::Map(_) | Type::Json, Value::Map(map)) if atomic != Some(true) => {
            let elem = if let Type::Map(of) = ty { &of.elem } else { ty };
            map.iter().for_each(|(key, value)| below(PathElement::field(key.clone()), elem, None, value, false));
            Holds::Branch { empty_map: map.is_empty(), empty: map.is_empty() }
        }
        (Type::List(list), Value::List(items)) if list.kind != ListKind::Atomic => {
            for item in items {
                let element = match item.get("key") {
                    Some(key) => PathElement::key(vec![(Str::new_static("key"), key.clone())]),
                    None => PathElement::Value(item.clone()),
                };
                below(element, &list.elem, None, item, false);
            }
            Holds::Branch { empty_map: false, empty: items.is_empty() }
        }
        (_, value) => Holds::Leaf(sorted(value)),
    };
    places.insert(path.clone(), Place { holds, declared });
}

/// The value with sorted keys, because their order has no meaning.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let entries: BTreeMap<_, _> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Map(entries.into_iter().collect())
        }
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

/// Whether replacing one by the other is a change. Null is a branch without locations.
fn differ(old: &Holds, new: &Holds) -> bool {
    match (old, new) {
        (Holds::Leaf(old), Holds::Leaf(new)) => old != new,
        (Holds::Branch { .. }, Holds::Branch { .. }) => false,
        (Holds::Leaf(leaf), Holds::Branch { empty, .. }) | (Holds::Branch { empty, .. }, Holds::Leaf(leaf)) => {
            *empty || !leaf.is_null()
        }
    }
}

fn starts_with_any(path: &[PathElement], others: &Paths) -> bool {
    (1..=path.len()).any(|len| others.contains(&path[..len]))
}

fn is_prefix_of_any(path: &[PathElement], others: &Paths) -> bool {
    others.iter().any(|other| other.starts_with(path))
}

/// Fields without owners.
fn is_identity(path: &[PathElement]) -> bool {
    let names: Vec<&str> = path.iter().filter_map(|step| step.as_field().map(Str::as_str)).collect();
    matches!(names[..], ["kind"] | ["metadata"] | ["metadata", "name"])
}

/// Without nulls: they have no meaning in a configuration.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.retain(|_, value| !value.is_null());
            map.iter_mut().for_each(|(_, value)| without_nulls(value));
        }
        Value::List(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// A kind in two versions, and its untracked fields.
struct Kind {
    v1: Struct,
    v2: Struct,
    ignored: Ignored,
}

impl Kind {
    fn random(random: &mut Random) -> Self {
        let schema = random.schema(3, false);
        let pointer = |name, ty| field(name, ty, None, Presence::Pointer);
        let labels = Type::Map(Ref::Shared(Arc::new(MapType { elem: Type::String })));
        let metadata = structure(vec![pointer("labels", labels), pointer("name", Type::String)]);
        let metadata = Type::Struct(Ref::Shared(Arc::new(metadata)));
        let version = |first| {
            let own = schema.fields.iter().zip([first, "b", "c", "d"]);
            let own = own.map(|(own, name)| field(name, own.ty.clone(), own.atomic, own.presence));
            structure(own.chain([pointer("kind", Type::String), pointer("metadata", metadata.clone())]).collect())
        };
        let ignored = match random.below(4) {
            0 => Ignored::All([[PathElement::field("c")]].iter().collect()),
            _ => Ignored::Nothing,
        };
        Kind { v1: version("a"), v2: version(RENAMED), ignored }
    }

    fn is_ignored(&self, path: &[PathElement]) -> bool {
        matches!(self.ignored, Ignored::All(_)) && path[0] == PathElement::field("c")
    }

    /// The locations of an object in the first version.
    fn places(&self, object: &Value) -> Places {
        let mut places = Places::new();
        for (key, value) in object.as_map().expect("an object").iter() {
            let field = self.v1.fields.iter().find(|field| field.name.is(key)).expect("declared");
            let mut path = vec![PathElement::field(key.clone())];
            flatten(&field.ty, field.atomic, value, true, &mut path, &mut places);
        }
        places
    }

    fn object(&self, random: &mut Random) -> Value {
        let mut object = random.object(&self.v1);
        object.set_at(&["kind"], "Random");
        object.set_at(&["metadata", "name"], "x");
        object
    }
}

impl Versions for Kind {
    fn schema(&self, api_version: &str) -> Option<&Struct> {
        match api_version {
            "v1" => Some(&self.v1),
            "v2" => Some(&self.v2),
            _ => None,
        }
    }

    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error> {
        if from == to {
            return Ok(Cow::Borrowed(object));
        }
        let (old, new) = if to == "v2" { ("a", RENAMED) } else { (RENAMED, "a") };
        let mut object = object.clone();
        if let Some(value) = object.remove_at(&[old]) {
            object.set_at(&[new], value);
        }
        Ok(Cow::Owned(object))
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &self.ignored
    }
}

/// The paths of a set, in the first version.
fn paths_of(set: &FieldSet) -> Paths {
    let renamed = |mut path: Steps| {
        if path[0] == PathElement::field(RENAMED) {
            path[0] = PathElement::field("a");
        }
        path
    };
    set.paths().into_iter().map(renamed).collect()
}

fn id(name: &str, operation: Operation, api_version: &str, subresource: &str) -> String {
    let api_version = if operation == Operation::Apply { "" } else { api_version };
    format!("{name} {} {api_version} {subresource}", operation.as_str())
}

fn id_of(entry: &Entry) -> String {
    let manager = &entry.manager;
    id(&manager.name, manager.operation, &manager.api_version, &manager.subresource)
}

fn owners_of(managed: &Managed) -> Owners {
    let owners = managed.entries().iter().map(|entry| {
        let fields = entry.clone().fields().expect("well formed").clone();
        (id_of(entry), paths_of(&fields))
    });
    owners.collect()
}

/// An object, its owners, and the expected ones.
struct Fixture {
    seed: u64,
    random: Random,
    kind: Kind,
    /// The versions in which managers write.
    versions: &'static [&'static str],
    object: Value,
    managed: Managed,
    owners: Owners,
    second: u32,
    /// The last applied configurations, by manager.
    applied: BTreeMap<String, Value>,
}

/// The writer and its version.
#[derive(Clone, Copy, Debug)]
struct Writer {
    name: &'static str,
    api_version: &'static str,
    subresource: &'static str,
}

impl Fixture {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let kind = Kind::random(&mut random);
        let mut fixture = Fixture {
            seed,
            kind,
            versions: if seed.is_multiple_of(2) { &["v1"] } else { &["v1", "v1", "v2"] },
            object: Value::map(),
            managed: Managed::default(),
            owners: Owners::new(),
            second: 0,
            applied: BTreeMap::new(),
            random,
        };
        let object = fixture.kind.object(&mut fixture.random);
        match fixture.random.below(4) {
            // Stored before tracking began.
            0 => fixture.object = object,
            _ => {
                let writer = fixture.writer(&["u", "v", ""]);
                fixture.update(writer, object, true);
            }
        }
        fixture
    }

    fn writer(&mut self, names: &[&'static str]) -> Writer {
        let name = names[self.random.below(names.len())];
        let subresource = if name == "v" { "status" } else { "" };
        Writer { name, api_version: self.versions[self.random.below(self.versions.len())], subresource }
    }

    fn write<R>(&self, writer: Writer, act: impl FnOnce(&Write<'_>, &Value, Managed) -> R) -> R {
        let now = format!("2026-01-01T00:{:02}:{:02}Z", self.second / 60, self.second % 60);
        let Writer { name, api_version, subresource } = writer;
        let write = Write { versions: &self.kind, api_version, subresource, manager: name, now: &now };
        let live = self.kind.convert(&self.object, "v1", api_version).expect("a conversion");
        act(&write, &live, self.managed.clone())
    }

    fn store(&mut self, mut object: Value) {
        canonicalize(&self.kind.v1, &mut object);
        self.object = object;
    }

    fn tracked(&self, path: &[PathElement]) -> bool {
        !is_identity(path) && !self.kind.is_ignored(path)
    }

    /// Removes changed fields from all owners but one, in the model.
    fn settle(&mut self, writer: Option<&str>, live: &Places, new: &Places) -> Paths {
        let is_changed = |(path, place): &(&Steps, &Place)| {
            live.get(*path).is_none_or(|before| differ(&before.holds, &place.holds)) && !self.kind.is_ignored(path)
        };
        let changed: Paths = new.iter().filter(is_changed).map(|(path, _)| path.clone()).collect();
        let is_removed = |path: &Steps| !new.contains_key(path) && !self.kind.is_ignored(path);
        for (_, own) in self.owners.iter_mut().filter(|(owner, _)| Some(owner.as_str()) != writer) {
            own.retain(|path| !(changed.contains(path) || live.contains_key(path) && is_removed(path)));
        }
        self.owners.retain(|_, own| !own.is_empty());
        changed
    }

    /// The model of an update.
    fn take(&mut self, writer: Writer, name: &str, live: &Places, new: &Places) {
        let changed = self.settle(None, live, new);
        let taken: Vec<Steps> = changed.into_iter().filter(|path| self.tracked(path)).collect();
        if !taken.is_empty() {
            let id = id(name, Operation::Update, writer.api_version, writer.subresource);
            self.owners.entry(id).or_default().extend(taken);
        }
    }

    fn update(&mut self, writer: Writer, new: Value, created: bool) {
        self.second += 1;
        let sent = self.kind.convert(&new, "v1", writer.api_version).expect("a conversion").into_owned();
        let managed = self.write(writer, |write, live, managed| write.update(live, &sent, managed, created));
        self.managed = managed.unwrap_or_else(|error| panic!("seed {}: {writer:?}: {error}", self.seed));
        if created || !self.owners.is_empty() {
            let (live, new) = (self.kind.places(&self.object), self.kind.places(&new));
            self.take(writer, if writer.name.is_empty() { "unknown" } else { writer.name }, &live, &new);
        }
        self.store(new);
    }

    fn apply(&self, writer: Writer, config: &Value, force: bool) -> Result<Applied, Error> {
        let config = self.kind.convert(config, "v1", writer.api_version).expect("a conversion");
        self.write(writer, |write, live, managed| write.apply(live, &config, &Value::map(), managed, force))
    }

    /// Applies, and compares the result with the model.
    fn apply_checked(&mut self, writer: Writer, config: Value, force: bool) {
        self.second += 1;
        let seed = self.seed;
        let about = format!("seed {seed}, write {}: {writer:?} force {force} {config:?}", self.second);
        let id = id(writer.name, Operation::Apply, "", writer.subresource);
        let outcome = self.apply(writer, &config, force);
        let (live, said) = (self.kind.places(&self.object), self.kind.places(&config));
        let former = self.owners.clone();
        if self.owners.is_empty() {
            self.take(writer, "before-first-apply", &Places::new(), &live);
        }
        let last = self.owners.remove(&id).unwrap_or_default();
        let is_changed = |path: &Steps| live.get(path).is_none_or(|before| differ(&before.holds, &said[path].holds));
        let expected: BTreeSet<(String, Steps)> = self
            .owners
            .iter()
            .flat_map(|(owner, own)| own.iter().map(move |path| (owner.clone(), path.clone())))
            .filter(|(_, path)| said.contains_key(path) && is_changed(path))
            .collect();
        let applied = match outcome {
            Ok(applied) => applied,
            Err(Error::Conflicts(conflicts)) => {
                assert!(!force, "{about}: refused although forced: {conflicts}");
                let reported = conflicts.0.iter().map(|conflict| {
                    let manager = &conflict.manager;
                    let owner = self::id(&manager.name, manager.operation, &manager.api_version, &manager.subresource);
                    let path: FieldSet = std::iter::once(&conflict.path).collect();
                    (owner, paths_of(&path).pop_first().expect("a path"))
                });
                assert_eq!(reported.collect::<BTreeSet<_>>(), expected, "{about}");
                self.owners = former;
                return;
            }
            Err(error) => panic!("{about}: {error}"),
        };
        assert!(force || expected.is_empty(), "{about}: not refused: {expected:?}");
        self.managed = applied.managed;
        let result = match applied.object {
            Some(object) => self.kind.convert(&object, writer.api_version, "v1").expect("a conversion").into_owned(),
            None => self.object.clone(),
        };
        let now = self.kind.places(&result);
        let mut own: Paths = said
            .iter()
            .filter(|(_, place)| !place.declared || !matches!(place.holds, Holds::Branch { empty_map: false, .. }))
            .map(|(path, _)| path.clone())
            .filter(|path| !self.kind.is_ignored(path))
            .collect();
        self.check_object(&about, &last, &own, [&live, &said, &now]);
        // A list without its last item is null or absent; it is empty only if it is applied as empty again.
        let is_emptied = said.iter().any(|(path, place)| {
            matches!(place.holds, Holds::Branch { empty: true, .. })
                && now.get(path).is_none_or(|place| place.holds == Holds::Leaf(Value::Null))
        });
        self.settle(Some(&id), &live, &now);
        own.retain(|path| self.tracked(path));
        if !own.is_empty() {
            self.owners.insert(id.clone(), own);
        }
        self.store(result);
        self.applied.insert(id, config.clone());

        if is_emptied || self.owners.is_empty() {
            return;
        }
        let again = self.apply(writer, &config, false).unwrap_or_else(|error| panic!("{about}: again: {error}"));
        assert_eq!(again.object, None, "{about}: applying again changes the object");
        assert_eq!(again.managed.encode(), self.managed.clone().encode(), "{about}: applying again changes owners");
    }

    /// The result of an apply, for what its manager owned before (`last`) and owns now.
    fn check_object(&self, about: &str, last: &Paths, own: &Paths, [live, said, now]: [&Places; 3]) {
        let wanted: Paths = self.owners.values().flatten().chain(own).cloned().collect();
        let leaves = said.iter().filter(|(_, place)| matches!(place.holds, Holds::Leaf(_)));
        let replaced: Paths = leaves.map(|(path, _)| path.clone()).collect();
        for path in &replaced {
            assert_eq!(now.get(path), said.get(path), "{about}: {path:?} is not what was applied");
        }
        // Declared fields exist for what is below them; items and keys are removed when nobody owns them.
        let has = |set: &Paths, path: &[PathElement]| {
            set.contains(path) || live[path].declared && is_prefix_of_any(path, set)
        };
        let applied_before = |path: &Steps| -> Vec<Steps> {
            (1..=path.len()).map(|len| path[..len].to_vec()).filter(|step| has(last, step)).collect()
        };
        let (left, gone): (Paths, Paths) = live
            .keys()
            .filter(|path| !starts_with_any(path, &replaced))
            .cloned()
            .partition(|path| applied_before(path).iter().all(|step| has(&wanted, step)));
        for path in &gone {
            assert!(!now.contains_key(path), "{about}: {path:?} is applied no more and still there");
        }
        // An empty list is not a field: a value without content counts as absent.
        let is_field = |path: &&Steps| match live[*path] {
            Place { declared: true, holds: Holds::Branch { empty_map: false, empty } } => {
                !empty && !left.iter().any(|other| other.len() > path.len() && other.starts_with(path))
            }
            _ => true,
        };
        let seen: Paths = left.iter().filter(is_field).chain(own).cloned().collect();
        // A list may be removed with its last item, or remain empty.
        let lost_all = |path: &Steps| match live[path] {
            Place { declared: true, holds: Holds::Branch { empty_map: false, empty: false } } => {
                !left.iter().any(|other| other.len() > path.len() && other.starts_with(path))
            }
            _ => false,
        };
        for path in left.iter().filter(|path| !lost_all(path)) {
            let steps = applied_before(path);
            // An item that is owned in one version only does not restore what is below it in another.
            let stays =
                steps.is_empty() || self.versions.len() == 1 && steps.iter().all(|step| is_prefix_of_any(step, &seen));
            assert!(!stays || now.contains_key(path), "{about}: {path:?} is another's or nobody's, and gone");
        }
    }

    /// An object similar to the current one: some fields unchanged, others new or absent.
    fn near(&mut self, kept: usize, of: usize) -> Value {
        let other = self.kind.object(&mut self.random);
        let mut near = Value::map();
        for name in ["a", "b", "c", "d", "kind", "metadata"] {
            let from = if self.random.below(of) < kept { &self.object } else { &other };
            if let Some(value) = from.get(name) {
                near.set_at(&[name], value.clone());
            }
        }
        without_nulls(&mut near);
        near
    }

    fn config(&mut self, writer: Writer) -> Value {
        let id = id(writer.name, Operation::Apply, "", writer.subresource);
        let former = self.applied.get(&id).cloned();
        let mut config = match former {
            Some(former) if self.random.below(3) == 0 => former,
            _ => self.near(1, 2),
        };
        for name in ["a", "b", "c", "d"] {
            if self.random.below(2) == 0 {
                config.remove_at(&[name]);
            }
        }
        config
    }

    fn step(&mut self) {
        match self.random.below(5) {
            0 | 1 => {
                let writer = self.writer(&["u", "v", ""]);
                let new = self.near(3, 4);
                self.update(writer, new, false);
            }
            _ => {
                let writer = self.writer(&["x", "y", "v"]);
                let config = self.config(writer);
                let force = self.random.below(3) == 0;
                self.apply_checked(writer, config, force);
            }
        }
        self.check();
    }

    fn check(&mut self) {
        let about = format!("seed {}, write {}", self.seed, self.second);
        assert_eq!(owners_of(&self.managed), self.owners, "{about}: owners");

        let stored = self.managed.clone().encode();
        let entries = stored.as_ref().and_then(Value::as_list).unwrap_or_default();
        let read = Managed::decode_untrusted(entries).expect("well formed");
        assert_eq!(owners_of(&read), self.owners, "{about}: owners that were stored");
        assert_eq!(read.clone().encode(), stored, "{about}: stored again");

        let writer = self.writer(&["u", "v", "w"]);
        let same = self.kind.convert(&self.object, "v1", writer.api_version).expect("a conversion").into_owned();
        let idle = self.write(writer, |write, live, managed| write.update(live, &same, managed, false));
        assert_eq!(idle.expect("tracked").encode(), stored, "{about}: an idle update changes owners");

        if !self.owners.is_empty() {
            let owned: Paths = self.owners.values().flatten().cloned().collect();
            for (path, place) in self.kind.places(&self.object) {
                let is_value = matches!(&place.holds, Holds::Leaf(value) if !value.is_null());
                assert!(!is_value || !self.tracked(&path) || owned.contains(&path), "{about}: nobody owns {path:?}");
            }
        }
        if self.random.below(2) == 0 {
            self.managed = Managed::decode(entries).expect("well formed");
        }
    }
}

#[test]
fn owners_are_as_a_plain_model_says() {
    for seed in 1..=800 {
        let mut fixture = Fixture::new(seed);
        for _ in 0..12 {
            fixture.step();
        }
    }
}

/// Merging old updaters into one loses no ownership, and keeps their number within the limit.
#[test]
fn however_many_write_what_is_owned_stays_owned() {
    const CROWD: [&str; 20] =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
    let mut folded = 0;
    for seed in 1..=200 {
        let mut fixture = Fixture::new(seed);
        for _ in 0..60 {
            let writer = fixture.writer(&CROWD);
            let mut new = fixture.near(3, 4);
            // One label for each, so that there is much to own.
            let labels = fixture.object.at(&["metadata", "labels"]).cloned().unwrap_or_default();
            new.set_at(&["metadata", "labels"], labels);
            new.set_at(&["metadata", "labels", writer.name], ["x", "y", "z"][fixture.random.below(3)]);
            fixture.update(writer, new, false);
            let about = format!("seed {seed}, write {}", fixture.second);
            let known: Paths = fixture.owners.values().flatten().cloned().collect();
            let found: Paths = owners_of(&fixture.managed).into_values().flatten().collect();
            assert_eq!(found, known, "{about}");
            let entries = fixture.managed.entries();
            assert!(entries.len() <= 10, "{about}: {} updaters", entries.len());
            folded += usize::from(entries.iter().any(|entry| entry.manager.name == "ancient-changes"));
        }
    }
    assert!(folded > 100, "{folded} folded");
}
