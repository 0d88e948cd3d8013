//! The tag `above`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "above",
    variant: "Above",
    places: Place::INT,
    payload: Payload::Pairs,
    chained: false,
    excludes: &[],
    origin: "above",
    published: "",
    upstream: "",
    example: "above(replicas = \"must be greater than replicas\")",
    doc: "The number must be greater than that of another field beside it, where that is set.",
};
