//! The tag `union_discriminator`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "union_discriminator",
    variant: "UnionDiscriminator",
    places: Place::STRING,
    payload: Payload::OptionalText,
    chained: false,
    excludes: &["union_discriminator"],
    origin: "union",
    published: "x-kubernetes-unions",
    upstream: "+k8s:unionDiscriminator",
    example: "union_discriminator or union_discriminator = \"u\"",
    doc: "The field names the member of the union that is set.",
};
