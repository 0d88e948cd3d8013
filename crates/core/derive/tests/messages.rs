//! The compiler's messages for wrong tags: what is wrong, what would be right, and at which tag.
//! Guarantees that no wrong tag compiles. `TRYBUILD=overwrite` writes the messages; read them before you keep them.

#[test]
fn wrong_tags_are_told_where_they_stand() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/messages/*.rs");
    tests.pass("tests/messages/right/*.rs");
}
