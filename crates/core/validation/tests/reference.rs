//! `docs/validation.md` is generated from the catalogue. With `PINTLE_UPDATE_DOCS` set, the test writes it.

use pintle_schema::Value;
use std::path::Path;

#[test]
fn the_reference_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/validation.md");
    let reference = pintle_validation::docs::reference();
    if std::env::var_os("PINTLE_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &reference).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == reference, "docs/validation.md is old: run this test with PINTLE_UPDATE_DOCS=1");
}

/// Numbers at and beyond the ends of ranges.
fn around(low: i64, high: i64) -> [i64; 6] {
    [low.saturating_sub(1), low, low + 1, high.saturating_sub(1), high, high.saturating_add(1)]
}

#[test]
fn formats_are_the_same_to_the_compiler_and_to_the_engine() {
    let known: Vec<&str> = pintle_tags::formats::FORMATS.iter().map(|format| format.name).collect();
    let validated: Vec<&str> = pintle_validation::formats::FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(known, validated);
    for (known, validated) in pintle_tags::formats::FORMATS.iter().zip(pintle_validation::formats::FORMATS) {
        let Some((low, high)) = known.range else { continue };
        for number in around(low, high) {
            let right = (validated.validate)(&Value::Int(number)).is_empty();
            assert_eq!(right, (low..=high).contains(&number), "{} and {number}", known.name);
        }
    }
}
