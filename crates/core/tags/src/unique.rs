//! The tag `unique`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "unique",
    variant: "Unique",
    places: Place::LIST,
    payload: Payload::Texts,
    chained: false,
    excludes: &[],
    origin: "",
    published: "x-kubernetes-list-type",
    upstream: "+k8s:unique",
    example: "unique or unique(\"a\", \"b\")",
    doc: "Items must be distinct: in the named fields, in the list's keys if it has some, or as a whole. Does not affect field ownership, as `list_type` does.",
};
