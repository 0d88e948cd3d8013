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
    doc: "The text must be one of those named, or of the values of the field's type when none is.",
};
