//! The tag `rule`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "rule",
    variant: "External",
    places: Place::ANY_OR_TYPE,
    payload: Payload::External,
    chained: false,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "rule(path::VALIDATOR) or rule(path::VALIDATOR, 5)",
    doc: "A validator of another crate: the path of a `static RuleFunction`, and its payload.",
};
