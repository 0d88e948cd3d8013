//! The tag `when_several`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_several",
    variant: "WhenSeveral",
    places: Place::LIST,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_several(each_val(required))",
    doc: "What follows holds while the list has more than one item, for items that did not change, too.",
};
