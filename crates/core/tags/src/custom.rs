//! The tag `custom`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "custom",
    variant: "Custom",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Path,
    chained: false,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "+k8s:customUnique",
    example: "custom = path::to::function",
    doc: "A function that validates the value: `fn(RuleInput<'_>) -> Vec<Fault>`.",
};
