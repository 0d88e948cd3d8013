//! The tag `max_length`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "max_length",
    variant: "MaxLength",
    places: Place::STRING,
    payload: Payload::Size,
    chained: false,
    excludes: &["max_length"],
    origin: "maxLength",
    published: "maxLength",
    upstream: "+k8s:maxLength",
    example: "max_length = 63",
    doc: "The string must not have more characters.",
};
