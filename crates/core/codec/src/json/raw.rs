//! Raw JSON: text in an object that is kept as it was written, including whitespace and the spelling of numbers.
//! Guarantees valid JSON that is no deeper than a tree may be, because it was scanned when it was decoded.
//! Must only be parsed for code that looks inside, because parsing loses its spelling.

use super::any::{self, IgnoreDuplicateKeys, Spelled};
use super::encode::{Escape, write};
use super::scan::{Scanner, Start, behind_string};
use crate::error::DecodeError;
use pintle_schema::{Str, Value};
use std::borrow::Cow;

/// Takes the next value as it is written; null is not kept raw.
pub(crate) fn value(scanner: &mut Scanner<'_>) -> Result<Value, DecodeError> {
    match scanner.start()? {
        Start::Null => scanner.word(Start::Null).map(|()| Value::Null),
        _ => scanner.raw().map(|text| Value::Raw(Str::new(text))),
    }
}

/// Takes a field set, which is kept as text that this program wrote, because it is large and rarely inspected. An
/// empty one is an ordinary value.
pub(crate) fn fields(scanner: &mut Scanner<'_>, trusted: bool) -> Result<Value, DecodeError> {
    if !trusted || scanner.start()? != Start::Object {
        return any::value(scanner, &mut IgnoreDuplicateKeys).map(fields_of);
    }
    Ok(match scanner.raw_trusted()? {
        "{}" => Value::map(),
        text => Value::Raw(Str::new(text)),
    })
}

/// The same for a tree.
pub(crate) fn fields_of(value: Value) -> Value {
    match &value {
        Value::Map(map) if !map.is_empty() => written(&value),
        _ => value,
    }
}

/// The tree of a text.
fn tree(text: &str) -> Value {
    any::value(&mut Scanner::new(text), &mut IgnoreDuplicateKeys).unwrap_or_default()
}

/// Parses raw JSON to a tree; returns any other value unchanged.
pub fn open(value: &mut Value) {
    if let Value::Raw(text) = value {
        *value = tree(text);
    }
}

/// [`open`] for code that changes the content and encodes it again: numbers whose spelling is not canonical remain
/// raw.
pub fn open_spelled(value: &mut Value) {
    if let Value::Raw(text) = value {
        *value = any::value(&mut Scanner::new(text), &mut Spelled(IgnoreDuplicateKeys)).unwrap_or_default();
    }
}

/// The nesting depth of raw JSON.
pub fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut deepest) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = behind_string(bytes, at).unwrap_or(bytes.len()),
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Parses all raw JSON in a tree.
pub(crate) fn open_all(value: &mut Value) {
    open(value);
    match value {
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| open_all(item)),
        Value::List(items) => items.iter_mut().for_each(open_all),
        _ => {}
    }
}

/// [`open`] for a value that is not changed.
pub fn opened(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Raw(text) => Cow::Owned(tree(text)),
        value => Cow::Borrowed(value),
    }
}

/// The text of a value that was a tree, as kube-apiserver writes it: keys sorted, numbers encoded again.
pub(crate) fn respelled(mut value: Value) -> Value {
    open(&mut value);
    written(&sorted(value))
}

/// The text of a value, which is kept if it is raw.
pub(crate) fn written(value: &Value) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let mut text = Vec::new();
    write(value, Escape::Html, &mut text);
    Value::Raw(Str::from(String::from_utf8(text).unwrap_or_default()))
}

/// The value with the keys of all its maps sorted.
pub(crate) fn sorted(mut value: Value) -> Value {
    sort(&mut value);
    value
}

fn sort(value: &mut Value) {
    match value {
        Value::Map(map) => {
            let entries = map.entries_mut();
            if !entries.is_sorted_by(|(a, _), (b, _)| a <= b) {
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            entries.iter_mut().for_each(|(_, item)| sort(item));
        }
        Value::List(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

/// Appends JSON without whitespace, and with HTML characters escaped.
pub(crate) fn compact(text: &[u8], out: &mut Vec<u8>) {
    // Usually there is nothing to do.
    let minds = |byte: u8| byte <= b' ' || matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    if !text.iter().fold(false, |found, byte| found | minds(*byte)) {
        out.extend_from_slice(text);
        return;
    }
    let mut in_string = false;
    // The beginning of the part that can be copied.
    let mut from = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let (length, instead): (usize, &[u8]) = match byte {
            b'\\' => {
                // An escaped character is copied.
                at += 2;
                continue;
            }
            b'"' => {
                in_string = !in_string;
                at += 1;
                continue;
            }
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => (1, b""),
            b'<' => (1, b"\\u003c"),
            b'>' => (1, b"\\u003e"),
            b'&' => (1, b"\\u0026"),
            0xe2 if text[at..].starts_with("\u{2028}".as_bytes()) => (3, b"\\u2028"),
            0xe2 if text[at..].starts_with("\u{2029}".as_bytes()) => (3, b"\\u2029"),
            _ => {
                at += 1;
                continue;
            }
        };
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(instead);
        at += length;
        from = at;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn compact_text_keeps_its_spelling() {
        let rows = [
            ("{ }", "{}"),
            ("[1.0, 1e3 ,\n\t12345678901234567890]", "[1.0,1e3,12345678901234567890]"),
            (r#"{"a b" : "c  \" d", "b":"\\" }"#, r#"{"a b":"c  \" d","b":"\\"}"#),
            (r#""<&>\u003c""#, r#""\u003c\u0026\u003e\u003c""#),
            ("\"\u{2028}\u{2029}\u{2030}\"", "\"\\u2028\\u2029\u{2030}\""),
        ];
        for (text, expected) in rows {
            let mut out = Vec::new();
            compact(text.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
            let mut again = Vec::new();
            compact(&out, &mut again);
            assert_eq!(again, out, "twice");
        }
    }

    #[test]
    fn raw_text_is_as_deep_as_its_brackets() {
        for (text, expected) in [("1", 0), ("[]", 1), (r#"{"a[{":[{},"]\"[[["]}"#, 3), (r#"[[],[[]],"["#, 3), ("]]", 0)]
        {
            assert_eq!(depth(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_a_tree_is_spelled_anew() {
        let raw = |text: &str| Value::Raw(Str::new(text));
        for value in [
            raw("{\"b\": 1.0, \"a\": [1e2, 9223372036854775808] }"),
            value!({"b": 1, "a": [1e2, 9223372036854775808.0]}),
        ] {
            assert_eq!(respelled(value), raw("{\"a\":[100,9223372036854776000],\"b\":1}"));
        }
        assert_eq!(respelled(Value::Null), Value::Null);
        assert_eq!(written(&raw("{ \"b\": 1.0, \"a\": 1}")), raw("{\"b\":1.0,\"a\":1}"));
    }
}
