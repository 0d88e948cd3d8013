//! Scalar types of the API without a Rust equivalent.
//! Guarantees that they contain the text or tree of the wire form.
//! Must never parse or calculate: see `quantity`, `time` and `duration`.

use crate::value::{Str, Value};

/// Binary data, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// An integer or a string, for ports and percentages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    Int(i32),
    String(Str),
}

impl Default for IntOrString {
    fn default() -> Self {
        IntOrString::Int(0)
    }
}

/// Any JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Json(pub Value);

/// An embedded object of another kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawExtension(pub Value);

/// The field set of a manager, as JSON text; an empty map if there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldsV1(pub Value);
