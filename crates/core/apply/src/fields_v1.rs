//! `FieldsV1`: the JSON form of a field set, as stored and served in managed fields.
//! Guarantees canonical order when written; any order is read. Must never fail on elements of an unknown kind, which
//! are dropped with everything below them; malformed ones are errors.

use crate::field_set::{Entry, FieldSet};
use crate::path_element::{KeyFields, PathElement};
use pintle_codec::json::Members;
use pintle_codec::{Strictness, json};
use pintle_schema::{Str, Value};
use std::borrow::Cow;

/// The key that makes its object a member itself.
const SELF: &str = ".";

/// Why a value is not a `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsV1Error {
    /// It is not JSON.
    #[error("{0}")]
    Json(String),
    /// A value of this kind instead of an object.
    #[error("expected an object, found {0}")]
    NotAnObject(&'static str),
    /// A key is shorter than its prefix.
    #[error("parsing key as path element: key must be 2 characters long: {0}")]
    TooShort(String),
    /// A key's prefix has no colon.
    #[error("parsing key as path element: missing colon: {0}")]
    MissingColon(String),
    /// The text after a known prefix is invalid.
    #[error("parsing key as path element: malformed {0}")]
    Malformed(String),
}

impl FieldSet {
    /// Parses the JSON of a `FieldsV1`, a tree or raw; `null` is the empty set.
    ///
    /// # Errors
    /// A key or its value is malformed.
    pub fn from_v1(value: &Value) -> Result<FieldSet, FieldsV1Error> {
        match value {
            Value::Raw(text) => match read_raw(&mut Members::of(text)) {
                Some((set, _)) => Ok(set),
                // Parsing it as a tree reports the error.
                None => FieldSet::from_v1_bytes(text.as_bytes()),
            },
            value => read_level(value).map(|(set, _)| set),
        }
    }

    /// Parses the JSON text of a `FieldsV1`.
    ///
    /// # Errors
    /// It is not JSON, or not a `FieldsV1`.
    pub fn from_v1_bytes(text: &[u8]) -> Result<FieldSet, FieldsV1Error> {
        let decoded = json::parse(text, Strictness::Ignore).map_err(|error| FieldsV1Error::Json(error.to_string()))?;
        FieldSet::from_v1(&decoded.value)
    }

    /// The JSON in the form of decoding, keys in canonical order: raw, unless the set is empty.
    pub fn to_v1(&self) -> Value {
        if self.is_empty() {
            return Value::map();
        }
        let mut text = Vec::with_capacity(256);
        self.write_v1(&mut text);
        Value::Raw(Str::from(String::from_utf8(text).unwrap_or_default()))
    }

    /// Appends the JSON text.
    pub fn write_v1(&self, out: &mut Vec<u8>) {
        write_level(self, false, &mut Vec::new(), out);
    }
}

/// Whether a value is the output of [`FieldSet::to_v1`] for a set.
pub(crate) fn is_v1_of(value: &Value, set: &FieldSet) -> bool {
    let mut text = Vec::with_capacity(256);
    set.write_v1(&mut text);
    text_of(value).as_bytes() == text
}

/// The text of JSON that is a tree or raw.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Raw(text) => Cow::Borrowed(text),
        value => Cow::Owned(json::to_string(value)),
    }
}

/// Whether the output of [`FieldSet::to_v1`] contains members of a set.
pub(crate) fn v1_meets(value: &Value, set: &FieldSet) -> bool {
    !set.is_empty() && meets(&mut Members::of(&text_of(value)), set, false, &mut Vec::new()).0
}

/// Whether the next object contains members of a set; and, if requested, whether it is a member itself. Reads no more
/// than needed.
fn meets(members: &mut Members<'_>, set: &FieldSet, asks_self: bool, text: &mut Vec<u8>) -> (bool, bool) {
    if !members.enter() {
        return (false, true);
    }
    let (mut is_empty, mut has_self, mut left) = (true, false, set.entries().len());
    let depth = members.depth();
    while left > 0 || asks_self && !has_self {
        members.leave(depth);
        let Some(key) = members.key() else { break };
        is_empty = false;
        has_self |= key.written() == SELF;
        let key = key.text();
        let entry = set.entries().iter().find(|entry| names(&key, &entry.element, text));
        let Some(entry) = entry else {
            members.pass();
            continue;
        };
        left = left.saturating_sub(1);
        let (meets, is_member) = meets(members, &entry.children, entry.is_member, text);
        if meets || is_member && entry.is_member {
            return (true, false);
        }
    }
    (false, is_empty || has_self)
}

/// Whether the output of [`FieldSet::to_v1`] contains all members of a set. Keys in another order may be treated as
/// different ones.
pub(crate) fn v1_covers(value: &Value, set: &FieldSet) -> bool {
    set.is_empty() || covers(&mut Members::of(&text_of(value)), set, false, &mut Vec::new())
}

/// Whether the next object contains all members of a set; and, if requested, whether it is a member itself.
fn covers(members: &mut Members<'_>, set: &FieldSet, asks_self: bool, text: &mut Vec<u8>) -> bool {
    if !members.enter() {
        return set.is_empty();
    }
    let (mut is_empty, mut has_self) = (true, false);
    let mut rest = set.entries();
    let depth = members.depth();
    while !rest.is_empty() || asks_self && !has_self {
        members.leave(depth);
        let Some(key) = members.key() else { break };
        is_empty = false;
        has_self |= key.written() == SELF;
        match rest.split_first() {
            Some((entry, others)) if names(&key.text(), &entry.element, text) => {
                if !covers(members, &entry.children, entry.is_member, text) {
                    return false;
                }
                rest = others;
            }
            _ => members.pass(),
        }
    }
    rest.is_empty() && (!asks_self || has_self || is_empty)
}

/// Whether a key encodes an element.
fn names(key: &str, element: &PathElement, text: &mut Vec<u8>) -> bool {
    match element {
        PathElement::Field(name) => key.strip_prefix("f:") == Some(name),
        _ if key.starts_with("f:") => false,
        element => {
            text.clear();
            write_element(element, text);
            key.as_bytes() == text
        }
    }
}

/// The set below, and whether its path is a member: marked by `.`, or if there is nothing below.
fn read_level(value: &Value) -> Result<(FieldSet, bool), FieldsV1Error> {
    let map = match value {
        Value::Map(map) => map,
        Value::Null => return Ok((FieldSet::new(), true)),
        other => return Err(FieldsV1Error::NotAnObject(other.json_kind())),
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(map.len());
    let mut is_member = false;
    for (key, below) in map.iter() {
        if key == SELF {
            is_member = true;
            continue;
        }
        let Some(element) = element_of(key)? else { continue };
        let (children, is_member) = read_level(below)?;
        entries.push(Entry { element, is_member, children });
    }
    is_member |= entries.is_empty();
    Ok((unite(entries), is_member))
}

/// [`read_level`] of the next text, without a tree; `None` if it is invalid.
fn read_raw(members: &mut Members<'_>) -> Option<(FieldSet, bool)> {
    if members.pass_empty() {
        return Some((FieldSet::new(), true));
    }
    if !members.enter() {
        return None;
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut is_member = false;
    while let Some(key) = members.key() {
        if key.written() == SELF {
            is_member = true;
            members.pass();
        } else if let Some(element) = element_of(&key.text()).ok()? {
            let (children, is_member) = read_raw(members)?;
            entries.push(Entry { element, is_member, children });
        } else {
            members.pass();
        }
    }
    is_member |= entries.is_empty();
    Some((unite(entries), is_member))
}

/// A set of entries in any order; different keys may encode the same element.
fn unite(mut entries: Vec<Entry>) -> FieldSet {
    if !entries.is_sorted_by(|a, b| a.element < b.element) {
        entries.sort_by(|a, b| a.element.cmp(&b.element));
        entries.dedup_by(|next, kept| {
            let is_same = next.element == kept.element;
            if is_same {
                kept.is_member |= next.is_member;
                kept.children = kept.children.union(&next.children);
            }
            is_same
        });
    }
    FieldSet::from_entries(entries)
}

/// The element of a key; `None` for an unknown kind.
fn element_of(key: &str) -> Result<Option<PathElement>, FieldsV1Error> {
    let bytes = key.as_bytes();
    let (Some(kind), Some(colon)) = (bytes.first(), bytes.get(1)) else {
        return Err(FieldsV1Error::TooShort(key.to_string()));
    };
    if *colon != b':' {
        return Err(FieldsV1Error::MissingColon(key.to_string()));
    }
    let malformed = || FieldsV1Error::Malformed(key.to_string());
    let rest = key.get(2..).ok_or_else(malformed)?;
    let parsed = || json::parse(rest.as_bytes(), Strictness::Ignore).map(|decoded| decoded.value);
    Ok(Some(match kind {
        b'f' => PathElement::Field(Str::new(rest)),
        b'v' => PathElement::Value(parsed().map_err(|_| malformed())?),
        b'k' => match parsed() {
            Ok(Value::Map(map)) => PathElement::key(map.into_iter().collect()),
            Ok(Value::Null) => PathElement::key(KeyFields::new()),
            _ => return Err(malformed()),
        },
        b'i' => PathElement::Index(rest.parse().map_err(|_| malformed())?),
        _ => return Ok(None),
    }))
}

fn write_level(set: &FieldSet, is_member: bool, text: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    if is_member && !set.is_empty() {
        out.extend_from_slice(b"\".\":{}");
        first = false;
    }
    for entry in set.entries() {
        if !first {
            out.push(b',');
        }
        first = false;
        text.clear();
        write_element(&entry.element, text);
        json::encode_str(std::str::from_utf8(text).unwrap_or_default(), out);
        out.push(b':');
        write_level(&entry.children, entry.is_member, text, out);
    }
    out.push(b'}');
}

/// The key of an element, before it is quoted.
fn write_element(element: &PathElement, out: &mut Vec<u8>) {
    match element {
        PathElement::Field(name) => {
            out.extend_from_slice(b"f:");
            out.extend_from_slice(name.as_bytes());
        }
        PathElement::Key(fields) => {
            out.extend_from_slice(b"k:{");
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                json::encode_str(name, out);
                out.push(b':');
                json::encode(value, out);
            }
            out.push(b'}');
        }
        PathElement::Value(value) => {
            out.extend_from_slice(b"v:");
            json::encode(value, out);
        }
        PathElement::Index(at) => out.extend_from_slice(format!("i:{at}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, canonical: &str) {
        let set = FieldSet::from_v1_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut written = Vec::new();
        set.write_v1(&mut written);
        assert_eq!(String::from_utf8_lossy(&written), canonical, "{text}");
        assert_eq!(json::to_string(&set.to_v1()), canonical, "{text}");
        let tree = json::parse(text.as_bytes(), Strictness::Ignore).map(|decoded| decoded.value).unwrap_or_default();
        assert_eq!(FieldSet::from_v1(&tree).as_ref(), Ok(&set), "{text}");
        assert_eq!(FieldSet::from_v1(&Value::Raw(json::to_string(&tree).into())), Ok(set), "{text}");
    }

    #[test]
    fn sets_are_written_in_canonical_order() {
        check("{}", "{}");
        check("null", "{}");
        check(r#"{"f:b":{},"f:a":{"f:x":{}}}"#, r#"{"f:a":{"f:x":{}},"f:b":{}}"#);
        check(r#"{"f:a":{"f:x":{},".":{}}}"#, r#"{"f:a":{".":{},"f:x":{}}}"#);
        check(r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#);
        check(r#"{".":{},"f:a":{}}"#, r#"{"f:a":{}}"#);
        check(
            r#"{"v:\"x\"":{},"i:0":{},"k:{\"b\":1,\"a\":\"y\"}":{},"f:z":{}}"#,
            r#"{"f:z":{},"k:{\"a\":\"y\",\"b\":1}":{},"v:\"x\"":{},"i:0":{}}"#,
        );
        check(r#"{"f:a":{"f:x":{}},"f:a":{}}"#, r#"{"f:a":{}}"#);
        check(r#"{"v:1":{"f:b":{}},"v:1.0":{"f:a":{}}}"#, r#"{"v:1":{"f:a":{},"f:b":{}}}"#);
        check(r#"{"x:unknown":{"f:a":{}},"f:b":{}}"#, r#"{"f:b":{}}"#);
        check(r#"{"f:a":{"x:unknown":{}}}"#, r#"{"f:a":{}}"#);
        check(r#"{"f:":{},"f:a:b":{}}"#, r#"{"f:":{},"f:a:b":{}}"#);
    }

    #[test]
    fn what_is_stored_is_compared_with_sets_without_reading_it() {
        let texts = [
            "{}",
            r#"{"f:a":{}}"#,
            r#"{"f:a":{"f:b":{}}}"#,
            r#"{"f:a":{".":{},"f:b":{}}}"#,
            r#"{"f:a":{".":{},"f:c":{}}}"#,
            r#"{"f:a":{},"f:b":{}}"#,
            r#"{"k:{\"a\":\"y\"}":{".":{},"f:b":{}}}"#,
            r#"{"k:{\"a\":\"z\"}":{".":{},"f:b":{}}}"#,
            r#"{"v:1":{}}"#,
            r#"{"i:1":{}}"#,
        ];
        let sets = texts.map(|text| FieldSet::from_v1_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")));
        for (at, set) in sets.iter().enumerate() {
            for (other_at, other) in sets.iter().enumerate() {
                assert_eq!(is_v1_of(&other.to_v1(), set), at == other_at, "{set} and {other}");
                assert_eq!(v1_meets(&other.to_v1(), set), !other.intersection(set).is_empty(), "{set} and {other}");
                let covers = other.intersection(set) == *set;
                assert_eq!(v1_covers(&other.to_v1(), set), covers, "{set} and {other}");
            }
        }
    }

    #[test]
    fn what_is_no_field_set_is_refused() {
        let texts = [
            r#"{"a":{}}"#,
            r#"{"field":{}}"#,
            r#"{"i:x":{}}"#,
            r#"{"v:{":{}}"#,
            r#"{"v:1 2":{}}"#,
            r#"{"k:[]":{}}"#,
            r#"{"f:a":1}"#,
            "[]",
            "{",
        ];
        for text in texts {
            assert!(FieldSet::from_v1_bytes(text.as_bytes()).is_err(), "{text}");
            // Raw JSON is valid JSON.
            let is_json = json::parse(text.as_bytes(), Strictness::Ignore).is_ok();
            assert!(!is_json || FieldSet::from_v1(&Value::Raw(text.into())).is_err(), "{text}");
        }
    }
}
