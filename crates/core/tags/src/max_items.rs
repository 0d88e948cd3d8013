//! The tag `max_items`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "max_items",
    variant: "MaxItems",
    places: Place::COLLECTION,
    payload: Payload::Size,
    chained: false,
    excludes: &["max_items"],
    origin: "maxItems",
    published: "maxItems",
    upstream: "+k8s:maxItems",
    example: "max_items = 63",
    doc: "The list must not have more items, the map not more entries.",
};
