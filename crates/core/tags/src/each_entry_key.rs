//! The tag `each_entry_key`.

use crate::{Payload, Place, Tag};

pub static TAG: Tag = Tag {
    name: "each_entry_key",
    variant: "EachEntryKey",
    places: Place::MAP,
    payload: Payload::None,
    chained: true,
    excludes: &[],
    origin: "",
    published: "",
    upstream: "",
    example: "each_entry_key(format = \"config-map-key\")",
    doc: "What follows holds for each key of the map, and errors are reported at the entry that has the key.",
};
