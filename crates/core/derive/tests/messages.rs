//! The compiler's messages for wrong tags, as their author sees them: what is wrong, what would be right, and at which tag.
//! Guarantees that no wrong tag compiles. `TRYBUILD=overwrite` writes the messages anew; read them before keeping them.

#[test]
fn wrong_tags_are_told_where_they_stand() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/messages/*.rs");
    tests.pass("tests/messages/right/*.rs");
}
