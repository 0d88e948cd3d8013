//! No input makes the protobuf decoder panic, and accepted input round-trips.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_codec::{json, protobuf};
use pintle_schema::{ApiType, canonicalize};
use pintle_types::apiextensions::v1::CustomResourceDefinition;
use pintle_types::core::v1::Pod;

fuzz_target!(|input: &[u8]| {
    let _ = protobuf::decode_envelope(input);
    let _ = protobuf::decode(CustomResourceDefinition::schema(), input);
    if let Ok(mut value) = protobuf::decode(Pod::schema(), input) {
        canonicalize(Pod::schema(), &mut value);
        let mut message = Vec::new();
        protobuf::encode(Pod::schema(), &value, &mut message);
        let mut again = protobuf::decode(Pod::schema(), &message).expect("what was written is read");
        canonicalize(Pod::schema(), &mut again);
        assert_eq!(json::to_vec(&again), json::to_vec(&value));
    }
});
