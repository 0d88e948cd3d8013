//! The tag `when`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when",
    variant: "When",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Pairs,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when(type = \"A|B\")(required)",
    doc: "The rules in brackets hold while other fields of the struct have these values: `|` separates alternatives, an empty text means unset. A list counts as its only item, a struct as its only field. On a struct, its own fields are meant.",
};
