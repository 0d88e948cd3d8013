//! The tag `when_cluster_wide`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "when_cluster_wide",
    variant: "WhenClusterWide",
    places: Place::ANY_OR_TYPE,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "when_cluster_wide(required)",
    doc: "What follows holds for objects in no namespace.",
};
