//! The tag `never_falls`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "never_falls",
    variant: "NeverFalls",
    places: Place::INT,
    payload: Payload::Detail,
    chained: false,
    excludes: &[],
    origin: "neverFalls",
    published: "",
    upstream: "",
    example: "never_falls or never_falls = \"cannot be decremented\"",
    doc: "Updates must not make the number less, nor take it away.",
};
