//! The tag `last`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "last",
    variant: "Last",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "last(unique)",
    doc: "What follows is validated after what is inside the value.",
};
