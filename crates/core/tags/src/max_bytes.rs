//! The tag `max_bytes`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "max_bytes",
    variant: "MaxBytes",
    places: Place::STRING,
    payload: Payload::Size,
    chained: false,
    excludes: &["max_bytes"],
    origin: "maxBytes",
    published: "",
    upstream: "+k8s:maxBytes",
    example: "max_bytes = 63",
    doc: "The string must not have more bytes.",
};
