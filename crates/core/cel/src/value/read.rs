//! Reading data in place, as its declaration says.
//!
//! Data that does not fit its declaration is an error when it is looked at, with kube-apiserver's
//! text.

use super::{List, Map, Text, Value, raw};
use crate::error::EvalError;
use crate::schema::{Decl, Shape};
use pintle_schema::Value as Data;
use pintle_schema::compat::type_of;
use std::sync::Arc;

fn invalid<'a>(text: &str) -> Result<Value<'a>, EvalError> {
    Err(EvalError::new(text))
}

/// The value of data under a declaration, or of undeclared data.
pub(super) fn read<'a>(data: &'a Data, decl: Option<&'a Decl>) -> Result<Value<'a>, EvalError> {
    let Some(decl) = decl else { return Ok(read_undeclared(data)) };
    if data.is_null() {
        return match decl.nullable {
            true => Ok(Value::Null),
            false => invalid("invalid data, got null for schema with nullable=false"),
        };
    }
    Ok(match (&decl.shape, data) {
        (Shape::IntOrString, Data::String(text)) => Value::String(Text::Borrowed(text)),
        (Shape::IntOrString, Data::Int(i)) => Value::Int(*i),
        (Shape::IntOrString, _) => {
            return invalid("invalid data, expected XIntOrString value to be either a string or integer");
        }
        (Shape::Object { .. } | Shape::Map { .. }, Data::Map(map)) => Value::Map(Map::Data(map, Some(decl))),
        (Shape::Object { .. } | Shape::Map { .. }, _) => {
            return invalid("invalid data, expected a map for the provided schema with type=object");
        }
        (Shape::List(items), Data::List(elements)) => Value::List(List::Data(elements, Some(items))),
        (Shape::List(_), _) => {
            return invalid("invalid data, expected an array for the provided schema with type=array");
        }
        (Shape::String, Data::String(text)) => Value::String(Text::Borrowed(text)),
        (Shape::Duration, Data::String(text)) => read_duration(text)?,
        (Shape::Date, Data::String(text)) => read_date(text)?,
        (Shape::DateTime, Data::String(text)) => read_date_time(text)?,
        (Shape::Bytes, Data::String(text)) => match pintle_schema::base64::decode(text) {
            Ok(bytes) => Value::Bytes(Arc::from(bytes)),
            Err(error) => {
                return Err(EvalError::new(format!("Invalid byte formatted string {text}: {error}")));
            }
        },
        (Shape::String | Shape::Duration | Shape::Date | Shape::DateTime | Shape::Bytes, other) => {
            return Err(EvalError::new(format!("invalid data, expected string, got {}", type_of(other))));
        }
        (Shape::Double, Data::Int(i)) => Value::Double(*i as f64),
        (Shape::Double, Data::Float(d)) => Value::Double(*d),
        (Shape::Double, other) => {
            return Err(EvalError::new(format!("invalid data, expected float, got {}", type_of(other))));
        }
        (Shape::Int, Data::Int(i)) => Value::Int(*i),
        (Shape::Int, other) => {
            return Err(EvalError::new(format!("invalid data, expected int, got {}", type_of(other))));
        }
        (Shape::Bool, Data::Bool(b)) => Value::Bool(*b),
        (Shape::Bool, other) => {
            return Err(EvalError::new(format!("invalid data, expected bool, got {}", type_of(other))));
        }
        (Shape::Preserved, data) => Value::Preserved(data),
        (Shape::Dyn, data) => read_undeclared(data),
    })
}

fn read_undeclared(data: &Data) -> Value<'_> {
    match data {
        Data::Null => Value::Null,
        Data::Bool(b) => Value::Bool(*b),
        Data::Int(i) => Value::Int(*i),
        Data::Float(d) => Value::Double(*d),
        Data::String(text) => Value::String(Text::Borrowed(text)),
        Data::Raw(text) => raw::read(text),
        Data::List(elements) => Value::List(List::Data(elements, None)),
        Data::Map(map) => Value::Map(Map::Data(map, None)),
    }
}

impl<'a> Value<'a> {
    /// Data as its declaration describes it.
    pub fn of_data(data: &'a Data, decl: &'a Decl) -> Result<Value<'a>, EvalError> {
        read(data, Some(decl))
    }

    /// Data without a declaration.
    pub fn of_undeclared(data: &'a Data) -> Value<'a> {
        read_undeclared(data)
    }
}

fn read_duration<'a>(text: &str) -> Result<Value<'a>, EvalError> {
    crate::schema::formats::duration(text)
        .map(|nanos| Value::Duration(super::Duration { nanos }))
        .map_err(|why| EvalError::new(format!("Invalid duration {text}: {why}")))
}

fn read_date<'a>(text: &str) -> Result<Value<'a>, EvalError> {
    crate::schema::formats::date(text)
        .map(Value::Timestamp)
        .map_err(|why| EvalError::new(format!("Invalid date formatted string {text}: {why}")))
}

fn read_date_time<'a>(text: &str) -> Result<Value<'a>, EvalError> {
    crate::schema::formats::date_time(text)
        .map(Value::Timestamp)
        .map_err(|why| EvalError::new(format!("Invalid date-time formatted string {text}: {why}")))
}
