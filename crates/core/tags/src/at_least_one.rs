//! The tag `at_least_one`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "at_least_one",
    variant: "AtLeastOne",
    places: Place::STRUCT_OR_TYPE,
    payload: Payload::Texts,
    chained: false,
    excludes: &[],
    origin: "atLeastOne",
    published: "",
    upstream: "",
    example: "at_least_one(\"a\", \"b\")",
    doc: "Of these fields of the struct one must be set.",
};
