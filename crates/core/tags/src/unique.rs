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
    doc: "No item may stand twice: compared by the fields named, by the list's keys when it has some, or as a whole. Says nothing of who owns the items, as `list_type` does.",
};
