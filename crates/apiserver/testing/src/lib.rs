//! Property tests for every API group, one line each in the tests of a group's crate. Guarantees that random objects of every
//! version are tried, the same in each run, and that a failure shows the object. Must never know a kind, nor be a part of a
//! server.

use pintle_codec::Strictness;
use pintle_codec::{json, protobuf};
use pintle_resource::{Group, Resource, convert_now};
use pintle_schema::DisabledFields;
use pintle_schema::gates::NO_GATES;
use pintle_schema::random::Random;
use pintle_schema::{Map, Str, Struct, Value, canonicalize};

/// How many random objects of each version are tried.
const OBJECTS: u64 = 200;
/// Below so many levels structs are absent.
const DEPTH: usize = 6;

/// Checks that random objects of every version of a group, with metadata and managed fields, round-trip through JSON, protobuf,
/// and every other version. `consistent` makes an object valid where versions differ in what they can express (fields that
/// repeat each other); often it does nothing.
///
/// # Panics
/// An object does not round-trip.
pub fn assert_round_trips(group: &Group, consistent: impl Fn(&Resource, &mut Value)) {
    for version in &group.resources {
        for seed in 1..=OBJECTS {
            let sent = random_object(version, seed, &consistent);
            let name = format!("{} {} of seed {seed}", version.api_version(), version.kind);
            assert_same(&name, "JSON", &sent, &through_json(&version.schema, &sent));
            assert_same(&name, "protobuf", &sent, &through_protobuf(&version.schema, &sent));
            let stored = stored(version, &sent);
            assert_same(&name, "the storage version", &sent, &served(version, &stored));
            let others = group
                .resources
                .iter()
                .filter(|other| other.plural == version.plural && !std::ptr::eq(other.as_ref(), version.as_ref()));
            for other in others {
                let (read, to) = (served(other, &stored), other.api_version());
                assert_same(&name, &to, &sent, &served(version, &self::stored(other, &read)));
            }
        }
    }
}

/// A server on which the gates of a group's fields are off keeps these fields in stored objects, and drops them from new ones. This is
/// a server one release back.
///
/// # Panics
/// A field is lost or stays, or the group has no field behind a gate.
pub fn assert_older_server_keeps_gated_fields(group: &Group) {
    let mut gated = 0;
    for version in &group.resources {
        let schema = version.stored_schema();
        let Some(disabled) = DisabledFields::of(schema, &NO_GATES) else { continue };
        for seed in 1..=OBJECTS {
            let stored = random_object(version, seed, &|_, _| {});
            let mut updated = stored.clone();
            disabled.drop_from(&mut updated, Some(&stored));
            let name = format!("{} {} of seed {seed}", version.api_version(), version.kind);
            assert_same(&name, "an update", &stored, &updated);
            let mut created = stored.clone();
            disabled.drop_from(&mut created, None);
            gated += usize::from(created != stored);
            let mut again = created.clone();
            disabled.drop_from(&mut again, Some(&created));
            assert_same(&name, "an update of what has none", &created, &again);
        }
    }
    assert!(gated > 0, "no field of the group {} is behind a gate", group.name);
}

/// An object as a client of the version sends it, with the defaults of the version.
fn random_object(version: &Resource, seed: u64, consistent: &impl Fn(&Resource, &mut Value)) -> Value {
    let mut random = Random::new(seed);
    let mut object = random.object(&version.schema, DEPTH);
    if let Value::Map(fields) = &mut object {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    consistent(version, &mut object);
    let unconverted = Resource { storage: None, ..version.clone() };
    // A resource that is not stored is not converted, so this cannot fail.
    let defaulted = unconverted.complete_now(&mut object, 0);
    assert_eq!(defaulted, Ok(()));
    canonicalize(&version.schema, &mut object);
    object
}

/// The stored form of an object sent by a client of the version.
fn stored(version: &Resource, sent: &Value) -> Value {
    let mut object = sent.clone();
    if let Err(error) = version.complete_now(&mut object, 0) {
        panic!("{}: {error}: {}", version.api_version(), json::to_string(sent));
    }
    canonicalize(version.stored_schema(), &mut object);
    object
}

/// A stored object as read by a client of the version.
fn served(version: &Resource, stored: &Value) -> Value {
    let mut object = stored.clone();
    if let Some(storage) = &version.storage
        && let Some(conversion) = &storage.conversion
        && let Err(error) = convert_now(&**conversion, &mut object, &storage.api_version, &version.api_version())
    {
        panic!("{}: {error}: {}", version.api_version(), json::to_string(stored));
    }
    canonicalize(&version.schema, &mut object);
    object
}

fn through_json(schema: &Struct, object: &Value) -> Value {
    let decoded = json::parse(&json::to_vec(object), Strictness::Collect)
        .and_then(|parsed| json::conform(schema, parsed.value, Strictness::Collect));
    assert!(decoded.as_ref().is_ok_and(|decoded| decoded.problems.is_empty()), "{decoded:?}");
    canonical(schema, decoded.map(|decoded| decoded.value))
}

fn through_protobuf(schema: &Struct, object: &Value) -> Value {
    let mut bytes = Vec::new();
    protobuf::encode(schema, object, &mut bytes);
    canonical(schema, protobuf::decode(schema, &bytes))
}

fn canonical<E: std::fmt::Display>(schema: &Struct, decoded: Result<Value, E>) -> Value {
    match decoded {
        Ok(mut object) => {
            canonicalize(schema, &mut object);
            object
        }
        Err(error) => Value::Map(Map::from_entries(vec![(Str::new_static("error"), error.to_string().into())])),
    }
}

fn assert_same(name: &str, way: &str, sent: &Value, back: &Value) {
    let [sent, back] = [sent, back].map(json::to_string);
    assert!(sent == back, "{name} comes back from {way} as another one\n sent {sent}\n back {back}");
}
