//! The tag `each_key`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "each_key",
    variant: "EachKey",
    places: Place::MAP,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "propertyNames",
    upstream: "+k8s:eachKey",
    example: "each_key(required)",
    doc: "The rules in brackets hold for every key of the map.",
};
