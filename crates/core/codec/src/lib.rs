//! Decoding and encoding of API values: JSON, YAML, CBOR and Kubernetes protobuf, driven by schemas.
//! Guarantees that decoding checks and canonicalizes every scalar and drops unknown fields, so that the result
//! matches its schema.
//! Must never panic, recurse without bound or cost more than linear time on any input.

pub mod cbor;
pub mod compat;
pub mod error;
pub mod json;
pub mod limits;
pub mod protobuf;
mod shape;
pub mod yaml;

pub use error::{DecodeError, StrictProblem};

use pintle_schema::Value;

/// Whether unknown and duplicate fields are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are dropped silently.
    Ignore,
    /// They are dropped and reported.
    Collect,
}

/// Rejects a tree with more objects than [allowed](limits::OBJECTS).
///
/// # Errors
/// It has more.
pub fn check_objects(value: &Value) -> Result<(), TooManyObjects> {
    fn count(value: &Value, left: &mut usize) -> Result<(), TooManyObjects> {
        match value {
            Value::Map(map) => {
                *left = left.checked_sub(1).ok_or(TooManyObjects)?;
                map.values().try_for_each(|value| count(value, left))
            }
            Value::List(items) => items.iter().try_for_each(|value| count(value, left)),
            _ => Ok(()),
        }
    }
    count(value, &mut { limits::OBJECTS })
}

/// An object contains too many objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Request entity too large: the allowed maximum of objects in an object is {}", limits::OBJECTS)]
pub struct TooManyObjects;

/// A decoded object, with the problems that strict decoding reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// In kube-apiserver's order; empty unless requested.
    pub problems: Vec<StrictProblem>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_at_any_depth() {
        let of = |items| Value::List(vec![Value::map(); items]);
        let object = |items| pintle_schema::value!({"a": [(of(items)), 1, "x"]});
        assert_eq!(check_objects(&object(limits::OBJECTS - 1)), Ok(()));
        assert_eq!(check_objects(&object(limits::OBJECTS)), Err(TooManyObjects));
    }
}
