//! The tag `distinct_items`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "distinct_items",
    variant: "DistinctItems",
    places: Place::LIST,
    payload: Payload::Field,
    chained: false,
    excludes: &[],
    origin: "distinctItems",
    published: "",
    upstream: "",
    example: "distinct_items(name)",
    doc: "Items differ in a field; the error is reported at the item.",
};
