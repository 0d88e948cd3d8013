//! `FieldsV1`: the JSON form of a field set, as managed fields are stored and shown.
//!
//! Written in canonical order; read in any. Steps of a kind that is not known are dropped with what lies below them,
//! malformed ones are errors.

use crate::field_set::{Entry, FieldSet};
use crate::path_element::{KeyFields, PathElement};
use pintle_codec::{Strictness, json};
use pintle_schema::{Map, Str, Value};
use std::fmt;

/// The key that makes the object it stands in a member itself.
const SELF: &str = ".";

/// Why something is no `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldsV1Error {
    /// It is not JSON.
    Json(String),
    /// An object was expected; this kind of value came.
    NotAnObject(&'static str),
    /// A key is shorter than its prefix.
    TooShort(String),
    /// A key's prefix has no colon.
    MissingColon(String),
    /// What follows a known prefix cannot be read.
    Malformed(String),
}

impl fmt::Display for FieldsV1Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldsV1Error::Json(why) => f.write_str(why),
            FieldsV1Error::NotAnObject(kind) => write!(f, "expected an object, found {kind}"),
            FieldsV1Error::TooShort(key) => {
                write!(f, "parsing key as path element: key must be 2 characters long: {key}")
            }
            FieldsV1Error::MissingColon(key) => write!(f, "parsing key as path element: missing colon: {key}"),
            FieldsV1Error::Malformed(key) => write!(f, "parsing key as path element: malformed {key}"),
        }
    }
}

impl std::error::Error for FieldsV1Error {}

impl FieldSet {
    /// Reads the JSON tree of a `FieldsV1`; `null` is the empty set.
    ///
    /// # Errors
    /// A key or its value is malformed.
    pub fn from_v1(value: &Value) -> Result<FieldSet, FieldsV1Error> {
        read_level(value).map(|(set, _)| set)
    }

    /// Reads the JSON text of a `FieldsV1`.
    ///
    /// # Errors
    /// It is not JSON, or no `FieldsV1`.
    pub fn from_v1_bytes(text: &[u8]) -> Result<FieldSet, FieldsV1Error> {
        let decoded = json::parse(text, Strictness::Ignore).map_err(|error| FieldsV1Error::Json(error.to_string()))?;
        FieldSet::from_v1(&decoded.value)
    }

    /// The JSON tree, keys in canonical order.
    pub fn to_v1(&self) -> Value {
        level(self, false, &mut Vec::new())
    }

    /// Appends the JSON text.
    pub fn write_v1(&self, out: &mut Vec<u8>) {
        write_level(self, false, &mut Vec::new(), out);
    }
}

/// Whether a JSON tree is what [`FieldSet::to_v1`] gives of a set.
pub(crate) fn is_v1_of(value: &Value, set: &FieldSet) -> bool {
    is_level_of(value, set, false, &mut Vec::new())
}

fn is_level_of(value: &Value, set: &FieldSet, is_member: bool, text: &mut Vec<u8>) -> bool {
    let Value::Map(map) = value else { return false };
    let with_self = is_member && !set.is_empty();
    let mut below = map.iter();
    if map.len() != set.entries().len() + usize::from(with_self)
        || with_self && below.next().is_none_or(|(key, value)| key != SELF || !value.is_zero())
    {
        return false;
    }
    below.zip(set.entries()).all(|((key, value), entry)| {
        names(key, &entry.element, text) && is_level_of(value, &entry.children, entry.is_member, text)
    })
}

/// Whether a JSON tree that [`FieldSet::to_v1`] gave has members of a set.
pub(crate) fn v1_meets(value: &Value, set: &FieldSet) -> bool {
    meets(value, set, &mut Vec::new())
}

fn meets(value: &Value, set: &FieldSet, text: &mut Vec<u8>) -> bool {
    let Value::Map(map) = value else { return false };
    set.entries().iter().any(|entry| {
        let Some((_, below)) = map.iter().find(|(key, _)| names(key, &entry.element, text)) else { return false };
        let is_member = || below.is_zero() || below.get(SELF).is_some();
        entry.is_member && is_member() || meets(below, &entry.children, text)
    })
}

/// Whether a key is the one that stands for an element.
fn names(key: &Str, element: &PathElement, text: &mut Vec<u8>) -> bool {
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

/// The set below, and whether the path that leads here is a member: told by `.`, and when there is nothing below.
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

/// A set of entries in any order; different keys may have named the same element.
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

/// The element a key stands for; `None` for a kind that is not known.
fn element_of(key: &Str) -> Result<Option<PathElement>, FieldsV1Error> {
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

fn level(set: &FieldSet, is_member: bool, text: &mut Vec<u8>) -> Value {
    let mut map = Map::with_capacity(set.entries().len() + usize::from(is_member && !set.is_empty()));
    if is_member && !set.is_empty() {
        map.push(Str::new_static(SELF), Value::map());
    }
    for entry in set.entries() {
        text.clear();
        write_element(&entry.element, text);
        let key = Str::new(std::str::from_utf8(text).unwrap_or_default());
        map.push(key, level(&entry.children, entry.is_member, text));
    }
    Value::Map(map)
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

/// The key that stands for an element, before it is quoted.
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
    fn a_tree_is_compared_with_sets_without_reading_it() {
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
        }
    }
}
