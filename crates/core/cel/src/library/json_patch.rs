//! Functions for JSON patches.
//!
//! A key is escaped as JSON pointers (RFC 6901) need it.

use super::args::{Result, maps_argument, no_overload, track_read};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::Value;

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let overload = Overload::global("string_jsonpatch_escapeKey_string", vec![Type::String], Type::String, escape_key);
    vec![Function::new("jsonpatch.escapeKey", vec![overload]).costing(maps_argument, track_read)]
}

fn escape_key<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(key)] = args else { return no_overload() };
    Ok(Value::string(key.replace('~', "~0").replace('/', "~1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped_once() {
        let escaped = escape_key(&[Value::string("a/b~c~1")]).unwrap();
        assert_eq!(escaped.as_str(), Some("a~1b~0c~01"));
    }
}
