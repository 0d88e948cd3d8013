//! No input makes the YAML decoder panic, encoded values can be decoded, and its fast path for JSON agrees with YAML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_codec::{Strictness, json, yaml};
use pintle_schema::ApiType;
use pintle_types::core::v1::Pod;

fuzz_target!(|input: &[u8]| {
    let _ = yaml::decode(Pod::schema(), input, Strictness::Collect);
    if let Ok(parsed) = yaml::parse(input, Strictness::Collect) {
        assert!(yaml::parse(yaml::encode(&parsed.value).as_bytes(), Strictness::Collect).is_ok());
        // After a comment the fast path is not taken.
        if json::parse(input, Strictness::Ignore).is_ok() {
            let commented = yaml::parse(&[input, b"\n#"].concat(), Strictness::Collect);
            assert!(commented.is_ok_and(|commented| commented.value == parsed.value));
        }
    }
});
