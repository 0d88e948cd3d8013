//! The tag `on_update`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "on_update",
    variant: "OnUpdate",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "on_update(required)",
    doc: "What follows holds for objects that replace others.",
};
