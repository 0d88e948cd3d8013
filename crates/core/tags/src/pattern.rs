//! The tag `pattern`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "pattern",
    variant: "Pattern",
    places: Place::STRING,
    payload: Payload::Pattern,
    chained: false,
    excludes: &[],
    origin: "pattern",
    published: "pattern",
    upstream: "",
    example: "pattern = \"[a-z]+\"",
    doc: "A regular expression must match the whole string.",
};
