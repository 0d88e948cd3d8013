//! The tag `min_length`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "min_length",
    variant: "MinLength",
    places: Place::STRING,
    payload: Payload::Size,
    chained: false,
    excludes: &["min_length"],
    origin: "minLength",
    published: "minLength",
    upstream: "+k8s:minLength",
    example: "min_length = 63",
    doc: "The string must not have fewer characters.",
};
