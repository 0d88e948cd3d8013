//! The tag `if_enabled`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "if_enabled",
    variant: "IfEnabled",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Gate,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "+k8s:ifEnabled",
    example: "if_enabled(Gate)(required)",
    doc: "The rules in brackets hold while a feature gate is on.",
};
