//! The tag `not_below`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "not_below",
    variant: "NotBelow",
    places: Place::INT,
    payload: Payload::Pairs,
    chained: false,
    excludes: &[],
    origin: "notBelow",
    published: "",
    upstream: "",
    example: "not_below(replicas = \"cannot be less than replicas\")",
    doc: "The number must not be less than that of another field beside it, where that is set.",
};
