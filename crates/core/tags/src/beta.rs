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
    doc: "What follows is answered while the gate DeclarativeValidationBeta is on; otherwise it runs in the shadow.",
};
