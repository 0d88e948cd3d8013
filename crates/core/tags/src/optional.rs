//! The tag `optional`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "optional",
    variant: "Optional",
    places: Place::ANY,
    payload: Payload::None,
    chained: false,
    excludes: &["optional", "required", "forbidden"],
    origin: "",
    published: "",
    upstream: "+k8s:optional",
    example: "optional",
    doc: "The value may be absent or zero; other rules are then skipped. OpenAPI lists the field as optional.",
};
