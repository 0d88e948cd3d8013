//! The tag `has_keys`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "has_keys",
    variant: "HasKeys",
    places: Place::MAP,
    payload: Payload::Texts,
    chained: false,
    excludes: &[],
    origin: "hasKeys",
    published: "",
    upstream: "",
    example: "has_keys(\"a\", \"b\")",
    doc: "The map must have these keys.",
};
