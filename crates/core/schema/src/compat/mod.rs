//! What imitates Go because kube-apiserver's answers show it: how numbers and texts are printed, the order of a sort that
//! is not stable, names of types in errors. docs/compatibility.md says for each why it is kept.
//! Must never decide whether something is valid: only how it is said.

pub mod float;
pub mod quote;
pub mod sort;

use crate::Value;

/// The error of Go's JSON decoder for a value of another type than expected. `into` is what was decoded, such as `Go value`
/// or `Go struct field idToken.aud`.
pub fn cannot_unmarshal(found: &Value, into: &str, expected: &str) -> String {
    format!("json: cannot unmarshal {} into {into} of type {expected}", found.json_kind())
}

/// The name of the type that Go gives a value which was decoded without a schema.
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        Value::Raw(_) => match value.json_kind() {
            "null" => "<nil>",
            "bool" => "bool",
            "number" => "float64",
            "string" => "string",
            "array" => "[]interface {}",
            _ => "map[string]interface {}",
        },
    }
}
