//! The tag `enum`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "enum",
    variant: "Enum",
    places: Place::STRING,
    payload: Payload::Texts,
    chained: false,
    excludes: &["enum"],
    origin: "",
    published: "enum",
    upstream: "+k8s:enum",
    example: "enum or enum(\"a\", \"b\")",
    doc: "The string must be one of the listed values, or of the values of the field's type if none are listed.",
};
