//! Stored objects there and back, and against bytes that kube-apiserver wrote where these are at hand.

use super::*;
use pintle_cache::EncodedObject;
use pintle_resource::{Resource, Unserved, convert_now};
use pintle_schema::{base64, value};
use pintle_storage::Revision;
use std::path::Path;

/// Outside the repository: one JSON document per line, with the key, the value, and what kube-apiserver served of it.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/stored/objects.jsonl");

fn served(collection: &str) -> &'static Arc<Resource> {
    let segments: Vec<&str> = collection.trim_start_matches('/').split('/').collect();
    let (group, version, plural) = match segments[..] {
        ["api", version, plural] => ("", version, plural),
        ["apis", group, version, plural] => (group, version, plural),
        _ => panic!("{collection}"),
    };
    pintle_groups::find(group, version, plural).unwrap_or_else(|| panic!("{collection}"))
}

fn canonical(resource: &Resource, object: &Value) -> String {
    let text = json::to_vec(object);
    let mut object = json::decode(&resource.schema, &text, Strictness::Ignore).unwrap().value;
    canonicalize(&resource.schema, &mut object);
    json::to_string(&object)
}

#[test]
fn objects_of_kube_apiserver_round_trip() {
    let Ok(text) = std::fs::read_to_string(Path::new(RECORDED)) else { return };
    let form = EtcdCodec::new(pintle_groups::resources());
    let mut wrong = Vec::new();
    for line in text.lines() {
        let line = json::parse(line.as_bytes(), Strictness::Ignore).unwrap().value;
        let (key, collection) = (line.str_at(&["key"]), line.str_at(&["servedAs"]));
        let stored = Bytes::from(base64::decode(line.str_at(&["value"])).unwrap());
        let record = form.decode_stored(key, &stored).unwrap_or_else(|error| panic!("{key}: {error}"));
        let revision = line.get("revision").and_then(Value::as_i64).unwrap();
        let encoded = EncodedObject::from_record(&record, Revision(revision.unsigned_abs())).unwrap();
        let resource = served(collection);
        let storage = resource.storage.as_ref().unwrap();
        let mut object = json::decode_trusted(&storage.schema, encoded.json()).unwrap();
        if let Some(conversion) = &storage.conversion {
            convert_now(&**conversion, &mut object, &storage.api_version, &resource.api_version()).unwrap();
        }
        set_type(&mut object, &resource.api_version(), &resource.kind);
        let (found, wanted) = (canonical(resource, &object), canonical(resource, line.get("object").unwrap()));
        if found != wanted {
            wrong.push(format!("{key} as {collection}\n  is {found}\n  not {wanted}"));
        }
        // kube-apiserver would store the defaults of a read at the next write only.
        let versions = form.versions_of(key).unwrap();
        let (_, mut plain) = decode(&versions, &stored).unwrap();
        let storage = home(&versions).unwrap();
        canonicalize(&storage.schema, &mut plain);
        let again = form.encode(storage, &plain);
        if again != stored {
            wrong.push(format!("{key} is stored as\n  {}\n  not {}", again.escape_ascii(), stored.escape_ascii()));
        }
        assert!(form.encode_stored(key, &record).is_ok(), "{key}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_object_of_another_version_is_read_as_the_storage_version() {
    let form = EtcdCodec::new(pintle_groups::resources());
    let object = value!({"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "a", "namespace": "n"},
        "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 40, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}});
    let stored = Bytes::from(json::to_vec(&object));
    let record = form.decode_stored("/registry/horizontalpodautoscalers/n/a", &stored).unwrap();
    assert!(EncodedObject::from_record(&record, Revision(1)).unwrap().is_stale);
    let text = String::from_utf8(encoded_object::object(&record).unwrap().to_vec()).unwrap();
    assert!(text.contains(r#""apiVersion":"autoscaling/v2""#) && text.contains(r#""averageUtilization":40"#), "{text}");
}

#[test]
fn json_storage_still_reads_protobuf() {
    let (default, mut form) = (EtcdCodec::new(pintle_groups::resources()), EtcdCodec::new(pintle_groups::resources()));
    form.json = true;
    let key = "/registry/configmaps/n/a";
    let object = value!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "n"}, "data": {"k": "v"}});
    let record = default.decode_stored(key, &Bytes::from(json::to_vec(&object))).unwrap();
    let kept = form.encode_stored(key, &record).unwrap();
    assert!(kept.starts_with(b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"") && kept.ends_with(b"}\n"), "{kept:?}");
    let kept_otherwise = default.encode_stored(key, &record).unwrap();
    assert!(kept_otherwise.starts_with(protobuf::MAGIC));
    for (kept, is_stale) in [(kept, false), (kept_otherwise, true)] {
        let encoded = EncodedObject::from_record(&form.decode_stored(key, &kept).unwrap(), Revision(1)).unwrap();
        assert_eq!(
            (encoded.is_stale, encoded.json()),
            (is_stale, EncodedObject::from_record(&record, Revision(1)).unwrap().json())
        );
    }
}

#[test]
fn a_zero_time_behind_a_pointer_is_null_and_not_absent() {
    let form = EtcdCodec::new(pintle_groups::resources());
    let key = "/registry/jobs/n/a";
    let object = |time: Value| {
        value!({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "a", "namespace": "n", "creationTimestamp": (time.clone())},
            "status": {"startTime": (time)}})
    };
    for (time, shown) in
        [(value!("0001-01-01T00:00:00Z"), r#""status":{"startTime":null}"#), (Value::Null, r#""status":{}"#)]
    {
        let read = form.decode_stored(key, &Bytes::from(json::to_vec(&object(time)))).unwrap();
        // As kube-apiserver keeps it, there and back.
        let again = form.decode_stored(key, &form.encode_stored(key, &read).unwrap()).unwrap();
        for record in [read, again] {
            let text = String::from_utf8(encoded_object::object(&record).unwrap().to_vec()).unwrap();
            assert!(text.contains(shown) && !text.contains("creationTimestamp"), "{text}");
        }
    }
}

#[test]
fn values_that_are_no_objects_are_rejected() {
    let form = EtcdCodec::new(pintle_groups::resources());
    for (key, stored) in [
        ("/registry/pods/a/b", &b"k8s\0\xff"[..]),
        ("/registry/pods/a/b", b"{"),
        ("/registry/pods/a/b", br#"{"kind":"Pod","apiVersion":"v7"}"#),
        ("/registry/nothing/a/b", br#"{"kind":"Pod","apiVersion":"v1"}"#),
        ("/", b""),
        ("", b""),
    ] {
        assert!(form.decode_stored(key, &Bytes::copy_from_slice(stored)).is_err(), "{key}");
    }
    assert!(form.encode_stored("/registry/pods/a/b", &Bytes::from_static(b"\x01")).is_err());
}

/// Outside the repository: an object of each kind and version with every field set.
const EXEMPLARS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/exemplars");

/// The kind of the objects under a prefix.
fn kind_of(form: &EtcdCodec, prefix: &str) -> String {
    storage_of(form, &format!("{prefix}a")).kind.to_string()
}

fn storage_of(form: &EtcdCodec, key: &str) -> Storage {
    home(&form.versions_of(key).unwrap()).unwrap().clone()
}

/// The versions that are not served, each with the prefix that its objects are stored under.
fn old_versions() -> impl Iterator<Item = (&'static str, &'static Unserved)> {
    let stored = pintle_groups::all().filter_map(|resource| Some((resource, resource.storage.as_ref()?)));
    let hubs = stored.filter(|(resource, storage)| storage.api_version == resource.api_version());
    hubs.flat_map(|(resource, storage)| resource.unserved.iter().map(move |old| (storage.prefix.as_str(), old)))
}

#[test]
fn objects_of_versions_that_are_not_served_are_read_as_the_storage_version() {
    let form = EtcdCodec::new(pintle_groups::resources());
    for (prefix, old) in old_versions() {
        let (key, kind) = (format!("{prefix}a"), kind_of(&form, prefix));
        let home = storage_of(&form, &key);
        let object =
            value!({"kind": (kind.as_str()), "apiVersion": (old.api_version()), "metadata": {"name": "a", "uid": "u"}});
        let mut encoded = Vec::new();
        protobuf::encode_object(&old.api_version(), &kind, (old.schema)(), &object, &mut encoded);
        for stored in [json::to_vec(&object), encoded] {
            let record =
                form.decode_stored(&key, &Bytes::from(stored)).unwrap_or_else(|error| panic!("{key}: {error}"));
            assert!(EncodedObject::from_record(&record, Revision(1)).unwrap().is_stale, "{key}");
            let read = json::parse(&encoded_object::object(&record).unwrap(), Strictness::Ignore).unwrap().value;
            assert_eq!(read.str_at(&["apiVersion"]), home.api_version, "{key}");
            assert_eq!((read.str_at(&["kind"]), read.str_at(&["metadata", "uid"])), (kind.as_str(), "u"), "{key}");
            assert!(form.encode_stored(&key, &record).is_ok(), "{key}");
        }
    }
}

#[test]
fn exemplars_of_versions_that_are_not_served_lose_nothing() {
    let form = EtcdCodec::new(pintle_groups::resources());
    for (prefix, old) in old_versions() {
        let group = match old.api_version().split_once('/') {
            Some((group, version)) => format!("{group}.{version}"),
            None => format!("core.{}", old.api_version()),
        };
        let kind = kind_of(&form, prefix);
        let read = |suffix: &str| std::fs::read(Path::new(EXEMPLARS).join(format!("{group}.{kind}.{suffix}")));
        let (Ok(text), Ok(encoded)) = (read("json"), read("pb")) else { continue };
        let key = format!("{prefix}a");
        let [from_json, from_protobuf] = [text, encoded].map(|stored| {
            let record = form
                .decode_stored(&key, &Bytes::from(stored))
                .unwrap_or_else(|error| panic!("{group} {kind}: {error}"));
            String::from_utf8(encoded_object::object(&record).unwrap().to_vec()).unwrap()
        });
        // Raw data has another text in each of its exemplars.
        if kind != "ControllerRevision" {
            assert_eq!(from_json, from_protobuf, "{group} {kind}");
        }
        // Without a conversion, the storage version's exemplar is the same but for fields that came later.
        let home = storage_of(&form, &key).api_version.replace('/', ".");
        let newer = std::fs::read(Path::new(EXEMPLARS).join(format!("{home}.{kind}.json")));
        let (None, Ok(newer)) = (old.to_storage, newer) else { continue };
        let record = form.decode_stored(&key, &Bytes::from(newer)).unwrap();
        let newer = json::parse(&encoded_object::object(&record).unwrap(), Strictness::Ignore).unwrap().value;
        let older = json::parse(from_json.as_bytes(), Strictness::Ignore).unwrap().value;
        let mut lost = Vec::new();
        missing(&older, &newer, "", &mut lost);
        assert!(lost.is_empty(), "{group} {kind}: {lost:?}");
    }
}

/// The paths of fields that one object has and the other has not.
fn missing(of: &Value, from: &Value, path: &str, lost: &mut Vec<String>) {
    match (of, from) {
        (Value::Map(of), Value::Map(from)) => {
            for (key, value) in of.iter() {
                let path = format!("{path}.{key}");
                match from.get(key) {
                    Some(other) => missing(value, other, &path, lost),
                    None => lost.push(path),
                }
            }
        }
        (Value::List(of), Value::List(from)) => {
            of.iter().zip(from.iter()).for_each(|(value, other)| missing(value, other, path, lost));
        }
        _ => {}
    }
}
