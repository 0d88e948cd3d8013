//! The tag `distinct`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "distinct",
    variant: "Distinct",
    places: Place::LIST,
    payload: Payload::Field,
    chained: false,
    excludes: &[],
    origin: "distinct",
    published: "",
    upstream: "",
    example: "distinct(name)",
    doc: "Items differ in a field, where they have it; the error is reported at the field.",
};
