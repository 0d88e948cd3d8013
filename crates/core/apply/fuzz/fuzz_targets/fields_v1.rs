//! Any text is parsed to a field set or an error, and parsed sets round-trip.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_apply::FieldSet;

fuzz_target!(|data: &[u8]| {
    let Ok(set) = FieldSet::from_v1_bytes(data) else { return };
    let mut text = Vec::new();
    set.write_v1(&mut text);
    assert_eq!(FieldSet::from_v1_bytes(&text).as_ref(), Ok(&set));
    assert_eq!(set.union(&set), set);
    assert!(set.difference(&set).is_empty());
});
