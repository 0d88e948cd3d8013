//! What is written in YAML: values, or the text of JSON, with the keys of maps in the order in which they are written.
//! Guarantees that texts are borrowed, unless JSON has them with escapes, and that a key that JSON has twice has its last value, as in
//! decoding. Must never keep a tree of what is written besides this one.

use super::emit::{natural, number_text};
use crate::error::DecodeError;
use crate::json::{self, Scanner, Start};
use crate::limits;
use pintle_schema::{Map, Value, compat};
use std::borrow::Cow;

/// A node of the document.
pub(super) enum Node<'a> {
    /// A scalar that is no text.
    Plain(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Map(Vec<Entry<'a>>),
}

pub(super) type Entry<'a> = (Cow<'a, str>, Node<'a>);

impl<'a> Node<'a> {
    pub(super) const NULL: Node<'static> = Node::Plain(Cow::Borrowed("null"));

    pub(super) fn of(value: &'a Value) -> Node<'a> {
        match value {
            Value::Null => Node::NULL,
            Value::Bool(value) => boolean(*value),
            Value::Int(int) => Node::Plain(int.to_string().into()),
            Value::Float(float) => Node::Plain(number_text(*float).into()),
            Value::String(text) => Node::Text(text.as_str().into()),
            Value::List(items) => Node::List(items.iter().map(Node::of).collect()),
            Value::Map(map) => Node::Map(of_map(map)),
            Value::Raw(text) => Node::of_json(text).unwrap_or(Node::NULL),
        }
    }

    /// The node that a text in JSON is.
    ///
    /// # Errors
    /// It is no JSON, or too deep.
    pub(super) fn of_json(text: &'a str) -> Result<Node<'a>, DecodeError> {
        read(&mut Scanner::new(text))
    }
}

/// The entries of a map, in the order in which they are written.
pub(super) fn of_map(map: &Map) -> Vec<Entry<'_>> {
    sorted(map.iter().map(|(key, value)| (key.as_str().into(), Node::of(value))).collect())
}

fn boolean(value: bool) -> Node<'static> {
    Node::Plain(Cow::Borrowed(if value { "true" } else { "false" }))
}

fn read<'a>(scanner: &mut Scanner<'a>) -> Result<Node<'a>, DecodeError> {
    let start = scanner.start()?;
    Ok(match start {
        Start::String => Node::Text(scanner.string()?),
        Start::Number => number(scanner.number()?),
        Start::Null | Start::True | Start::False => {
            scanner.word(start)?;
            if start == Start::Null { Node::NULL } else { boolean(start == Start::True) }
        }
        Start::Array => {
            scanner.open(limits::TREE_DEPTH)?;
            let mut items = Vec::new();
            let mut has_more = scanner.first_item()?;
            while has_more {
                items.push(read(scanner)?);
                has_more = scanner.next_item()?;
            }
            Node::List(items)
        }
        Start::Object => {
            scanner.open(limits::TREE_DEPTH)?;
            let mut entries = Vec::new();
            let mut next = scanner.first_key()?;
            while let Some(key) = next {
                entries.push((key, read(scanner)?));
                next = scanner.next_key()?;
            }
            Node::Map(sorted(entries))
        }
    })
}

/// A number in the form that it has when it passed through JSON.
fn number(literal: &str) -> Node<'_> {
    match json::number(literal) {
        Value::Int(int) if int != 0 => Node::Plain(literal.into()),
        Value::Float(float) => Node::Plain(number_text(float).into()),
        _ => Node::Plain("0".into()),
    }
}

/// The entries in the order of their keys. Of equal keys the last counts.
fn sorted(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    // Most maps are stored in this order.
    if entries.is_sorted_by(|(a, _), (b, _)| natural(a, b).is_lt()) {
        return entries;
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    compat::sort::sort(&mut order, |a, b| match (entries.get(a), entries.get(b)) {
        (Some((a, _)), Some((b, _))) => natural(a, b).is_lt(),
        _ => false,
    });
    let mut slots: Vec<Option<Entry<'_>>> = entries.into_iter().map(Some).collect();
    let mut ordered: Vec<Entry<'_>> = Vec::with_capacity(slots.len());
    for entry in order.into_iter().filter_map(|at| slots.get_mut(at).and_then(Option::take)) {
        match ordered.last_mut() {
            Some(last) if last.0 == entry.0 => *last = entry,
            _ => ordered.push(entry),
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use crate::{Strictness, json, yaml};
    use pintle_schema::Value;

    #[test]
    fn json_is_written_like_the_value_that_it_is() {
        for text in [
            r#"{"metadata":{"name":"n","labels":{"b10":"x","b9":"y"}},"data":{"z":"1","a":"yes","m":"a\nb","\u0041":"<\u003e"}}"#,
            r#"{"a":[1,-7,0,-0,1.5,1e30,100000000000000000000,2.0,[],{},[[1],{"b":null}]],"c":{"d":true,"e":false}}"#,
            r#"{"b":1,"a":{"x":[{"k":"v"},"t"]},"b":2}"#,
            r#"{"a12":1,"a1b":1,"a2":1}"#,
        ] {
            let value = json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value;
            let (mut from_text, mut from_value) = (Vec::new(), Vec::new());
            yaml::encode_json_item(text, &mut from_text).expect("JSON");
            yaml::encode_item(&value, &mut from_value);
            assert_eq!(String::from_utf8_lossy(&from_text), String::from_utf8_lossy(&from_value));
            let mut raw = Vec::new();
            yaml::encode_item(&Value::Raw(text.into()), &mut raw);
            assert_eq!(raw, from_text);
        }
        assert!(yaml::encode_json_item("{\"a\":", &mut Vec::new()).is_err());
        assert!(yaml::encode_json_item(&"[".repeat(100_000), &mut Vec::new()).is_err());
    }
}
