//! The tag `when_unset`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_unset",
    variant: "WhenUnset",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Field,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_unset(name)(required)",
    doc: "The rules in brackets hold while another field of the struct is not set.",
};
