//! Applying to an object that was stored as JSON or as protobuf gives the same object and fields.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_apply::typed::{compare, fields_of, merge};
use pintle_codec::{Strictness, json, protobuf};
use pintle_schema::{ApiType, Value, canonicalize};
use pintle_types::apps::v1::Deployment;

fuzz_target!(|data: &[u8]| {
    let schema = Deployment::schema();
    let (object, config) = data.split_at(data.len() / 2);
    let decoded = |text: &[u8]| {
        let mut value = json::decode(schema, text, Strictness::Ignore).ok()?.value;
        canonicalize(schema, &mut value);
        Some(value)
    };
    let (Some(object), Some(config)) = (decoded(object), decoded(config)) else { return };
    let mut message = Vec::new();
    protobuf::encode(schema, &object, &mut message);
    let Ok(mut from_protobuf) = protobuf::decode(schema, &message) else { return };
    canonicalize(schema, &mut from_protobuf);
    let Some(from_json) = decoded(&json::to_vec(&from_protobuf)) else { return };
    let applied = |object: &Value| {
        let merged = merge(schema, object, &config).ok()?;
        Some((fields_of(schema, &merged).ok()?, compare(schema, object, &merged).ok()?))
    };
    assert_eq!(applied(&from_protobuf), applied(&from_json));
});
