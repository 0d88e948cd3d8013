//! The tag `error_path`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "error_path",
    variant: "ErrorPath",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Way,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "error_path(\"../name\")(required)",
    doc: "What follows is validated here, and its errors are reported at another path, to which the way goes up from here, and down by names.",
};
