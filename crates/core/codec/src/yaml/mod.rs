//! YAML as the reference reads and writes it: by way of JSON.
//!
//! What is read is YAML 1.1 (`yes` and `on` are booleans, `0777` is octal), the first document only. Keys come out
//! sorted, as they do there.

mod build;
mod emit;
mod flow;
mod nodes;
mod reader;
mod resolve;

use crate::error::{DecodeError, StrictProblem};
use crate::{Decoded, Strictness, json};
use pintle_schema::{Struct, Value};

/// Reads the first document under a schema. Keys that stand twice are told as one problem before all others.
///
/// # Errors
/// The input is not YAML, or a value has not the type or format of its field.
pub fn decode(schema: &Struct, bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    let mut parsed = parse(bytes, strictness)?;
    let conformed = json::conform(schema, parsed.value, strictness)?;
    parsed.problems.extend(conformed.problems);
    Ok(Decoded { value: conformed.value, problems: parsed.problems })
}

/// Reads the first document without a schema; `Null` when there is none. Of keys that stand twice the last wins.
///
/// # Errors
/// The input is not YAML. The text starts with `yaml: `.
pub fn parse(bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    if let Some(value) = flow::read(bytes) {
        return Ok(Decoded { value, problems: Vec::new() });
    }
    let text = reader::text(bytes)?;
    let Some(document) = nodes::read(text)? else {
        return Ok(Decoded { value: Value::Null, problems: Vec::new() });
    };
    let (value, duplicates) = build::value(&document)?;
    let mut problems = Vec::new();
    if strictness == Strictness::Collect && !duplicates.is_empty() {
        problems.push(StrictProblem::Told(format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))));
    }
    Ok(Decoded { value, problems })
}

/// Writes a value as YAML, keys sorted.
pub fn encode(value: &Value) -> String {
    emit::document(value)
}
