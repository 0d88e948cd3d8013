//! The tag `monotonic`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "monotonic",
    variant: "Monotonic",
    places: Place::INT,
    payload: Payload::Detail,
    chained: false,
    excludes: &[],
    origin: "monotonic",
    published: "",
    upstream: "",
    example: "monotonic or monotonic = \"cannot be decremented\"",
    doc: "An update must not decrease or remove the number.",
};
