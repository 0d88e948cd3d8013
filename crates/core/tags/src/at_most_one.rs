//! The tag `at_most_one`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "at_most_one",
    variant: "AtMostOne",
    places: Place::STRUCT_OR_TYPE,
    payload: Payload::Texts,
    chained: false,
    excludes: &[],
    origin: "atMostOne",
    published: "",
    upstream: "",
    example: "at_most_one(\"a\", \"b\")",
    doc: "Of these fields of the struct one may be set: the struct is invalid with more.",
};
