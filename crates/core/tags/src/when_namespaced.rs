//! The tag `when_namespaced`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_namespaced",
    variant: "WhenNamespaced",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_namespaced(forbidden)",
    doc: "What follows holds for objects in a namespace.",
};
