//! The tag `when_set`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_set",
    variant: "WhenSet",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Field,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_set(name)(required)",
    doc: "The rules in brackets hold while another field of the struct is set.",
};
