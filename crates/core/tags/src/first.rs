//! The tag `first`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "first",
    variant: "First",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "first(required)",
    doc: "What follows is validated first, and when it fails, nothing else is validated.",
};
