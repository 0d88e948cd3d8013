//! The tag `each_val`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "each_val",
    variant: "EachVal",
    places: Place::COLLECTION,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "items",
    upstream: "+k8s:eachVal",
    example: "each_val(required)",
    doc: "The rules in brackets hold for every item of the list or value of the map.",
};
