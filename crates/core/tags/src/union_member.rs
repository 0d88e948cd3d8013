//! The tag `union_member`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "union_member",
    variant: "UnionMember",
    places: Place::ANY,
    payload: Payload::Member,
    chained: false,
    excludes: &["zero_or_one_of"],
    origin: "union",
    published: "x-kubernetes-unions",
    upstream: "+k8s:unionMember",
    example: "union_member or union_member(union = \"u\", value = \"V\")",
    doc: "Of the fields with this tag exactly one must be set; with a discriminator, the one that it names. `union = \"..\"` keeps several unions of a struct apart, `value = \"..\"` is the discriminator's value when it is not the field's name with a capital.",
};
