//! The tag `fixed`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "fixed",
    variant: "Fixed",
    places: Place::ANY,
    payload: Payload::Detail,
    chained: false,
    excludes: &[],
    origin: "immutable",
    published: "",
    upstream: "",
    example: "fixed or fixed = \"may not change\"",
    doc: "An update must not change the value; its other rules run all the same.",
};
