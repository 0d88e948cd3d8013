//! The tag `beta`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "beta",
    variant: "Beta",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Since,
    chained: true,
    excludes: &["alpha"],
    origin: "",
    published: "",
    upstream: "+k8s:beta",
    example: "beta(\"1.36\")(required)",
    doc: "The rules in brackets are enforced while the gate DeclarativeValidationBeta is on; otherwise they run in the shadow.",
};
