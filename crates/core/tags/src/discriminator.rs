//! The tag `discriminator`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "discriminator",
    variant: "Discriminator",
    places: Place::SCALAR,
    payload: Payload::OptionalText,
    chained: false,
    excludes: &["discriminator"],
    origin: "",
    published: "",
    upstream: "+k8s:discriminator",
    example: "discriminator or discriminator = \"u\"",
    doc: "The field's value selects which fields tagged `member` may be set, and their rules.",
};
