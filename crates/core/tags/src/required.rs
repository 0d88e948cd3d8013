//! The tag `required`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "required",
    variant: "Required",
    places: Place::ANY,
    payload: Payload::Detail,
    chained: false,
    excludes: &["required", "optional", "forbidden"],
    origin: "",
    published: "required",
    upstream: "+k8s:required",
    example: "required or required = \"why\"",
    doc: "The value must be present and not zero. A text is the error's detail.",
};
