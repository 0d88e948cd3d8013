//! The tag `worded`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "worded",
    variant: "Worded",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Pairs,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "worded(invalid = \"must be odd\")(required)",
    doc: "When what follows fails, the error has this text and this kind: `required`, `invalid`, `forbidden`, `unshown` (invalid, as if it were empty), `valueless` (invalid, without a value), or with `detail` as the kind that it is; `shown` is what stands in the value's stead.",
};
