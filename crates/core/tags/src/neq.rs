//! The tag `neq`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "neq",
    variant: "NotEqual",
    places: Place::SCALAR,
    payload: Payload::Literal,
    chained: false,
    excludes: &[],
    origin: "neq",
    published: "",
    upstream: "+k8s:neq",
    example: "neq = 0",
    doc: "The value must differ from this one.",
};
