//! The tag `item`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "item",
    variant: "Item",
    places: Place::LIST,
    payload: Payload::Pairs,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "+k8s:item",
    example: "item(type = \"A\")(required)",
    doc: "What follows holds for the item of the list that has these keys.",
};
