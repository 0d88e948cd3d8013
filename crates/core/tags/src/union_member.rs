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
    doc: "Exactly one of the fields with this tag must be set; with a discriminator, the one that it names. `union = \"..\"` distinguishes several unions of a struct; `value = \"..\"` is the discriminator's value if it is not the capitalized field name.",
};
