//! The tag `labels`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "labels",
    variant: "Labels",
    places: Place::MAP,
    payload: Payload::None,
    chained: false,
    excludes: &[],
    origin: "labels",
    published: "",
    upstream: "",
    example: "labels",
    doc: "Keys and values must be valid label keys and values.",
};
