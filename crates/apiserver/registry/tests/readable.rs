//! Random objects of every kind, small and up to the maximum request size: every committed object can be read. Guarantees that
//! get, watch and delete return each object whole, whatever part of it is large. Must never leave out a kind: the list is the
//! one that servers serve.

#[path = "../../../kubernetes/groups/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use pintle_cache::{Cache, EncodedObject, encoded_object};
use pintle_codec::json;
use pintle_registry::selection::field_values;
use pintle_resource::{Resource, StoredVersions};
use pintle_schema::{Map, Str, Value, canonicalize, value};
use pintle_storage::{Expect, MemoryStore, Revision, Store, Transaction};
use random::Random;
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum bytes by which an object is enlarged, within etcd's default request limit.
const MAX_BYTES: usize = 1_500_000;

/// Objects of each kind.
const ROUNDS: u64 = 4;

/// The storage version of every resource that stores something.
fn stored() -> impl Iterator<Item = &'static Arc<Resource>> {
    let mut prefixes = HashSet::new();
    pintle_groups::all().filter(move |resource| {
        let storage = resource.storage.as_ref().filter(|storage| storage.api_version == resource.api_version());
        storage.is_some_and(|storage| prefixes.insert(storage.prefix.clone()))
    })
}

/// A long text, of characters that take more room in JSON or not.
fn text(bytes: usize, random: &mut Random) -> String {
    let piece = ["x", "<", "\"", "\u{1}", "é", "\u{2028}"][random.below(6)];
    piece.repeat(bytes / piece.len())
}

/// Makes one part of the object large.
fn enlarge(object: &mut Value, random: &mut Random) {
    let bytes = MAX_BYTES >> random.below(12);
    let count = bytes / 30;
    let entries = || (0..count).map(|at| (Str::from(format!("example.com/k-{at}")), at.to_string().into()));
    let texts = || Value::List((0..count).map(|at| format!("example.com/{at}").into()).collect());
    match random.below(7) {
        0 => object.set_at(&["metadata", "labels"], Value::Map(Map::from_entries(entries().collect()))),
        1 => object.set_at(&["metadata", "annotations"], Value::Map(Map::from_entries(entries().collect()))),
        2 => object.set_at(&["metadata", "finalizers"], texts()),
        3 => {
            let owner = |at: usize| value!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": (at.to_string())});
            object.set_at(&["metadata", "ownerReferences"], Value::List((0..count).map(owner).collect()));
        }
        4 => {
            let field = ["name", "namespace", "uid", "generateName"][random.below(4)];
            object.set_at(&["metadata", field], text(bytes, random));
        }
        5 => object.set_at(&["metadata", "labels"], value!({"a": (text(bytes, random))})),
        _ => {
            let mut places = Vec::new();
            collect_texts(object, &mut places);
            let at = random.below(places.len());
            if let Some(place) = places.into_iter().nth(at) {
                *place = text(bytes, random).into();
            }
        }
    }
}

fn collect_texts<'a>(value: &'a mut Value, texts: &mut Vec<&'a mut Value>) {
    match value {
        Value::String(_) => texts.push(value),
        Value::List(items) => items.iter_mut().for_each(|item| collect_texts(item, texts)),
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| collect_texts(item, texts)),
        _ => {}
    }
}

#[test]
fn committed_objects_can_be_decoded() {
    let cache =
        Cache::new(stored().filter_map(|resource| resource.storage.as_ref()).map(|storage| storage.prefix.as_str()));
    let store = MemoryStore::new();
    store.start(Box::new(cache.writer())).expect("a store");
    let commit = |transaction| store.commit(transaction).wait().expect("a revision");
    for (at, resource) in stored().enumerate() {
        let storage = resource.storage.as_ref().expect("it stores something");
        let cached = cache.resource(&storage.prefix).expect("announced");
        let schema = &storage.schema;
        for round in 0..ROUNDS {
            let mut random = Random::new(at as u64 * ROUNDS + round + 1);
            let mut object = random::object(schema, resource.namespaced, &mut random);
            enlarge(&mut object, &mut random);
            canonicalize(schema, &mut object);
            let stored = StoredVersions::new(vec![resource.clone()]).expect("a version");
            let fields = field_values(&stored, &object);
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let record = encoded_object::encode(&object, &fields);
            let what = format!("{} in round {round}, {} bytes", resource.plural, record.len());
            assert_eq!(encoded_object::check(&record), Ok(()), "{what}");

            let key = format!("{}{round}", storage.prefix);
            let mut watch = cached.cursor(cache.current());
            let revision = commit(Transaction::one(key.as_str().into(), Expect::Absent, Some(record)));
            assert!(cached.state().unreadable.is_empty(), "{what}");
            let found = cached.get(&key).unwrap_or_else(|| panic!("{what}: it is not there"));
            check_read(resource, &found.encoded, &object, &fields, revision, &what);
            assert_eq!(watch.take(10).expect("the history is there").len(), 1, "{what}");
            commit(Transaction::one(key.as_str().into(), Expect::At(revision), None));
            assert!(cached.get(&key).is_none(), "{what}");
            assert_eq!(watch.take(10).expect("the history is there").len(), 1, "{what}");
        }
    }
}

fn check_read(
    resource: &Resource,
    encoded: &EncodedObject,
    object: &Value,
    fields: &[&str],
    revision: Revision,
    what: &str,
) {
    let schema = resource.storage.as_ref().map(|storage| &storage.schema).expect("it stores something");
    let mut read = json::decode_trusted(schema, encoded.as_written()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(read.remove_at(&["metadata", "resourceVersion"]), Some(revision.0.to_string().into()), "{what}");
    canonicalize(schema, &mut read);
    assert!(json::to_string(&read) == json::to_string(object), "{what}: another object is read");
    for (at, field) in fields.iter().enumerate() {
        assert!(encoded.field(at) == Some(field), "{what}: selectable field {at}");
    }
    let metadata = object.get("metadata").expect("metadata");
    let labels = metadata.get("labels").and_then(Value::as_map).into_iter().flat_map(Map::iter);
    assert!(
        encoded.labels().eq(labels.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or("")))),
        "{what}: labels"
    );
    let owners = metadata.get("ownerReferences").and_then(Value::as_list).unwrap_or_default();
    assert!(encoded.owners().eq(owners.iter().map(|owner| owner.str_at(&["uid"]))), "{what}: owners");
    assert!(encoded.uid() == metadata.str_at(&["uid"]), "{what}: uid");
}
