//! The tag `message`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "message",
    variant: "Message",
    places: Place::ANY_OR_TYPE,
    payload: Payload::Pairs,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "message(invalid = \"must be odd\")(required)",
    doc: "Errors of the rules in brackets have this text as their detail, and this kind: `required`, `invalid`, `forbidden`, or with `detail` their own. `value` is shown instead of the value.",
};
