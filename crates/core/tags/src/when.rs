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
    doc: "What follows holds while the fields beside this one have these values, `|` between those that will do, nothing for one that is not set. A list counts as its only item, a struct as its only field. On a struct, its own fields are meant.",
};
