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
    doc: "An absent or zero value is right, and nothing else is demanded of it. OpenAPI lists the field as optional.",
};
