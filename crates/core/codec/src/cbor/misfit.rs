//! What is told of an item that its schema has no place for, in the words of the reference's decoder.
//!
//! That names the field of the whole object below which the item stands, and the type that it should have had there.

use super::item::{self, ARRAY, name};
use crate::error::{DecodeError, StrictProblem};
use crate::gotypes;
use crate::shape::Frame;
use pintle_schema::{Struct, Type, Value};

/// Why a value is none of a type that is no struct; `None` when it is, or when its text says more.
pub(crate) fn of_value(ty: &Type, value: &Value, frame: &Frame<'_>) -> Option<DecodeError> {
    match (ty, value) {
        (Type::Bool, Value::Bool(_)) | (Type::Int64, Value::Int(_)) => None,
        (Type::Float64, Value::Int(_) | Value::Float(_)) => None,
        (Type::Int32 | Type::IntOrString, Value::Int(int)) => {
            let why = format!(" ({int} overflows int32)");
            i32::try_from(*int).is_err().then(|| error(value, "int32", &why, frame))
        }
        (Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 | Type::List(_) | Type::Map(_), _) => {
            Some(error(value, &gotypes::name(ty, frame.field()), "", frame))
        }
        // What is made of other types goes by way of JSON.
        (_, Value::String(_)) | (Type::Duration | Type::Struct(_), _) => None,
        (Type::Time | Type::MicroTime | Type::Quantity, _) => Some(error(value, "string", "", frame)),
        (Type::IntOrString, _) => Some(error(value, "int32", "", frame)),
        (ty, _) => Some(error(value, &gotypes::name(ty, frame.field()), "", frame)),
    }
}

/// Why a value is no struct.
pub(crate) fn of_struct(schema: &Struct, value: &Value, frame: &Frame<'_>) -> DecodeError {
    let why = match item::kind(value) {
        array if array == name(ARRAY) => " (cannot decode CBOR array to struct without toarray option)",
        _ => "",
    };
    error(value, &gotypes::of_struct(schema), why, frame)
}

/// A field that the schema does not know: by its place in its map alone.
pub(crate) fn unknown(at: usize) -> StrictProblem {
    StrictProblem::Told(format!("cbor: found unknown field at map element index {at}"))
}

fn error(value: &Value, go_type: &str, why: &str, frame: &Frame<'_>) -> DecodeError {
    let place = match frame.outermost() {
        Some((owner, field)) => format!("struct field {}.{field}", gotypes::of_struct(owner)),
        None => "value".to_owned(),
    };
    DecodeError::WrongType(format!(
        "cbor: cannot unmarshal {} into Go {place} of type {go_type}{why}",
        item::kind(value)
    ))
}
