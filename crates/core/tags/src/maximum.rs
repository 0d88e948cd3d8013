//! The tag `maximum`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "maximum",
    variant: "Maximum",
    places: Place::INT,
    payload: Payload::Int,
    chained: false,
    excludes: &["maximum"],
    origin: "maximum",
    published: "maximum",
    upstream: "+k8s:maximum",
    example: "maximum = 0",
    doc: "The number must not be larger.",
};
