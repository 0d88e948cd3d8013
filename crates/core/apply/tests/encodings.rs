//! Applying does not depend on how the object was stored: an object from protobuf merges like one from JSON.

use pintle_apply::typed::{Duplicates, compare, fields_of, merge, validate};
use pintle_codec::{Strictness, json, protobuf};
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::apps::v1::Deployment;

/// A deployment whose parts are chosen by the bits of a number.
fn deployment(bits: usize) -> Value {
    let pick = |at: usize, one: Value, other: Value| if bits >> at & 1 == 0 { one } else { other };
    let container = |name: &str, at: usize| {
        value!({
            "name": name, "image": (pick(at, "a".into(), "b".into())),
            "ports": (pick(at + 1, value!([{"containerPort": 80}]), value!([{"containerPort": 80, "protocol": "UDP"}]))),
            "resources": (pick(at + 2, value!({}), value!({"limits": {"cpu": "500m"}})))
        })
    };
    let (server, proxy) = (container("server", 0), container("proxy", 3));
    let containers = pick(6, Value::List(vec![server.clone(), proxy.clone()]), Value::List(vec![proxy, server]));
    value!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": (pick(7, value!({}), value!({"app": "web"})))},
        "spec": {
            "replicas": (pick(8, Value::Null, value!(2))),
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": (pick(9, value!({}), value!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}))),
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
        }
    })
}

#[test]
fn objects_from_both_encodings_merge_alike() {
    let schema = Deployment::schema();
    for step in 0..2000usize {
        let mut object = deployment(step.wrapping_mul(0x9e37_79b9) >> 7);
        let config = deployment(step.wrapping_mul(0x85eb_ca6b) >> 5);
        assert_eq!(validate(schema, &config, Duplicates::Refused), Ok(()));
        canonicalize(schema, &mut object);
        let mut message = Vec::new();
        protobuf::encode(schema, &object, &mut message);
        let mut from_protobuf = protobuf::decode(schema, &message).unwrap_or_default();
        canonicalize(schema, &mut from_protobuf);
        let text = json::to_vec(&from_protobuf);
        let Ok(mut from_json) = json::decode(schema, &text, Strictness::Ignore).map(|decoded| decoded.value) else {
            panic!("{object:?} does not decode")
        };
        canonicalize(schema, &mut from_json);
        let applied = |object: &Value| {
            let merged = merge(schema, object, &config).unwrap_or_else(|errors| panic!("{errors}"));
            (fields_of(schema, &merged), compare(schema, object, &merged))
        };
        assert_eq!(applied(&from_protobuf), applied(&from_json), "{object:?} {config:?}");
        // The configuration is contained in the result, whatever the object was.
        let Ok(kept) = merge(schema, &from_json, &config).and_then(|merged| compare(schema, &config, &merged)) else {
            panic!("{config:?} does not merge")
        };
        assert!(kept.modified.is_empty() && kept.removed.is_empty(), "{kept:?}");
    }
}
