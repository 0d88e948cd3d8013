//! The tag `when_several`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_several",
    variant: "WhenSeveral",
    places: Place::ANY,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_several(required)",
    doc: "Inside `each_val`: what follows holds while there are more items than one.",
};
