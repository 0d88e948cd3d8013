//! The tag `not_together`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "not_together",
    variant: "NotTogether",
    places: Place::STRUCT_OR_TYPE,
    payload: Payload::Texts,
    chained: false,
    excludes: &[],
    origin: "notTogether",
    published: "",
    upstream: "",
    example: "not_together(\"a\", \"b\")",
    doc: "Of these fields of the struct one may be set: the struct is invalid with more.",
};
