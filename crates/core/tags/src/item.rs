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
    doc: "The rules in brackets hold for the item of the list with these keys.",
};
