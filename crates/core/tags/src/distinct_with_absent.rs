//! The tag `distinct_with_absent`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "distinct_with_absent",
    variant: "DistinctWithAbsent",
    places: Place::LIST,
    payload: Payload::Field,
    chained: false,
    excludes: &[],
    origin: "distinct",
    published: "",
    upstream: "",
    example: "distinct_with_absent(name)",
    doc: "Items differ in a field, and only one lacks it; the error is reported at the field.",
};
