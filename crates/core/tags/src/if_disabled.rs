//! The tag `if_disabled`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "if_disabled",
    variant: "IfDisabled",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Gate,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "+k8s:ifDisabled",
    example: "if_disabled(Gate)(required)",
    doc: "The rules in brackets hold while a feature gate is off. A value that the stored object has in that field, in any item, stays valid.",
};
