//! The block style of YAML, written directly. Guarantees the emitter's layout: scalars whose form it takes the emitter to know (long
//! lines, several lines, escapes) are left to it, each in its own place. Must never decide where a long line is broken.

use super::emit::{Keyed, emit, is_plain, mapping, number_text, sorted, string, write};
use crate::json::opened;
use libyaml_safer::{Emitter, Event, MappingStyle, Result, SequenceStyle};
use pintle_schema::{Str, Value};

/// Lines may be broken at the first space after so many columns.
const WIDTH: usize = 80;
/// Longer keys are written in another form.
const KEY_BYTES: usize = 128;
/// Spaces by which the content of a mapping is indented.
const INDENT: usize = 2;

/// Appends the entries of a mapping that is not empty, in their order. The first may be on a line that has begun.
pub(super) fn entries(entries: &[Keyed<'_>], indent: usize, mut has_begun: bool, out: &mut Vec<u8>) {
    for (key, value) in entries {
        if !std::mem::take(&mut has_begun) {
            spaces(indent, out);
        }
        let start = out.len();
        if put_key(key, out) && put_value(value, indent, indent + (out.len() - start), out) {
            continue;
        }
        out.truncate(start);
        let text = nested(indent / INDENT, |emitter| mapping(emitter, &[(*key, *value)]));
        append(&text, indent, out);
    }
}

/// Appends the items of a sequence that is not empty. The first may be on a line that has begun.
pub(super) fn items(items: &[Value], indent: usize, mut has_begun: bool, out: &mut Vec<u8>) {
    for item in items {
        if !std::mem::take(&mut has_begun) {
            spaces(indent, out);
        }
        let start = out.len();
        out.push(b'-');
        if put_item(item, indent, out) {
            continue;
        }
        out.truncate(start);
        // The items of a sequence in a mapping are indented like the mapping.
        let text = nested(indent / INDENT, |emitter| {
            emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
            string(emitter, OUTER)?;
            emitter.emit(Event::sequence_start(None, None, true, SequenceStyle::Block))?;
            write(emitter, item)?;
            emitter.emit(Event::sequence_end())?;
            emitter.emit(Event::mapping_end())
        });
        let text = text.get(line(&text)..).unwrap_or_default();
        append(text, indent, out);
    }
}

/// Appends a scalar or an empty collection that is a document of its own. Returns whether it did.
pub(super) fn scalar(value: &Value, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let is_written = !matches!(value, Value::Raw(_)) && put_scalar(value, 0, out);
    if is_written {
        // Nothing is before it on its line.
        out.remove(start);
    } else {
        out.truncate(start);
    }
    is_written
}

/// Appends the value behind a key. Returns whether it did.
fn put_value(value: &Value, indent: usize, column: usize, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Map(map) if !map.is_empty() => {
            out.push(b'\n');
            entries(&sorted(map), indent + INDENT, false, out);
        }
        Value::List(list) if !list.is_empty() => {
            out.push(b'\n');
            items(list, indent, false, out);
        }
        Value::Raw(_) => return put_value(&opened(value), indent, column, out),
        value => return put_scalar(value, column, out),
    }
    true
}

/// Appends an item behind its dash. Returns whether it did.
fn put_item(item: &Value, indent: usize, out: &mut Vec<u8>) -> bool {
    match item {
        Value::Map(map) if !map.is_empty() => {
            out.push(b' ');
            entries(&sorted(map), indent + INDENT, true, out);
        }
        Value::List(list) if !list.is_empty() => {
            out.push(b' ');
            items(list, indent + INDENT, true, out);
        }
        Value::Raw(_) => return put_item(&opened(item), indent, out),
        item => return put_scalar(item, indent + 1, out),
    }
    true
}

/// Appends a space, a scalar or an empty collection, and the end of the line. Returns whether it did.
fn put_scalar(value: &Value, column: usize, out: &mut Vec<u8>) -> bool {
    out.push(b' ');
    match value {
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(int) => out.extend_from_slice(int.to_string().as_bytes()),
        Value::Float(float) => out.extend_from_slice(number_text(*float).as_bytes()),
        Value::Map(_) => out.extend_from_slice(b"{}"),
        Value::List(_) => out.extend_from_slice(b"[]"),
        Value::String(text) => {
            let Some(style) = Style::of(text) else { return false };
            if text.len() + column + 3 > WIDTH && text.contains(' ') {
                return false;
            }
            style.put(text, out);
        }
        Value::Null | Value::Raw(_) => out.extend_from_slice(b"null"),
    }
    out.push(b'\n');
    true
}

/// Appends a key with its colon. Returns whether it did.
fn put_key(key: &Str, out: &mut Vec<u8>) -> bool {
    let Some(style) = Style::of(key).filter(|_| key.len() <= KEY_BYTES && !key.is_empty()) else { return false };
    style.put(key, out);
    out.push(b':');
    true
}

/// How a text on one line is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
}

impl Style {
    /// The style of a text of printable ASCII characters.
    fn of(text: &str) -> Option<Style> {
        let bytes = text.as_bytes();
        // Whether it has more than letters, digits and what never has a meaning.
        let mut has_others = false;
        for byte in bytes {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'/' | b'.' => {}
                b' '..=b'~' => has_others = true,
                _ => return None,
            }
        }
        if !is_plain(text) {
            let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\');
            return (!has_others || !bytes.iter().any(is_escaped)).then_some(Style::Double);
        }
        if !has_others && !text.starts_with("...") {
            return Some(Style::Plain);
        }
        if has_meaning(bytes) { Some(Style::Single) } else { Some(Style::Plain) }
    }

    fn put(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Style::Plain => out.extend_from_slice(text.as_bytes()),
            Style::Double => {
                out.push(b'"');
                out.extend_from_slice(text.as_bytes());
                out.push(b'"');
            }
            Style::Single => {
                out.push(b'\'');
                for byte in text.bytes() {
                    if byte == b'\'' {
                        out.push(b'\'');
                    }
                    out.push(byte);
                }
                out.push(b'\'');
            }
        }
    }
}

/// Whether a text would be read as something else without quotes.
fn has_meaning(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    let is_space_at = |at: usize| text.get(at).is_none_or(|byte| *byte == b' ');
    let begins = match first {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
        | b'`' | b' ' => true,
        b'?' | b':' | b'-' => is_space_at(1),
        _ => false,
    };
    let is_marked = |(at, byte): (usize, &u8)| match byte {
        b':' => is_space_at(at + 1),
        b'#' => at > 0 && is_space_at(at - 1),
        _ => false,
    };
    begins
        || *last == b' '
        || text.starts_with(b"---")
        || text.starts_with(b"...")
        || text.iter().enumerate().any(is_marked)
}

/// The key of mappings that are there for their indentation.
const OUTER: &str = "a";

/// What the emitter writes within so many mappings, without their lines.
fn nested(depth: usize, write: impl FnOnce(&mut Emitter<'_>) -> Result<()>) -> Vec<u8> {
    let mut text = emit(|emitter| {
        for _ in 0..depth {
            emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
            string(emitter, OUTER)?;
        }
        write(emitter)?;
        (0..depth).try_for_each(|_| emitter.emit(Event::mapping_end()))
    });
    let lines = (0..depth).fold(0, |at, _| at + line(text.get(at..).unwrap_or_default()));
    text.drain(..lines);
    text
}

/// The length of the first line.
fn line(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}

/// Appends text behind the spaces with which it begins, too.
fn append(text: &[u8], indent: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(text.get(indent..).unwrap_or_default());
}

fn spaces(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::Map;

    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    const PARTS: &[&str] = &[
        "a",
        "yes",
        "null",
        "1",
        "0777",
        "12:30",
        "<<",
        ": ",
        ":",
        "- ",
        "-",
        "---",
        "...",
        "#",
        " #",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&",
        "*",
        "!",
        "|",
        ">",
        "'",
        "\"",
        "%",
        "@",
        "`",
        "?",
        "? ",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\r",
        "\u{1}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "\u{1f600}",
        "~",
        "\\",
        "=",
        "kubernetes.io/name",
        "a text of some words ",
        "2024-01-02",
        "2024-01-02T03:04:05Z",
        "{\"a\":\"b\"}",
        "x\ny",
        "\u{7f}",
        "a-very-long-word-without-any-spaces-that-is-longer-than-the-width-of-a-line-in-every-case-whatever-stands-before-it",
    ];

    fn text(numbers: &mut Numbers) -> String {
        let parts = [0, 1, 1, 1, 1, 2, 2, 3, 6, 12][numbers.below(10)];
        (0..parts).map(|_| PARTS[numbers.below(PARTS.len())]).collect()
    }

    fn value(numbers: &mut Numbers, depth: usize) -> Value {
        match numbers.below(if depth == 0 { 8 } else { 14 }) {
            0 => Value::Null,
            1 => Value::Bool(numbers.below(2) == 0),
            2 => Value::Int(numbers.below(2000) as i64 - 1000),
            3 => Value::Float(numbers.below(2000) as f64 / 64.0),
            4..8 => text(numbers).into(),
            8 => Value::Raw(Str::new("{\"b\": [1, {\"a\":\"x y\"}], \"a\": []}")),
            9..11 => Value::List((0..numbers.below(4)).map(|_| value(numbers, depth - 1)).collect()),
            _ => {
                let mut map = Map::new();
                for _ in 0..numbers.below(5) {
                    map.set(text(numbers), value(numbers, depth - 1));
                }
                Value::Map(map)
            }
        }
    }

    #[test]
    fn the_layout_is_the_emitters() {
        let mut numbers = Numbers(1);
        for round in 0..6_000 {
            let value = value(&mut numbers, round % 7);
            let expected = emit(|emitter| write(emitter, &value));
            let written = super::super::emit::document(&value);
            assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&expected), "{round}: {value:?}");
        }
    }

    #[test]
    fn usual_texts_are_written_directly() {
        for (text, style) in [
            ("nginx:1.25", Some(Style::Plain)),
            ("a b", Some(Style::Plain)),
            ("kubernetes.io/x", Some(Style::Plain)),
            ("-v=2", Some(Style::Plain)),
            ("{\"a\":1}", Some(Style::Single)),
            ("a: b", Some(Style::Single)),
            ("100", Some(Style::Double)),
            ("", Some(Style::Double)),
            ("2024-01-02T03:04:05Z", Some(Style::Double)),
            ("a\nb", None),
            ("é", None),
        ] {
            assert!(Style::of(text) == style, "{text}");
        }
    }
}
