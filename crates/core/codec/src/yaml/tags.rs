//! The tags that have a meaning, and the handles that documents declare for them.
//! Guarantees that a long prefix is not copied for each tag that uses it.

use std::borrow::Cow;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tag {
    #[default]
    Absent,
    /// `!`: the value is a string.
    Exclaimed,
    Binary,
    Bool,
    Float,
    Int,
    Merge,
    Null,
    Timestamp,
    /// The value is a string.
    Other,
}

const PREFIX: &str = "tag:yaml.org,2002:";

/// The handles of a document.
#[derive(Default)]
pub(super) struct Tags<'t> {
    prefixes: HashMap<Cow<'t, str>, Cow<'t, str>>,
}

impl<'t> Tags<'t> {
    /// Declares a handle. Returns whether it was not declared yet.
    pub(super) fn declare(&mut self, handle: Cow<'t, str>, prefix: Cow<'t, str>) -> bool {
        self.prefixes.insert(handle, prefix).is_none()
    }

    /// The tag of a handle and a suffix; `None` if the handle is not declared.
    pub(super) fn find(&self, handle: &str, suffix: &str) -> Option<Tag> {
        let prefix = match (self.prefixes.get(handle), handle) {
            (Some(prefix), _) => prefix.as_ref(),
            (None, "" | "!") => handle,
            (None, "!!") => PREFIX,
            (None, _) => return None,
        };
        Some(known(prefix, suffix))
    }
}

/// The tag of which a text is the beginning and another one the rest.
fn known(prefix: &str, suffix: &str) -> Tag {
    const LONGEST: usize = PREFIX.len() + "timestamp".len();
    if prefix.len() + suffix.len() > LONGEST {
        return Tag::Other;
    }
    let tag = [prefix, suffix].concat();
    if tag == "!" {
        return Tag::Exclaimed;
    }
    match tag.strip_prefix(PREFIX) {
        Some("binary") => Tag::Binary,
        Some("bool") => Tag::Bool,
        Some("float") => Tag::Float,
        Some("int") => Tag::Int,
        Some("merge") => Tag::Merge,
        Some("null") => Tag::Null,
        Some("timestamp") => Tag::Timestamp,
        _ => Tag::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stand_for_their_prefixes() {
        let mut tags = Tags::default();
        assert!(tags.declare("!e!".into(), "tag:yaml.org,".into()));
        assert!(!tags.declare("!e!".into(), "tag:other,".into()) && tags.declare("!".into(), PREFIX.into()));
        let default = Tags::default();
        for (tags, handle, suffix, wanted) in [
            (&default, "!!", "int", Some(Tag::Int)),
            (&default, "!!", "timestamp", Some(Tag::Timestamp)),
            (&default, "!!", "str", Some(Tag::Other)),
            (&default, "!", "int", Some(Tag::Other)),
            (&default, "", "!", Some(Tag::Exclaimed)),
            (&default, "", "tag:yaml.org,2002:null", Some(Tag::Null)),
            (&default, "", "!!null", Some(Tag::Other)),
            (&default, "!e!", "int", None),
            (&tags, "!", "bool", Some(Tag::Bool)),
            (&tags, "", "!", Some(Tag::Exclaimed)),
        ] {
            assert_eq!(tags.find(handle, suffix), wanted, "{handle} {suffix}");
        }
    }
}
