//! The tag `unless`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "unless",
    variant: "Unless",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Pairs,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "unless(type = \"A|B\")(forbidden)",
    doc: "The rules in brackets hold unless other fields of the struct have these values.",
};
