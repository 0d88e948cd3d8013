//! YAML as kube-apiserver reads and writes it: through JSON.
//! Guarantees YAML 1.1 (`yes` and `on` are booleans, `0777` is octal), of the first document only, with sorted keys.

mod block;
mod build;
mod cursor;
mod emit;
mod flow;
mod nodes;
mod ordered;
mod parser;
mod properties;
mod reader;
mod resolve;
mod scalars;
mod scanner;
mod tags;
mod text;

use crate::error::{DecodeError, StrictProblem};
use crate::{Decoded, Strictness, json};
use ordered::Node;
use pintle_schema::{Map, Struct, Value};

/// Decodes the first document with a schema. Duplicate keys are reported as one problem before all others.
///
/// # Errors
/// The input is not YAML, or a value does not match the type or format of its field.
pub fn decode(schema: &Struct, bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    let mut parsed = parse(bytes, strictness)?;
    let conformed = json::conform(schema, parsed.value, strictness)?;
    parsed.problems.extend(conformed.problems);
    Ok(Decoded { value: conformed.value, problems: parsed.problems })
}

/// Decodes the first document without a schema; `Null` if there is none. Of duplicate keys the last wins.
///
/// # Errors
/// The input is not YAML. The message starts with `yaml: `.
pub fn parse(bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    if let Some(value) = flow::read(bytes) {
        return Ok(Decoded { value, problems: Vec::new() });
    }
    let Some(document) = nodes::read(&reader::source(bytes))? else {
        return Ok(Decoded { value: Value::Null, problems: Vec::new() });
    };
    let (value, duplicates) = build::value(&document)?;
    let mut problems = Vec::new();
    if strictness == Strictness::Collect && !duplicates.is_empty() {
        problems.push(StrictProblem::Message(format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))));
    }
    Ok(Decoded { value, problems })
}

/// Encodes a value as YAML, with sorted keys.
pub fn encode(value: &Value) -> String {
    String::from_utf8(emit::document(value)).unwrap_or_default()
}

/// Encodes an object whose list at `key` is left empty: what comes before its items, and after them. [`encode_item`] appends items.
pub fn encode_around(object: &Map, key: &str) -> [Vec<u8>; 2] {
    emit::around(object, key)
}

/// Appends an item of a list that is at a key of the document.
pub fn encode_item(item: &Value, out: &mut Vec<u8>) {
    emit::item(Node::of(item), out);
}

/// Appends the item that a text in JSON is, without decoding it by a schema.
///
/// # Errors
/// It is no JSON, or too deep.
pub fn encode_json_item(item: &str, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    emit::item(Node::of_json(item)?, out);
    Ok(())
}
