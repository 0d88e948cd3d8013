//! The tag `alpha`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "alpha",
    variant: "Alpha",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Since,
    chained: true,
    excludes: &["beta"],
    origin: "",
    published: "",
    upstream: "+k8s:alpha",
    example: "alpha(\"1.36\")(required)",
    doc: "The rules in brackets run in the shadow: their result is compared with that of handwritten rules and counted, but not enforced.",
};
