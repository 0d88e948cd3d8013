//! The tag `immutable`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "immutable",
    variant: "Immutable",
    places: Place::ANY,
    payload: Payload::None,
    chained: false,
    excludes: &["update"],
    origin: "immutable",
    published: "x-kubernetes-validations",
    upstream: "+k8s:immutable",
    example: "immutable",
    doc: "An update must leave the value as it is.",
};
