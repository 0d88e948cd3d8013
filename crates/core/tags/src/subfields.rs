//! The tag `subfields`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "subfields",
    variant: "Subfields",
    places: Place::STRUCT_OR_TYPE,
    payload: Payload::Texts,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "subfields(\"a\", \"b\")(required)",
    doc: "As `subfield`, for each of several fields.",
};
