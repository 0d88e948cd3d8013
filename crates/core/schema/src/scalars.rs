//! Scalar types of the API that Rust has no own type for.
//!
//! They hold the text or tree the wire shows. Parsing and arithmetic stand in `quantity`, `time` and `duration`.

use crate::value::{Str, Value};

/// Binary data, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// A number or a string, as ports and percentages are.
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

/// An object of another kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawExtension(pub Value);

/// The fields a manager owns, as the text that JSON shows; an empty map when there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldsV1(pub Value);
