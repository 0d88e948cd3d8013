//! No input makes the CBOR decoders panic, and accepted input round-trips.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_codec::{Strictness, cbor};
use pintle_schema::{ApiType, canonicalize};
use pintle_types::core::v1::Pod;

fuzz_target!(|input: &[u8]| {
    let _ = cbor::type_meta(input);
    let Ok(mut decoded) = cbor::decode(Pod::schema(), input, Strictness::Collect) else { return };
    canonicalize(Pod::schema(), &mut decoded.value);
    let (mut image, mut second) = (Vec::new(), Vec::new());
    cbor::encode(Pod::schema(), &decoded.value, &mut image);
    let again = cbor::decode(Pod::schema(), &image, Strictness::Collect);
    let mut again = again.expect("what was written is read").value;
    canonicalize(Pod::schema(), &mut again);
    cbor::encode(Pod::schema(), &again, &mut second);
    assert_eq!(second, image);
});
