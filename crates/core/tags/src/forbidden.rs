//! The tag `forbidden`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "forbidden",
    variant: "Forbidden",
    places: Place::ANY,
    payload: Payload::Detail,
    chained: false,
    excludes: &["forbidden", "optional", "required"],
    origin: "",
    published: "",
    upstream: "+k8s:forbidden",
    example: "forbidden or forbidden = \"why\"",
    doc: "The value must be absent or zero. A text is the error's detail.",
};
