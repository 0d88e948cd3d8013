//! The tag `minimum`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "minimum",
    variant: "Minimum",
    places: Place::INT,
    payload: Payload::Int,
    chained: false,
    excludes: &["minimum"],
    origin: "minimum",
    published: "minimum",
    upstream: "+k8s:minimum",
    example: "minimum = 0",
    doc: "The number must not be smaller.",
};
