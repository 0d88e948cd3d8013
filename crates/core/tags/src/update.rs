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
    doc: "Changes that an update must not make: `no_set` an unset value, `no_unset` a set one, `no_modify` its content.",
};
