//! `docs/validation.md` is what the catalogue says. With `PINTLE_UPDATE_DOCS` set, the test writes it.

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
