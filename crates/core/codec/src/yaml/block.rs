//! The YAML encoder: block style, as kube-apiserver writes it.
//! Guarantees that everything is written once, in order; the cost of a scalar does not depend on what it is in, apart from its
//! indentation, which is bounded: deeper collections are in flow style.

use super::ordered::{Entry, Node};
use super::text::{is_simple_key, put_key, put_quoted, put_value};
use crate::limits::MAX_INDENT;

/// Spaces by which the content of a mapping is indented.
const INDENT: usize = 2;

/// Appends the entries of a mapping that is not empty, in their order. The first may be on a line that has begun.
pub(super) fn entries(entries: &[Entry<'_>], indent: usize, mut has_begun: bool, out: &mut Vec<u8>) {
    for (key, value) in entries {
        if !std::mem::take(&mut has_begun) {
            spaces(indent, out);
        }
        if is_simple_key(key) {
            let column = put_key(key, indent, out);
            out.push(b':');
            put_entry(value, indent, column + 1, out);
        } else {
            out.extend_from_slice(b"? ");
            put_value(key, indent, indent + INDENT, out);
            spaces(indent, out);
            out.push(b':');
            put_item(value, indent, out);
        }
    }
}

/// Appends the items of a sequence that is not empty. The first may be on a line that has begun.
pub(super) fn items(items: &[Node<'_>], indent: usize, mut has_begun: bool, out: &mut Vec<u8>) {
    for item in items {
        if !std::mem::take(&mut has_begun) {
            spaces(indent, out);
        }
        out.push(b'-');
        put_item(item, indent, out);
    }
}

/// Appends the value behind a key that ends at a column.
fn put_entry(value: &Node<'_>, indent: usize, column: usize, out: &mut Vec<u8>) {
    match value {
        Node::Map(map) if !map.is_empty() && indent < MAX_INDENT => {
            out.push(b'\n');
            entries(map, indent + INDENT, false, out);
        }
        Node::List(list) if !list.is_empty() && indent < MAX_INDENT => {
            out.push(b'\n');
            items(list, indent, false, out);
        }
        value => {
            out.push(b' ');
            put_scalar(value, indent, column + 1, out);
        }
    }
}

/// Appends an item behind its dash, or a value behind a colon on a line of its own.
fn put_item(item: &Node<'_>, indent: usize, out: &mut Vec<u8>) {
    out.push(b' ');
    match item {
        Node::Map(map) if !map.is_empty() && indent < MAX_INDENT => entries(map, indent + INDENT, true, out),
        Node::List(list) if !list.is_empty() && indent < MAX_INDENT => items(list, indent + INDENT, true, out),
        item => put_scalar(item, indent, indent + INDENT, out),
    }
}

/// Appends a scalar, or a collection in flow style, and the end of the line.
pub(super) fn put_scalar(value: &Node<'_>, indent: usize, column: usize, out: &mut Vec<u8>) {
    if let Node::Text(text) = value {
        return put_value(text, indent, column, out);
    }
    put_flow(value, out);
    out.push(b'\n');
}

/// Appends a value on the line that has begun.
fn put_flow(value: &Node<'_>, out: &mut Vec<u8>) {
    match value {
        Node::Plain(text) => out.extend_from_slice(text.as_bytes()),
        Node::Text(text) => put_quoted(text, out),
        Node::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                separate(at, out);
                put_flow(item, out);
            }
            out.push(b']');
        }
        Node::Map(entries) => {
            out.push(b'{');
            for (at, (key, value)) in entries.iter().enumerate() {
                separate(at, out);
                if !is_simple_key(key) {
                    out.extend_from_slice(b"? ");
                }
                put_quoted(key, out);
                out.extend_from_slice(b": ");
                put_flow(value, out);
            }
            out.push(b'}');
        }
    }
}

fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.extend_from_slice(b", ");
    }
}

fn spaces(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

#[cfg(test)]
mod tests {
    use super::super::emit::document;
    use super::super::resolve::{Resolved, is_base_60, resolve};
    use super::*;
    use crate::json::opened;
    use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, Result, ScalarStyle, SequenceStyle};
    use pintle_schema::{Map, Str, Value};

    /// What libyaml's emitter writes.
    fn emitted(value: &Value) -> String {
        let mut out = Vec::new();
        let mut emitter = Emitter::new();
        emitter.set_output_string(&mut out);
        emitter.set_unicode(true);
        emit_document(&mut emitter, value).expect("events in their order");
        drop(emitter);
        String::from_utf8(out).expect("text")
    }

    fn emit_document(emitter: &mut Emitter<'_>, value: &Value) -> Result<()> {
        emitter.emit(Event::stream_start(Encoding::Utf8))?;
        emitter.emit(Event::document_start(None, &[], true))?;
        emit(emitter, &Node::of(value))?;
        emitter.emit(Event::document_end(true))?;
        // The end of the stream would be `...` in some cases, which kube-apiserver never writes.
        emitter.flush()
    }

    fn emit(emitter: &mut Emitter<'_>, node: &Node<'_>) -> Result<()> {
        match node {
            Node::Plain(text) => emit_plain(emitter, text),
            Node::Text(text) => emit_string(emitter, text),
            Node::List(items) => {
                emitter.emit(Event::sequence_start(None, None, true, SequenceStyle::Block))?;
                items.iter().try_for_each(|item| emit(emitter, item))?;
                emitter.emit(Event::sequence_end())
            }
            Node::Map(entries) => {
                emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
                for (key, value) in entries {
                    emit_string(emitter, key)?;
                    emit(emitter, value)?;
                }
                emitter.emit(Event::mapping_end())
            }
        }
    }

    fn emit_plain(emitter: &mut Emitter<'_>, text: &str) -> Result<()> {
        emitter.emit(Event::scalar(None, None, text, true, true, ScalarStyle::Plain))
    }

    fn emit_string(emitter: &mut Emitter<'_>, text: &str) -> Result<()> {
        let style = if text.contains('\n') {
            ScalarStyle::Literal
        } else if resolve(text) == Resolved::String && !is_base_60(text) && text != "<<" {
            ScalarStyle::Plain
        } else {
            ScalarStyle::DoubleQuoted
        };
        emitter.emit(Event::scalar(None, None, text, true, true, style))
    }

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
        "é",
        "\u{fffd}",
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
            let written = document(&value);
            assert_eq!(String::from_utf8_lossy(&written), emitted(&value), "{round}: {value:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let mut numbers = Numbers(2);
        for round in 0..6_000 {
            let value = value(&mut numbers, round % 7);
            let written = document(&value);
            let read = super::super::parse(&written, crate::Strictness::Collect);
            let read = read.unwrap_or_else(|error| panic!("{round}: {error}\n{}", String::from_utf8_lossy(&written)));
            assert_eq!(read.value, settled(value), "{round}: {}", String::from_utf8_lossy(&written));
            assert_eq!(read.problems, [], "{round}");
        }
    }

    /// Integral numbers have lost their point, keys are sorted, and nothing is raw.
    fn settled(value: Value) -> Value {
        match value {
            Value::Float(float) if float.fract() == 0.0 => Value::Int(float as i64),
            Value::List(items) => Value::List(items.into_iter().map(settled).collect()),
            Value::Map(mut map) => {
                map.iter_mut().for_each(|(_, value)| *value = settled(std::mem::take(value)));
                let mut value = Value::Map(map);
                value.sort_keys();
                value
            }
            Value::Raw(_) => settled(opened(&value).into_owned()),
            value => value,
        }
    }

    /// The layout does not say how deep a scalar is, so that its cost must not depend on it either.
    #[test]
    fn a_deep_scalar_is_written_like_any_other() {
        let text = format!("{}\n{}é", "word ".repeat(40), "word ".repeat(40));
        let deep = |depth: usize| {
            (0..depth).fold(Value::from(text.as_str()), |value, _| {
                let mut map = Map::new();
                map.set("k", value);
                Value::Map(map)
            })
        };
        for depth in [1, 7, 60] {
            let value = deep(depth);
            assert_eq!(String::from_utf8_lossy(&document(&value)), emitted(&value), "{depth}");
        }
    }

    #[test]
    fn what_is_deep_is_on_one_line_and_means_the_same() {
        let keys = ["a", "\u{85} b", "yes", "k".repeat(200).as_str(), "a\nb"]
            .map(|key| (Str::from(key), Value::from("é: {x},\u{7f}")));
        let entries: Map = keys.into_iter().collect();
        let innermost = Value::List(
            [Value::Map(entries), Value::Null, Value::Float(1.5), Value::List(Vec::new())]
                .into_iter()
                .cycle()
                .take(8000)
                .collect(),
        );
        let compact = crate::json::to_string(&innermost).len();
        let deep = (0..470).fold(innermost, |value, at| match at % 3 {
            0 => Value::List(vec![value]),
            _ => Value::Map([(Str::from("k"), value)].into_iter().collect()),
        });
        let written = document(&deep);
        assert!(written.len() < 3 * compact, "{} bytes of {compact}", written.len());
        let read = super::super::parse(&written, crate::Strictness::Collect).expect("what was written");
        assert_eq!(read.value, settled(deep));
    }
}
