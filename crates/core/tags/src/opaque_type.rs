//! The tag `opaque_type`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "opaque_type",
    variant: "Opaque",
    places: Place::ANY,
    payload: Payload::None,
    chained: false,
    excludes: &["opaque_type"],
    origin: "",
    published: "",
    upstream: "+k8s:opaqueType",
    example: "opaque_type",
    doc: "The rules of the field's type do not hold here.",
};
