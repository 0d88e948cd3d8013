//! The tag `told_at`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "told_at",
    variant: "ToldAt",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Way,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "told_at(\"../name\")(required)",
    doc: "What follows is judged here and told of another place, to which the way goes up from here, and down by names.",
};
