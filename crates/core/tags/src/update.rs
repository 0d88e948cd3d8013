//! The tag `update`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "update",
    variant: "Update",
    places: Place::ANY,
    payload: Payload::Changes,
    chained: false,
    excludes: &["immutable"],
    origin: "update",
    published: "x-kubernetes-validations",
    upstream: "+k8s:update",
    example: "update(no_set, no_unset, no_modify)",
    doc: "What an update must not do: `no_set` a value where none was, `no_unset` it, `no_modify` it.",
};
