//! The tag `format`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "format",
    variant: "Format",
    places: Place::SCALAR,
    payload: Payload::Format,
    chained: false,
    excludes: &[],
    origin: "format",
    published: "format",
    upstream: "+k8s:format",
    example: "format = \"k8s-short-name\"",
    doc: "The value must have one of the formats listed below.",
};
