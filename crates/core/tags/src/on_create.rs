//! The tag `on_create`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "on_create",
    variant: "OnCreate",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "on_create(forbidden)",
    doc: "What follows holds for new objects.",
};
