//! Messages for items that do not match their schema, as in kube-apiserver's CBOR decoder.
//! They name the field of the whole object that contains the item, and the type that was expected there.

use super::item::{self, ARRAY, name};
use crate::compat::types;
use crate::error::{DecodeError, StrictProblem};
use crate::shape::Frame;
use pintle_schema::{Struct, Type, Value};

/// The message for a value that does not match a type other than a struct; `None` if it matches, or if its text has a
/// message of its own.
pub(crate) fn of_value(ty: &Type, value: &Value, frame: &Frame<'_>) -> Option<DecodeError> {
    match (ty, value) {
        (Type::Bool, Value::Bool(_)) | (Type::Int64, Value::Int(_)) => None,
        (Type::Float64, Value::Int(_) | Value::Float(_)) => None,
        (Type::Int32 | Type::IntOrString, Value::Int(int)) => {
            let why = format!(" ({int} overflows int32)");
            i32::try_from(*int).is_err().then(|| error(value, "int32", &why, frame))
        }
        (Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 | Type::List(_) | Type::Map(_), _) => {
            Some(error(value, &types::name(ty, frame.field()), "", frame))
        }
        // Values for other types are decoded through JSON.
        (_, Value::String(_)) | (Type::Duration | Type::Struct(_), _) => None,
        (Type::Time | Type::MicroTime | Type::Quantity, _) => Some(error(value, "string", "", frame)),
        (Type::IntOrString, _) => Some(error(value, "int32", "", frame)),
        (ty, _) => Some(error(value, &types::name(ty, frame.field()), "", frame)),
    }
}

/// The message for a value that is not a struct.
pub(crate) fn of_struct(schema: &Struct, value: &Value, frame: &Frame<'_>) -> DecodeError {
    let why = match item::kind(value) {
        array if array == name(ARRAY) => " (cannot decode CBOR array to struct without toarray option)",
        _ => "",
    };
    error(value, &types::of_struct(schema), why, frame)
}

/// An unknown field, named by its position in its map.
pub(crate) fn unknown(at: usize) -> StrictProblem {
    StrictProblem::Message(format!("cbor: found unknown field at map element index {at}"))
}

fn error(value: &Value, go_type: &str, why: &str, frame: &Frame<'_>) -> DecodeError {
    let place = match frame.outermost() {
        Some((owner, field)) => format!("struct field {}.{field}", types::of_struct(owner)),
        None => "value".to_owned(),
    };
    DecodeError::WrongType(format!(
        "cbor: cannot unmarshal {} into Go {place} of type {go_type}{why}",
        item::kind(value)
    ))
}
