//! No input makes the JSON decoders panic, and accepted input round-trips.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_codec::{Strictness, json};
use pintle_schema::{ApiType, canonicalize};
use pintle_types::core::v1::Pod;

fuzz_target!(|input: &[u8]| {
    let _ = json::type_meta(input);
    let _ = json::decode_trusted(Pod::schema(), input);
    if let Ok(tree) = json::parse(input, Strictness::Collect) {
        let _ = json::conform_json(Pod::schema(), tree.value, Strictness::Collect);
    }
    if let Ok(mut decoded) = json::decode(Pod::schema(), input, Strictness::Collect) {
        canonicalize(Pod::schema(), &mut decoded.value);
        let image = json::to_vec(&decoded.value);
        let again = json::decode(Pod::schema(), &image, Strictness::Collect);
        let mut again = again.expect("what was written is read").value;
        canonicalize(Pod::schema(), &mut again);
        assert_eq!(json::to_vec(&again), image);
    }
});
