//! The tag `immutable`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "immutable",
    variant: "Immutable",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: false,
    excludes: &["immutable", "update"],
    origin: "immutable",
    published: "x-kubernetes-validations",
    upstream: "+k8s:immutable",
    example: "immutable",
    doc: "An update must not change the value.",
};
