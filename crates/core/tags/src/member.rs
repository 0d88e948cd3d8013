//! The tag `member`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "member",
    variant: "Member",
    places: Place::ANY,
    payload: Payload::Member,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "+k8s:member",
    example: "member(value = \"V\")(required)",
    doc: "The rules in brackets hold while the discriminator has this value; with a value that no `member` of the field names, the field is forbidden.",
};
