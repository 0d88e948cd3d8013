//! The tag `zero_or_one_of`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "zero_or_one_of",
    variant: "ZeroOrOneOf",
    places: Place::ANY,
    payload: Payload::Member,
    chained: false,
    excludes: &["union_member"],
    origin: "zeroOrOneOf",
    published: "",
    upstream: "+k8s:zeroOrOneOfMember",
    example: "zero_or_one_of or zero_or_one_of(union = \"u\", value = \"V\")",
    doc: "At most one of the fields with this tag may be set.",
};
