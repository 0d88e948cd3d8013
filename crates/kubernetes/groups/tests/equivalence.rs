//! What must hold for the rules of every kind, on rows that are made at random: nothing here knows a kind.
//! Guarantees that versions validate alike, that stages change no answer, that what is stored stays right, and that no
//! rule panics.
//!
//! A row is an object, or an object and the one that it replaces. Some are wrong in many places, some are right, and some
//! are right except for what an update changed. Each row is
//! - validated by tags and by the functions with the same meaning, under all gates: no mismatch, one answer;
//! - validated by its tags as the plan runs them, and one by one: both have the same result;
//! - validated as every served version (`versions`);
//! - created, and put in the place of something else.

mod random;
mod versions;

use pintle_resource::{Action, Resource};
use pintle_schema::gates::{ALL_GATES, DECLARATIVE_VALIDATION_BETA, NO_GATES};
use pintle_schema::rules::Rule;
use pintle_schema::{GateSet, Presence, Struct, Type, Value};
use pintle_validation::{ErrorKind, FieldError, Operation, Request, ValidationResult, Validator};
use random::Random;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::LazyLock;

/// Objects of each kind. More with `PINTLE_FUZZ_ROUNDS`.
fn rounds() -> u64 {
    std::env::var("PINTLE_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// The resources that are stored, in each of their versions.
fn resources() -> impl Iterator<Item = &'static Arc<Resource>> {
    pintle_groups::all().filter(|resource| resource.storage.is_some())
}

fn stored(resource: &Resource) -> &Struct {
    resource.stored_schema()
}

/// The objects that a seed makes: with whether nothing is wrong with the new one, and what it replaces.
struct Row {
    new: Value,
    old: Option<Value>,
    is_valid: bool,
}

/// Of each seed a wrong object and its successor; of the first ones also right objects, and what becomes of those.
fn rows(resource: &Resource, schema: &Struct, seed: u64) -> Vec<Row> {
    const MENDED: u64 = 8;
    let random = &mut Random::new(seed);
    let object = random::object(schema, resource.namespaced, random);
    let mut rows = Vec::new();
    let mut add = |object: Value, is_valid: bool, random: &mut Random| {
        let new = random::changed(schema, &object, random);
        rows.push(Row { new: new.clone(), old: None, is_valid: false });
        rows.push(Row { new, old: Some(object.clone()), is_valid: false });
        rows.push(Row { new: object, old: None, is_valid });
    };
    if seed < MENDED {
        let wrong = |object: &Value| {
            let stored = (!std::ptr::eq(schema, stored(resource))).then(|| versions::as_stored(resource, object));
            let object = stored.as_ref().unwrap_or(object);
            let verdict = validate(&resource.rules, self::stored(resource), resource, (object, None), "", &ALL_GATES);
            verdict.errors.0.first().map(|error| error.field.clone())
        };
        random::mended(schema, &object, wrong, random).into_iter().for_each(|mended| add(mended, true, random));
    }
    add(object, false, random);
    rows
}

fn validate(
    book: &Validator,
    schema: &Struct,
    resource: &Resource,
    (new, old): (&Value, Option<&Value>),
    subresource: &str,
    gates: &GateSet,
) -> ValidationResult {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    validate_as(operation, book, schema, resource, (new, old), subresource, gates)
}

fn validate_as(
    operation: Operation,
    book: &Validator,
    schema: &Struct,
    resource: &Resource,
    (new, old): (&Value, Option<&Value>),
    subresource: &str,
    gates: &GateSet,
) -> ValidationResult {
    let request = Request {
        subresource,
        api_version: &resource.api_version(),
        namespaced: resource.namespaced,
        gates,
        ..Request::new(operation)
    };
    book.validate(schema, new, old, &request)
}

fn lines(verdict: &ValidationResult) -> Vec<String> {
    verdict.errors.0.iter().map(FieldError::line).collect()
}

fn name(resource: &Resource) -> String {
    format!("{} {}", resource.api_version(), resource.kind)
}

/// Of so many kinds there are right objects among the rows. Requests of certificates for pods are never right: nothing random proves that
/// its sender has a key.
const VALID_KINDS: usize = 48;

/// All gates on, that of stage beta off, or all off: as operators may have them.
static GATES: LazyLock<[GateSet; 3]> =
    LazyLock::new(|| [ALL_GATES.clone(), GateSet::all_but([&DECLARATIVE_VALIDATION_BETA]), NO_GATES.clone()]);

#[test]
fn stages_change_no_answer_and_no_rule_panics() {
    let mut valid = BTreeSet::new();
    for resource in resources().filter(|resource| {
        resource.storage.as_ref().is_some_and(|storage| storage.api_version == resource.api_version())
    }) {
        let schema = stored(resource);
        let parts = resource.subresources.iter().filter(|part| matches!(part.action, Action::Part(_)));
        let parts: Vec<&str> = std::iter::once("").chain(parts.map(|part| part.name.as_str())).collect();
        for seed in 0..rounds() {
            for row in rows(resource, schema, seed) {
                valid.extend(row.is_valid.then(|| name(resource)));
                for part in parts.iter().take(if row.old.is_some() { parts.len() } else { 1 }) {
                    let of = |gates: &GateSet| {
                        validate(&resource.rules, schema, resource, (&row.new, row.old.as_ref()), part, gates)
                    };
                    let verdicts = GATES.each_ref().map(of);
                    for verdict in &verdicts {
                        assert!(!verdict.panicked, "{} {part} seed {seed}", name(resource));
                        assert_eq!(verdict.mismatches, [], "{} {part} seed {seed}", name(resource));
                    }
                    assert_eq!(lines(&verdicts[0]), lines(&verdicts[1]), "{} {part} seed {seed}", name(resource));
                }
            }
        }
    }
    assert!(valid.len() >= VALID_KINDS, "of {} kinds there are right objects: {valid:?}", valid.len());
}

/// Whether a rule validates changes, so that only an update can find it broken.
fn validates_changes(error: &FieldError) -> bool {
    matches!(error.origin, "immutable" | "update" | "monotonic") || error.field.starts_with("metadata")
}

#[test]
fn updates_find_nothing_that_a_create_would_not_and_nothing_in_what_stays() {
    let tags = Validator::new(&[]);
    for resource in resources() {
        let schema = stored(resource);
        for seed in 0..rounds() {
            for (new, old) in rows(resource, schema, seed).into_iter().filter_map(|row| Some((row.new, row.old?))) {
                let same = validate(&tags, schema, resource, (&old, Some(&old)), "", &ALL_GATES);
                assert_eq!(lines(&same), [""; 0], "{} seed {seed}: nothing changed", name(resource));
                assert_eq!(same.steps, 0, "{} seed {seed}: nothing is validated", name(resource));
                let created = validate(&tags, schema, resource, (&new, None), "", &ALL_GATES);
                let updated = validate(&tags, schema, resource, (&new, Some(&old)), "", &ALL_GATES);
                // Some rules are for updates alone: those, too, are found when everything is new.
                let anew = validate_as(Operation::Update, &tags, schema, resource, (&new, None), "", &ALL_GATES);
                // What is absent is passed over unless there was something, so an update looks at more, but not at much
                // more.
                let most = created.steps.max(anew.steps);
                assert!(updated.steps <= most * 3 / 2 + schema.fields.len(), "{} seed {seed}", name(resource));
                let known: BTreeSet<String> = lines(&created).into_iter().chain(lines(&anew)).collect();
                for error in updated.errors.0.iter().filter(|error| !validates_changes(error)) {
                    assert!(known.contains(&error.line()), "{} seed {seed}: {}", name(resource), error.line());
                }
            }
        }
    }
}

/// The rules of one field that need nothing but its value, validated a second time in the plainest way.
#[derive(Default)]
struct Plain {
    found: Vec<(String, ErrorKind)>,
}

impl Plain {
    fn structure(&mut self, schema: &Struct, value: &Value, path: &str) {
        // A struct's own rules may end the validation of its fields.
        if !schema.rules.is_empty() {
            return;
        }
        for field in schema.fields.iter() {
            if field.inline {
                field.ty.as_struct().into_iter().for_each(|inlined| self.structure(inlined, value, path));
                continue;
            }
            let here = if path.is_empty() { field.name.to_string() } else { format!("{path}.{}", &*field.name) };
            let value = value.get(&field.name).unwrap_or(&Value::Null);
            let pointer = matches!(field.presence, Presence::Pointer | Presence::PointerAlways);
            let opaque = field.rules.iter().any(|rule| matches!(rule, Rule::Opaque));
            if self.rules(&field.rules, value, pointer, &here) && !(pointer && value.is_null()) && !opaque {
                self.inside(&field.ty, value, &here);
            }
        }
    }

    fn inside(&mut self, ty: &Type, value: &Value, path: &str) {
        match (ty, value) {
            (Type::Struct(schema), value) => self.structure(schema, value, path),
            (Type::List(list), Value::List(items)) => {
                items.iter().enumerate().for_each(|(at, item)| self.inside(&list.elem, item, &format!("{path}[{at}]")));
            }
            (Type::Map(map), Value::Map(entries)) => {
                entries.iter().for_each(|(key, value)| self.inside(&map.elem, value, &format!("{path}[{key}]")));
            }
            _ => {}
        }
    }

    /// False when what is inside is not to be validated.
    fn rules(&mut self, rules: &[Rule], value: &Value, pointer: bool, path: &str) -> bool {
        let set = if pointer { !value.is_null() } else { !value.is_zero() };
        let text = value.as_str().unwrap_or_default();
        let number = value.as_i64().or(value.is_null().then_some(0));
        let count = value.as_list().map_or(value.as_map().map_or(0, |map| map.len()), <[Value]>::len);
        for rule in rules {
            let wrong = match rule {
                Rule::Optional if !set => return false,
                Rule::Required(_) if !set => {
                    self.found.push((path.to_owned(), ErrorKind::Required));
                    return false;
                }
                Rule::Forbidden(_) => {
                    self.found.extend(set.then(|| (path.to_owned(), ErrorKind::Forbidden)));
                    return false;
                }
                _ if pointer && !set => None,
                Rule::Minimum(least) => number.filter(|number| number < least).map(|_| ErrorKind::Invalid),
                Rule::Maximum(most) => number.filter(|number| number > most).map(|_| ErrorKind::Invalid),
                Rule::MaxLength(most) => (text.chars().count() > *most as usize).then_some(ErrorKind::TooLong),
                Rule::MaxBytes(most) => (text.len() > *most as usize).then_some(ErrorKind::TooLong),
                Rule::MinItems(least) => (count < *least as usize).then_some(ErrorKind::TooFew),
                Rule::MaxItems(most) if count > *most as usize => {
                    self.found.push((path.to_owned(), ErrorKind::TooMany));
                    return false;
                }
                Rule::Enum(values) if !values.is_empty() => {
                    (!values.contains(&text)).then_some(ErrorKind::NotSupported)
                }
                // What may end the validation of the field in ways not followed here.
                Rule::First(_) | Rule::When(..) | Rule::Unless(..) | Rule::WhenSet(..) | Rule::WhenUnset(..) => {
                    return false;
                }
                Rule::IfEnabled(..) | Rule::IfDisabled(..) | Rule::Message(..) => return false,
                _ => None,
            };
            self.found.extend(wrong.map(|kind| (path.to_owned(), kind)));
        }
        true
    }
}

#[test]
fn the_plan_finds_what_the_tags_say_read_one_by_one() {
    let tags = Validator::new(&[]);
    let mut found = 0;
    for resource in resources() {
        let schema = stored(resource);
        for seed in 0..rounds() {
            for object in rows(resource, schema, seed).into_iter().filter(|row| row.old.is_none()).map(|row| row.new) {
                let verdict = validate(&tags, schema, resource, (&object, None), "", &ALL_GATES);
                let mut plain = Plain::default();
                plain.structure(schema, &object, "");
                let engine: BTreeSet<_> =
                    verdict.errors.0.iter().map(|error| (error.field.as_str(), error.kind.reason_text())).collect();
                for (path, kind) in plain.found.iter().filter(|(path, _)| !path.starts_with("metadata")) {
                    assert!(
                        engine.contains(&(path.as_str(), kind.reason_text())),
                        "{} seed {seed}: {path} {kind:?}",
                        name(resource)
                    );
                    found += 1;
                }
            }
        }
    }
    assert!(found > 300, "{found}");
}

/// Kinds of errors as they are shown, which have an order.
trait Text {
    fn reason_text(&self) -> &'static str;
}

impl Text for ErrorKind {
    fn reason_text(&self) -> &'static str {
        pintle_validation::ErrorWords::reason(*self)
    }
}
