//! The tag `min_items`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "min_items",
    variant: "MinItems",
    places: Place::COLLECTION,
    payload: Payload::Size,
    chained: false,
    excludes: &["min_items"],
    origin: "minItems",
    published: "minItems",
    upstream: "+k8s:minItems",
    example: "min_items = 63",
    doc: "The list must not have fewer items, the map not fewer entries.",
};
