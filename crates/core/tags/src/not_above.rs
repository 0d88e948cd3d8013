//! The tag `not_above`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "not_above",
    variant: "NotAbove",
    places: Place::INT,
    payload: Payload::Pairs,
    chained: false,
    excludes: &[],
    origin: "notAbove",
    published: "",
    upstream: "",
    example: "not_above(replicas = \"cannot be greater than replicas\")",
    doc: "The number must not be greater than that of another field beside it, where that is set.",
};
