//! The tag `subfield`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "subfield",
    variant: "Subfield",
    places: Place::STRUCT_OR_TYPE,
    payload: Payload::Field,
    chained: true,
    excludes: &[],
    origin: "",
    published: "properties",
    upstream: "+k8s:subfield",
    example: "subfield(name)(required)",
    doc: "The rules in brackets hold for a field of the struct, here but not wherever the struct is used.",
};
